package plugincmd

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/watch"
	"github.com/weirhost/weir/host/plugintest"
)

// The pace of weir plugin dev.
const (
	devPoll  = 300 * time.Millisecond // between looks at the sources
	devCalls = 20                     // with made up arguments, for each tool
	devLines = 14                     // shown of what a model reads of one case
)

// Dev builds and tests the tool in dir, and again whenever a file changes, until ctx
// ends.
func (c *Commands) Dev(ctx context.Context, dir string) error {
	if c.JSON {
		return msg.Usagef("`weir plugin build --json` and `weir plugin test --json` give values", "dev goes on for ever, and --json prints one value")
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

// devRound builds and tests once, and prints the result.
func (c *Commands) devRound(ctx context.Context, dir string) {
	fmt.Fprintf(c.Out, "── %s ──\n", time.Now().Format("15:04:05"))
	if _, err := c.Build(ctx, dir); err != nil {
		c.Report(ctx, err)
	} else if cfg, err := c.TestConfig(); err != nil {
		c.Report(ctx, err)
	} else {
		cfg.FuzzCalls = devCalls
		cfg.Observe = func(o plugintest.Outcome) {
			o.Shown = middleOut(o.Shown, devLines)
			c.ShowOutcome(o, true, true)
		}
		r, err := c.RunCases(ctx, dir, cfg)
		if err == nil {
			c.ShowReport(r)
		} else if ctx.Err() == nil {
			c.Report(ctx, err)
		}
	}
	if ctx.Err() == nil {
		c.Outf("waiting for a file to be saved; Ctrl-C ends this\n")
	}
}

// middleOut returns n lines of a text, without those in the middle. A notice is at
// one end or at the cut, and stays.
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
		case strings.HasSuffix(name, ".js") && exists(strings.TrimSuffix(path, ".js")+".ts"): // made of it
			return nil
		case d.IsDir() || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".wasm") || strings.HasSuffix(name, "~"):
			return nil
		}
		out = append(out, path)
		return nil
	})
	return out
}
