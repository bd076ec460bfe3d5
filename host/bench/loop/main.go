// Command benchloop measures what weir itself adds to a turn: a question comes by
// HTTP, an instant model calls one trivial tool and answers, the answer goes out
// as server-sent events. The turn is complete: the
// question is on the disk before the model is asked, the tool is a sandboxed
// guest, the turn is stored before its end is sent.
//
// The server is a process of its own; this one is its clients. Both share the
// machine's processors.
//
//	benchloop                chats a second, p50 and p99, for 1, 16, 64 and 256 clients
//	benchloop -peer BIN      the same beside another program that prints its address
//	benchloop -spans         the same beside a daemon that sends spans to a collector, which this process is
//	benchloop -streams 1000  so many streams of the demo model at once, beside clients that read nothing
//
// Each line that promises something ends in ok or short; with one that is short it
// exits with 1. `make bench-loop` and `make bench-streams` build what they need;
// testdata/peer is the same turn with cloudwego/eino.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/weirhost/weir/host"
)

func main() {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchloop:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// options are what one may ask for.
type options struct {
	serve   string        // what this process serves: loop or streams; empty: it measures
	streams int           // streams at once; 0: turns are measured
	peer    string        // another program to measure beside; empty: none
	time    time.Duration // of one measurement
	clients int           // at once; 0: each of levels
	profile string        // where the server leaves a CPU profile; empty: nowhere
	allocs  string        // where it leaves a profile of what it allocates; empty: nowhere
	spans   bool          // measure a daemon that sends spans, too
	sendTo  string        // where the server sends spans; empty: it makes none
	inline  bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("benchloop", flag.ContinueOnError)
	flags.StringVar(&o.serve, "serve", "", "serve loop or streams, for another benchloop")
	flags.IntVar(&o.streams, "streams", 0, "open so many streams at once instead; 0: measure turns")
	flags.StringVar(&o.peer, "peer", "", "another server to measure in turns: a program that prints its address")
	flags.DurationVar(&o.time, "time", 4*time.Second, "length of one measurement")
	flags.IntVar(&o.clients, "clients", 0, "measure turns with so many clients alone; 0: 1, 16, 64 and 256")
	flags.StringVar(&o.allocs, "allocs", "", "write a profile of what the server allocates to this file")
	flags.StringVar(&o.profile, "profile", "", "write the server's CPU profile to this file")
	flags.BoolVar(&o.spans, "spans", false, "measure turns of a daemon that sends spans, too")
	flags.StringVar(&o.sendTo, "send-to", "", "make spans and send them to this address, for another benchloop")
	flags.BoolVar(&o.inline, "inline", false, "run the tool inside the server, not in a process of its own")
	return o, flags.Parse(args)
}

func run(ctx context.Context, args []string, out io.Writer) (bool, error) {
	o, err := parse(args)
	switch {
	case err != nil:
		return false, err
	case o.serve != "":
		return true, serve(ctx, o, out)
	case o.streams > 0:
		return measureStreams(ctx, o, out)
	}
	return measureTurns(ctx, o, out)
}
