// Command benchmcp measures calls of one trivial tool over the Model Context
// Protocol: weir's, a Go guest in the sandbox, beside a plain handler of the npm
// SDK's server, in one run. `make bench-mcp` builds what it needs.
//
// weir's tool runs in a process of its own, as it does by default, and once more
// inside weir. The servers and the load share the machine's processors. It exits
// with 1 when a target is missed by the default.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
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
	must   bool // missing the target is a failure
}

func run() (bool, error) {
	callers := flag.Int("callers", 16, "callers at once")
	span := flag.Duration("time", 5*time.Second, "time of each measurement; a second of warming comes first")
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
	all := rows(context.Background(), dir, *weir, *clients, *callers)
	fmt.Printf("%d callers, %s each\n%-34s %9s %10s %10s %10s\n", *callers, *span, "", "calls/s", "p50", "p99", "CPU a call")
	ok, rates := true, map[string]float64{}
	for _, r := range all {
		if !wanted.MatchString(r.name) {
			continue
		}
		s, err := r.measure(*callers, *span)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.name, err)
		}
		rates[r.name] = s.rate
		fmt.Printf("%-34s %9.0f %10s %10s %10s", r.name, s.rate, s.p50.Round(time.Microsecond), s.p99.Round(time.Microsecond), s.cpu.Round(time.Microsecond))
		if base := rates[r.base]; base > 0 {
			good := s.rate >= r.target*base
			ok = ok && (good || !r.must)
			fmt.Printf("   %.2f × %s, wanted %.1f ×: %s", s.rate/base, r.base, r.target, map[bool]string{true: "ok", false: "short"}[good])
		}
		fmt.Println()
	}
	return ok, nil
}

func (r row) measure(callers int, span time.Duration) (sample, error) {
	c, err := r.open()
	if err != nil {
		return sample{}, err
	}
	s, err := c.measure(callers, time.Second, span)
	return s, errors.Join(err, c.stop())
}

// rows are all servers. Those of npm come first, for weir's are held against them.
func rows(ctx context.Context, dir, weir, clients string, callers int) []row {
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
	ours := func(isolation string) []string {
		return []string{weir, "--config", filepath.Join(dir, isolation+".toml"), "--data", filepath.Join(dir, isolation)}
	}
	ourHTTP := func(isolation string) func() (*caller, error) {
		return func() (*caller, error) {
			return overHTTP(ctx, func(port string) []string { return append(ours(isolation), "serve", "--addr", "127.0.0.1:"+port) },
				filepath.Join(dir, isolation, "token"), callers)
		}
	}
	ourStdio := func(isolation string) func() (*caller, error) {
		return func() (*caller, error) { return overStdio(ctx, append(ours(isolation), "mcp"), callers) }
	}
	const express, bare, pipe = "http, npm SDK, express app", "http, npm SDK, node:http", "stdio, npm SDK"
	return []row{
		{name: bare, open: npmHTTP("http")},
		{name: express, open: npmHTTP("express")},
		{name: "http, weir", open: ourHTTP("process"), base: bare, target: httpTarget, must: true},
		{name: "http, weir, inline", open: ourHTTP("inline"), base: bare, target: httpTarget},
		{name: pipe, open: func() (*caller, error) { return overStdio(ctx, append(slices.Clone(npm), "stdio"), callers) }},
		{name: "stdio, weir", open: ourStdio("process"), base: pipe, target: stdioTarget, must: true},
		{name: "stdio, weir, inline", open: ourStdio("inline"), base: pipe, target: stdioTarget},
	}
}

// plugin builds the tool, and configurations that log no single call.
func plugin(dir string) error {
	from, to := "host/cmd/benchmcp/testdata/echo", filepath.Join(dir, "plugins", "echo")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(from, "plugin.toml"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "plugin.toml"), manifest, 0o644); err != nil {
		return err
	}
	for _, isolation := range []string{"process", "inline"} {
		config := fmt.Sprintf("[log]\nlevel = \"warn\"\n[[plugins.folder]]\npath = \"plugins\"\ntrust = \"granted\"\n[sandbox]\nisolation = %q\n", isolation)
		if err := os.WriteFile(filepath.Join(dir, isolation+".toml"), []byte(config), 0o644); err != nil {
			return err
		}
	}
	out, err := filepath.Abs(filepath.Join(to, "echo.wasm"))
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = from
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tool: %w\n%s", err, text)
	}
	return nil
}
