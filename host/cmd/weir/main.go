// Command weir is the daemon and its command line: it reads tools.toml, opens
// the host and the models, and either serves them or asks them one thing.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

func main() {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, os.LookupEnv)
	stop()
	os.Exit(code)
}

// streams are what a command reads and writes; tests bring their own.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// lookup finds a variable of the environment.
type lookup func(name string) (string, bool)

// run is main without the process: it returns the exit code.
//
//	0 done · 1 could not be done · 2 wrong usage or configuration
//	3 the model failed · 4 the tool failed · 130 interrupted
func run(ctx context.Context, args []string, s streams, env lookup) int {
	c := &cli{streams: s, env: env}
	root := c.root()
	root.SetArgs(args)
	for i, a := range args { // for what is wrong with the arguments themselves
		if lang, ok := strings.CutPrefix(a, "--lang="); ok || a == "--lang" && i+1 < len(args) {
			if !ok {
				lang = args[i+1]
			}
			if lang == string(tool.En) || lang == string(tool.Zh) { // a tool may be written in another
				c.lang = lang
			}
		}
		c.json = c.json || a == "--json" || a == "--json=events"
		c.events = c.events || a == "--json=events"
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd { // which tells what each word means
		c.translate(root)
	}
	err := root.ExecuteContext(ctx)
	return c.report(ctx, err)
}
