package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/watch"
	"github.com/weirhost/weir/host/plugintest"
)

func (c *cli) pluginDevCmd() *cobra.Command {
	return &cobra.Command{
		Use: "dev [DIR]", Short: "Build and test whenever a file is saved, and show what a model would read",
		Long: "Build the tool in DIR, run its cases and a few calls with made up arguments, and show of each case\n" +
			"what a model would read, with the notice about what is left out; then wait for a file to be saved,\n" +
			"and do it again. Ctrl-C ends it.",
		Args: argCount(0, 1, "one folder at most"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.pluginDev(cmd.Context(), folderOf(args)) },
	}
}

// The pace of weir plugin dev.
const (
	devPoll  = 300 * time.Millisecond // between looks at the sources
	devCalls = 20                     // with made up arguments, for each tool
	devLines = 14                     // shown of what a model reads of one case
)

func (c *cli) pluginDev(ctx context.Context, dir string) error {
	if c.JSON {
		return usagef("`weir plugin build --json` and `weir plugin test --json` give values", "dev goes on for ever, and --json prints one value")
	}
	if _, err := c.moduleOf(dir); err != nil {
		return err
	}
	w := watch.New(watch.Config{More: func() []string { return sourcesIn(dir) }, Poll: devPoll})
	_ = w.Run(ctx, func(ctx context.Context) time.Duration { // ends with ctx, which is how people end it
		c.devRound(ctx, dir)
		return 0
	})
	return nil
}

// devRound is one build and one test, told to whoever looks.
func (c *cli) devRound(ctx context.Context, dir string) {
	fmt.Fprintf(c.Out, "── %s ──\n", time.Now().Format("15:04:05"))
	if _, err := c.pluginBuild(ctx, dir); err != nil {
		c.report(ctx, err)
	} else if cfg, err := c.testConfig(); err != nil {
		c.report(ctx, err)
	} else {
		cfg.FuzzCalls = devCalls
		cfg.Observe = func(o plugintest.Outcome) {
			o.Shown = middleOut(o.Shown, devLines)
			c.tellOutcome(o, true, true)
		}
		r, err := plugintest.Run(ctx, dir, cfg)
		if err == nil {
			c.tellSuite(r)
		} else if ctx.Err() == nil {
			c.report(ctx, err)
		}
	}
	if ctx.Err() == nil {
		c.outf("waiting for a file to be saved; Ctrl-C ends this\n")
	}
}

// middleOut removes lines in the middle of a text; n stay. The notice is at an end,
// or at the cut.
func middleOut(s string, n int) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) <= n {
		return s
	}
	head := n / 2
	tail := n - head - 1
	out := append([]string{}, lines[:head]...)
	out = append(out, fmt.Sprintf("… (%d lines more)", len(lines)-head-tail))
	return strings.Join(append(out, lines[len(lines)-tail:]...), "\n")
}

// sourcesIn lists the files of a tool's folder that people write: not the
// module, nor what tools make.
func sourcesIn(dir string) []string {
	var out []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what cannot be read is not watched
		name := ""
		if d != nil {
			name = d.Name()
		}
		switch {
		case err != nil:
			return nil
		case d.IsDir() && path != dir && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "target" || name == "golden"):
			return filepath.SkipDir
		case d.IsDir() || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".wasm") || strings.HasSuffix(name, "~"):
			return nil
		}
		out = append(out, path)
		return nil
	})
	return out
}
