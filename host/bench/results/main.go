// Command benchresults measures long results: what one call with a new result of 64 KiB
// costs over MCP, beside the server of mark3labs/mcp-go, which keeps nothing, and beside
// SQLite's own put of such a text; what a call that gives the same answer again and again
// costs, and its disk; and how fast 16 callers are just after a start.
// `make bench-results` builds what it needs. Each target is printed with ok or short; it
// exits with 1 if one is missed.
package main

import (
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
		fmt.Fprintln(os.Stderr, "benchresults: "+err.Error())
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// size is the length of a result, in bytes.
const size = 64 << 10

// A bench is what the rows share.
type bench struct {
	ctx        context.Context
	dir        string // for configurations and data
	weir, peer string // programs
	calls      int
	rounds     int
	ok         bool
}

func run() (bool, error) {
	b := bench{ctx: context.Background(), ok: true}
	flag.StringVar(&b.weir, "weir", "bin/weir", "weir itself")
	flag.StringVar(&b.peer, "peer", "bin/benchreportpeer", "the program of testdata/peer; empty: without its row")
	flag.IntVar(&b.calls, "calls", 1000, "calls of each measurement")
	flag.IntVar(&b.rounds, "rounds", 3, "measurements of each row, of which the median counts; less than 1: one")
	only := flag.String("rows", "", "measure only the rows that match this expression: cpu, repeat, burst")
	flag.Parse()
	b.rounds = max(b.rounds, 1)
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return false, err
	}
	if b.dir, err = os.MkdirTemp("", "benchresults-"); err != nil {
		return false, err
	}
	defer os.RemoveAll(b.dir)
	if err := b.plugin(); err != nil {
		return false, err
	}
	for _, row := range []struct {
		name string
		run  func() error
	}{{"cpu", b.cpu}, {"repeat", b.repeat}, {"burst", b.burst}} {
		if !wanted.MatchString(row.name) {
			continue
		}
		if err := row.run(); err != nil {
			return false, fmt.Errorf("%s: %w", row.name, err)
		}
	}
	return b.ok, nil
}

// target prints whether a figure is as wanted.
func (b *bench) target(good bool, format string, args ...any) {
	b.ok = b.ok && good
	fmt.Printf("   wanted "+format+": %s\n", append(args, map[bool]string{true: "ok", false: "short"}[good])...)
}

// ours returns the command of weir with a configuration and a new data folder.
func (b *bench) ours(config string) ([]string, string, error) {
	data, err := os.MkdirTemp(b.dir, "data-")
	return []string{b.weir, "--config", filepath.Join(b.dir, config+".toml"), "--data", data, "mcp"}, data, err
}

// cpu measures the CPU time of a call whose result is new, with its worker and without the
// caller.
func (b *bench) cpu() error {
	fmt.Printf("one call over stdio with a new result of 64 KiB; the median of %d times %d calls\n", b.rounds, b.calls)
	names := []string{"SQLite's own put", "mark3labs/mcp-go", "weir, cut to 8,000 characters", "weir, shown whole"}
	open := map[string]func() ([]string, error){
		names[1]: func() ([]string, error) { return []string{b.peer}, nil },
		names[2]: func() ([]string, error) { args, _, err := b.ours("cut"); return args, err },
		names[3]: func() ([]string, error) { args, _, err := b.ours("whole"); return args, err },
	}
	if b.peer == "" {
		names = slices.Delete(names, 1, 2)
	}
	samples := map[string][]sample{}
	for range b.rounds { // in turn, because other work of the machine then affects all of them
		for _, name := range names {
			s, err := b.put()
			if open[name] != nil {
				s, err = b.distinct(open[name])
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			samples[name] = append(samples[name], s)
		}
	}
	peer := time.Duration(0)
	for _, name := range names {
		m := median(samples[name])
		fmt.Printf("%-34s %10s CPU %10s p50", name, m.cpu.Round(time.Microsecond), m.p50.Round(time.Microsecond))
		switch {
		case name == "mark3labs/mcp-go":
			peer = m.cpu
		case peer > 0:
			fmt.Printf("   %.2f × mark3labs/mcp-go", float64(m.cpu)/float64(peer))
			b.target(m.cpu <= peer, "1.0 ×")
			continue
		}
		fmt.Println()
	}
	return nil
}

// distinct calls with a new number each time.
func (b *bench) distinct(open func() ([]string, error)) (s sample, err error) {
	args, err := open()
	if err != nil {
		return s, err
	}
	c, err := dial(b.ctx, args)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	return measure(b.calls, c.cpu, func(i int) error { return c.call(1, i, size) })
}

// repeat makes the same call again and again, as a client that polls.
func (b *bench) repeat() error {
	const polls, few = 5000, 50
	args, data, err := b.ours("whole")
	if err != nil {
		return err
	}
	c, err := dial(b.ctx, args)
	if err != nil {
		return err
	}
	times := make([]time.Duration, 0, polls)
	for range polls {
		began := time.Now()
		if err = c.call(1, 0, size); err != nil {
			break
		}
		times = append(times, time.Since(began))
	}
	if err = errors.Join(err, c.stop()); err != nil {
		return err
	}
	first, fresh, last := times[0], middle(times[1:few+1]), middle(times[polls-few:])
	disk, err := bytesBelow(data, "archive.db")
	if err != nil {
		return err
	}
	fmt.Printf("%d calls with the same answer of 64 KiB\n%-34s %10s the first, %s the next %d, %s the last %d", polls, "weir", first.Round(time.Microsecond),
		fresh.Round(time.Microsecond), few, last.Round(time.Microsecond), few)
	b.target(last <= 2*fresh, "at most 2 × the next %d", few)
	fmt.Printf("%-34s %10.2f MB", "archive", float64(disk)/1e6)
	b.target(disk <= 1_000_000, "1 MB")
	return nil
}
