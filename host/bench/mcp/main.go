// Command benchmcp measures calls of one trivial tool over the Model Context
// Protocol: weir's, a Go guest in the sandbox, beside a plain handler of the npm
// SDK's server, in one run. `make bench-mcp` builds what it needs.
//
// weir's tool runs in a process of its own, as it does by default, and once more
// inside weir. Where there is a compiler for it, the same tool in C runs too: what
// is between the two is the guest's own runtime. The servers and the load share the
// machine's processors. All are started and measured several times in turn, for one
// start of node's is a fifth quicker than the next, and the median of each counts. It
// exits with 1 when a target is missed by the default.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

func main() {
	ok, err := run()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchmcp: "+err.Error())
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// targets are the ratios to the npm SDK that are wanted.
const httpTarget, stdioTarget = 4.0, 0.6

// A row is one server.
type row struct {
	name   string
	open   func() (*caller, error)
	base   string // the row that it is held against; empty: none
	target float64
	beside string // another one that it is shown beside; empty: none
	must   bool   // missing the target is a failure
}

func run() (bool, error) {
	callers := flag.Int("callers", 16, "callers at once")
	span := flag.Duration("time", 5*time.Second, "time of each measurement; a second of warming comes first")
	rounds := flag.Int("rounds", 3, "measurements of each server, of which the median counts; less than 1: one")
	weir := flag.String("weir", "bin/weir", "weir itself")
	clients := flag.String("clients", "host/daemon/clients", "the folder with the npm packages and bench-server.mjs")
	only := flag.String("rows", "", "measure only the rows that match this expression")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "benchmcp-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if err := plugin(dir); err != nil {
		return false, err
	}
	lean := pluginC(dir, *weir)
	if lean != nil {
		fmt.Fprintln(os.Stderr, "benchmcp: without the rows of a C guest:", lean)
	}
	all := slices.DeleteFunc(rows(context.Background(), dir, *weir, *clients, *callers, lean == nil), func(r row) bool { return !wanted.MatchString(r.name) })
	samples := map[string][]sample{}
	for range max(*rounds, 1) {
		for _, r := range all {
			s, err := r.measure(*callers, *span)
			if err != nil {
				return false, fmt.Errorf("%s: %w", r.name, err)
			}
			samples[r.name] = append(samples[r.name], s)
		}
	}
	fmt.Printf("%d callers, the median of %d times %s\n", *callers, max(*rounds, 1), *span)
	return show(all, samples), nil
}

// show prints the median of each row, and reports whether no target is missed that must
// not be.
func show(all []row, samples map[string][]sample) bool {
	fmt.Printf("%-34s %9s %10s %10s %10s\n", "", "calls/s", "p50", "p99", "CPU a call")
	ok, rates := true, map[string]float64{}
	for _, r := range all {
		s := median(samples[r.name])
		rates[r.name] = s.rate
		fmt.Printf("%-34s %9.0f %10s %10s %10s", r.name, s.rate, s.p50.Round(time.Microsecond), s.p99.Round(time.Microsecond), s.cpu.Round(time.Microsecond))
		if base := rates[r.base]; base > 0 {
			good := s.rate >= r.target*base
			ok = ok && (good || !r.must)
			fmt.Printf("   %.2f × %s, wanted %.1f ×: %s", s.rate/base, r.base, r.target, map[bool]string{true: "ok", false: "short"}[good])
		}
		if other := rates[r.beside]; other > 0 {
			fmt.Printf("; %.2f × %s", s.rate/other, r.beside)
		}
		fmt.Println()
	}
	return ok
}

// median is the one in the middle by its rate.
func median(of []sample) sample {
	slices.SortFunc(of, func(a, b sample) int { return cmp.Compare(a.rate, b.rate) })
	return of[len(of)/2]
}

func (r row) measure(callers int, span time.Duration) (sample, error) {
	c, err := r.open()
	if err != nil {
		return sample{}, err
	}
	s, err := c.measure(callers, time.Second, span)
	return s, errors.Join(err, c.stop())
}

// rows are all servers. Those of npm come first, for weir's are held against them: over
// HTTP against the app that the SDK itself makes, which looks where a request comes
// from as weir does, and beside the SDK's transport in a bare server of node's. lean
// says that there is a C guest.
func rows(ctx context.Context, dir, weir, clients string, callers int, lean bool) []row {
	node := "node"
	if found, _ := filepath.Glob(filepath.Join(clients, "node_modules/node-linux-*/bin/node")); len(found) > 0 {
		node = found[0]
	}
	npm := []string{node, filepath.Join(clients, "bench-server.mjs")}
	npmHTTP := func(how string) func() (*caller, error) {
		return func() (*caller, error) {
			return overHTTP(ctx, func(port string) []string { return append(slices.Clone(npm), how, port) }, "", callers)
		}
	}
	ours := func(guest, isolation string) []string {
		return []string{weir, "--config", filepath.Join(dir, guest, isolation+".toml"), "--data", filepath.Join(dir, guest, isolation)}
	}
	ourHTTP := func(guest, isolation string) func() (*caller, error) {
		return func() (*caller, error) {
			return overHTTP(ctx, func(port string) []string {
				return append(ours(guest, isolation), "serve", "--addr", "127.0.0.1:"+port)
			},
				filepath.Join(dir, guest, isolation, "token"), callers)
		}
	}
	ourStdio := func(guest, isolation string) func() (*caller, error) {
		return func() (*caller, error) { return overStdio(ctx, append(ours(guest, isolation), "mcp"), callers) }
	}
	const express, bare, pipe = "http, npm SDK, express app", "http, npm SDK, node:http", "stdio, npm SDK"
	ofHTTP := []row{
		{name: bare, open: npmHTTP("http")},
		{name: express, open: npmHTTP("express")},
		{name: "http, weir", open: ourHTTP(goGuest, "process"), base: express, target: httpTarget, beside: bare, must: true},
		{name: "http, weir, inline", open: ourHTTP(goGuest, "inline"), base: express, target: httpTarget, beside: bare},
	}
	ofStdio := []row{
		{name: pipe, open: func() (*caller, error) { return overStdio(ctx, append(slices.Clone(npm), "stdio"), callers) }},
		{name: "stdio, weir", open: ourStdio(goGuest, "process"), base: pipe, target: stdioTarget, must: true},
		{name: "stdio, weir, inline", open: ourStdio(goGuest, "inline"), base: pipe, target: stdioTarget},
	}
	if lean {
		ofHTTP = append(ofHTTP, row{name: "http, weir, C guest", open: ourHTTP(cGuest, "process"), base: express, target: httpTarget, beside: bare},
			row{name: "http, weir, C guest, inline", open: ourHTTP(cGuest, "inline"), base: express, target: httpTarget, beside: bare})
		ofStdio = append(ofStdio, row{name: "stdio, weir, C guest", open: ourStdio(cGuest, "process"), base: pipe, target: stdioTarget},
			row{name: "stdio, weir, C guest, inline", open: ourStdio(cGuest, "inline"), base: pipe, target: stdioTarget})
	}
	return append(ofHTTP, ofStdio...)
}
