// Command benchengine measures what is promised of the engine that runs guests,
// against Extism's Go SDK in the same process: the same guests, the same build,
// samples of all contenders taken in turns. Every row prints its ratio, what was
// promised, and ok or short.
//
// It measures a call as in the product: a deadline is in force, and every call
// begins with fresh state. The SDK is measured as it is fastest:
// one instance that is used again and again, keeps its state, and has no
// deadline. It exits with 1 when a row is short.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/pprof"

	"github.com/weirhost/weir/host/internal/worker"
)

func main() {
	if code, ok := worker.Main(nil); ok {
		os.Exit(code)
	}
	ok, err := run(context.Background(), os.Args[1:], os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchengine:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// options are what one may ask for.
type options struct {
	rows   *regexp.Regexp // works to measure
	rounds int
	weir   string // the binary
	cache  string // compiled modules
	cpu    string // file for a profile; empty: none
}

func parse(args []string, errors io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("benchengine", flag.ContinueOnError)
	flags.SetOutput(errors)
	rows := flags.String("rows", "", "only the works whose name this regular expression matches")
	flags.IntVar(&o.rounds, "rounds", 15, "samples of each contender; at least 1")
	flags.StringVar(&o.weir, "weir", "bin/weir", "the weir binary, for what is measured on whole processes")
	flags.StringVar(&o.cache, "cache", "build/bench-cache", "the folder of compiled modules")
	flags.StringVar(&o.cpu, "cpuprofile", "", "write a profile of this process to a file")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.rounds = max(o.rounds, 1)
	var err error
	o.rows, err = regexp.Compile(*rows)
	return o, err
}

// run measures and prints, and says whether every promise is kept.
func run(ctx context.Context, args []string, out io.Writer) (bool, error) {
	o, err := parse(args, os.Stderr)
	if err != nil {
		return false, err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return false, err
	}
	defer b.close()
	if o.cpu != "" {
		f, err := os.Create(o.cpu)
		if err != nil {
			return false, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return false, err
		}
		defer pprof.StopCPUProfile()
	}
	t := newTable(out)
	for _, w := range b.works() {
		if !o.rows.MatchString(w.name) {
			continue
		}
		rows, err := w.measure(ctx)
		if err != nil {
			return false, fmt.Errorf("%s: %w", w.name, err)
		}
		t.print(rows)
	}
	return t.ok, nil
}
