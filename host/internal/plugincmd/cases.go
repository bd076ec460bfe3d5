package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugintest"
	"github.com/weirhost/weir/sdk/tool"
)

// TestConfig returns the configuration of a test run: the sandbox and the cache of
// this program, without the configuration of the daemon.
func (c *Commands) TestConfig() (plugintest.Config, error) {
	p, err := c.Source.Paths()
	if err != nil {
		return plugintest.Config{}, err
	}
	var hc host.Config
	config.Isolate(&hc, config.SandboxSettings{}, p)
	return plugintest.Config{Version: c.Version, CacheDir: p.Cache, WorkerCommand: hc.WorkerCommand, Logger: c.Logger}, nil
}

// RunCases is plugintest.Run, and warns of a description that is still a template's.
func (c *Commands) RunCases(ctx context.Context, path string, cfg plugintest.Config) (plugintest.Report, error) {
	r, err := plugintest.Run(ctx, path, cfg)
	file := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file = filepath.Join(path, registry.ManifestName)
	}
	if filepath.Base(file) != registry.ManifestName {
		return r, err
	}
	if b, bad := os.ReadFile(file); bad == nil {
		if line := author.Unchanged(string(b), r.Plugin); line > 0 {
			r.Warnings = append(r.Warnings, plugintest.Problem{
				File: file, Line: line, Col: 1, Warning: true, Msg: tool.Textf("the description is still the template's"),
				Fix: tool.Textf("say what this tool does, and when to use it: a model chooses tools by their descriptions"),
			})
		}
	}
	return r, err
}

// WriteJUnit writes a report to the file path as the XML of JUnit.
func WriteJUnit(path string, r plugintest.Report) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(plugintest.WriteJUnit(f, r), f.Close())
}

// ShowOutcome prints a line for a failed outcome, with noisy for every outcome; with
// show also the text that a model would read.
func (c *Commands) ShowOutcome(o plugintest.Outcome, noisy, show bool) {
	if show && o.Shown != "" {
		defer c.lines("      │ ", term.Plain(o.Shown))
	}
	if o.Failed() {
		c.Outf("FAIL  %s\n", o.Name)
		for _, p := range o.Problems {
			c.showProblem(p)
		}
		return
	}
	for _, f := range o.Updated {
		c.Outf("wrote %s\n", f)
	}
	if !noisy {
		return
	}
	calls := ""
	if o.Calls > 1 {
		calls = c.Sprintf(" · %d calls", o.Calls)
	}
	memory := "" // a call that did not reach the guest used none
	if o.Memory > 0 {
		memory = fmt.Sprintf(" · %s", o.Memory)
	}
	fmt.Fprintf(c.Out, "ok    %s%s · %s%s\n", o.Name, calls, term.Duration(o.Took), memory)
}

func (c *Commands) showProblem(p plugintest.Problem) {
	fmt.Fprintf(c.Out, "      %s\n", term.Plain(c.Text(p.Text())))
	if p.Detail != "" {
		c.lines("        ", term.Plain(p.Detail))
	}
}

// ShowReport prints what follows the outcomes: what could not be run, and the count.
func (c *Commands) ShowReport(r plugintest.Report) {
	for _, p := range r.Warnings {
		fmt.Fprintln(c.Err, term.Plain(c.Text(p.Text())))
	}
	for _, p := range r.Problems {
		c.showProblem(p)
	}
	cases, calls, made := 0, 0, 0
	for _, o := range r.Outcomes {
		if strings.HasPrefix(o.Name, "fuzz/") {
			made++
			calls += o.Calls
		} else {
			cases++
		}
	}
	verdict := "ok"
	if !r.OK() {
		verdict = "FAIL"
	}
	line := fmt.Sprintf("%-5s %s: %s", verdict, r.Plugin, c.Text(pluralText(cases, "1 case", "%d cases")))
	if calls > 0 {
		line += c.Sprintf(", %s with made up arguments (seed %d)", pluralText(calls, "1 call", "%d calls"), r.Seed)
	}
	if n := r.Failed(); n > 0 {
		line += c.Sprintf(", %d failed", n)
	}
	if n := len(r.Problems); n > 0 {
		line += c.Sprintf(", %s kept others from being run", pluralText(n, "1 problem", "%d problems"))
	}
	fmt.Fprintf(c.Out, "%s · %s\n", line, term.Duration(r.Took))
	if cases == 0 && r.OK() {
		c.Errf("weir: there are no cases: write them in %s/%s\n", plugintest.CaseDir, plugintest.CaseFiles)
	}
}

// pluralText returns the singular for 1, else the plural, which is a format with n.
func pluralText(n int, one, many string) tool.Text {
	if n == 1 {
		return textOf(one)
	}
	return tool.Textf(many, n)
}
