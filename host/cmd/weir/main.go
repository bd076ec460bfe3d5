// Command weir is the daemon and its command line: it reads tools.toml, opens
// the host and the models, and either serves them or asks them one thing.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

func main() {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], term.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Lookup: os.LookupEnv})
	stop()
	os.Exit(code)
}

// run is main without the process: it returns the exit code.
//
//	0 done · 1 could not be done · 2 wrong usage or configuration
//	3 the model failed · 4 the tool failed · 130 interrupted
func run(ctx context.Context, args []string, env term.Env) int {
	env.Interrupted = ctx.Done()
	c := newCLI(env)
	root := newRoot(c)
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
		c.JSON = c.JSON || a == "--json" || a == "--json=events"
		c.Events = c.Events || a == "--json=events"
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	strict(root)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd { // its answer has descriptions
		c.translate(root)
	}
	err := root.ExecuteContext(ctx)
	return c.report(ctx, err)
}
