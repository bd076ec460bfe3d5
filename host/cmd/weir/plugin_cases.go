package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugintest"
	"github.com/weirhost/weir/sdk/tool"
)

// A testRun is one run of weir plugin test.
type testRun struct {
	only, junit  string
	update, show bool
	noisy        bool
	calls        int
	seed         uint64
}

func (c *cli) pluginTestCmd() *cobra.Command {
	var t testRun
	cmd := &cobra.Command{
		Use: "test [DIR]", Short: "Run the cases in DIR/tests/*.toml, and calls with made up arguments",
		Long: "Run a plugin's cases: each calls a tool in the sandbox and under the limits that a daemon has,\n" +
			"with the files, the answers of the network, the settings and the secrets that the case names, and\n" +
			"nothing else. Then each tool gets calls with arguments made up after its schema: those that fit it\n" +
			"must not crash the tool. docs/testing.md explains every key of a case.\n\n" +
			"The exit code is 1 when something is not as expected.",
		Example: "  weir plugin test\n  weir plugin test plugins/notes --run 'basic/' -v\n  weir plugin test . --update --junit report.xml",
		Args:    argCount(0, 1, "one folder or file at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) == 1 {
				path = args[0]
			}
			return c.pluginTest(cmd, path, &t)
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.only, "run", "", "run only what this `EXPRESSION` (RE2) matches of FILE/NAME, fuzz/TOOL")
	f.BoolVar(&t.update, "update", false, "write the golden files that differ, in place of failing")
	f.BoolVar(&t.show, "show", false, "print what a model would read of each case, the notice included")
	f.StringVar(&t.junit, "junit", "", "write the outcome to `FILE` as JUnit's XML as well")
	f.IntVar(&t.calls, "fuzz", 0, c.helpf("made up calls for each tool; 0: what the cases say, else %d; negative: none", plugintest.DefaultFuzzCalls))
	f.Uint64Var(&t.seed, "seed", 0, "begin what is made up with this number; 0: what the cases say, else 1")
	return cmd
}

func (c *cli) pluginTest(cmd *cobra.Command, path string, t *testRun) error {
	cfg, err := c.testConfig()
	if err != nil {
		return err
	}
	if t.only != "" {
		if cfg.Only, err = regexp.Compile(t.only); err != nil {
			return usagef("write an RE2 expression, quoted for the shell", "--run: %s", err)
		}
	}
	cfg.Update, cfg.FuzzCalls, cfg.Seed = t.update, t.calls, t.seed
	t.noisy = c.verbose
	if !c.JSON {
		cfg.Observe = func(o plugintest.Outcome) { c.tellOutcome(o, t.noisy || t.show, t.show) }
	}
	r, err := plugintest.Run(cmd.Context(), path, cfg)
	if err != nil {
		return err
	}
	if t.junit != "" {
		if err := writeJUnit(t.junit, r); err != nil {
			return usagef("give a file that can be written", "the report %s cannot be written: %s", t.junit, config.Reason(err))
		}
	}
	if c.JSON {
		c.Print(r)
	} else {
		c.tellSuite(r)
	}
	if !r.OK() {
		return term.ExitError(term.ExitFailed)
	}
	return nil
}

// testConfig is what plugins under test run with: this program's sandbox and
// its cache, and nothing of the configuration.
func (c *cli) testConfig() (plugintest.Config, error) {
	p, err := c.findPaths()
	if err != nil {
		return plugintest.Config{}, err
	}
	var hc host.Config
	config.Isolate(&hc, config.SandboxSettings{}, p)
	return plugintest.Config{Version: version(), CacheDir: p.Cache, WorkerCommand: hc.WorkerCommand, Logger: c.pluginLogger()}, nil
}

// pluginLogger writes what a plugin prints and logs, if somebody wants to know,
// and of the host's own log the errors alone.
func (c *cli) pluginLogger() hclog.Logger {
	opt := &hclog.LoggerOptions{Name: "weir", Level: hclog.Error, Output: c.Err, IndependentLevels: true, DisableTime: true}
	if c.verbose {
		opt.SubloggerHook = func(l hclog.Logger) hclog.Logger {
			if strings.Contains(l.Name(), ".plugin.") {
				l.SetLevel(hclog.Debug)
			}
			return l
		}
	}
	return hclog.New(opt)
}

func writeJUnit(path string, r plugintest.Report) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = plugintest.WriteJUnit(f, r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// tellOutcome prints a line for a failed outcome, with noisy for every outcome; with
// show also the text that a model would read.
func (c *cli) tellOutcome(o plugintest.Outcome, noisy, show bool) {
	if show && o.Shown != "" {
		defer c.lines("      │ ", term.Plain(o.Shown))
	}
	if o.Failed() {
		c.outf("FAIL  %s\n", o.Name)
		for _, p := range o.Problems {
			c.tellTestProblem(p)
		}
		return
	}
	for _, f := range o.Updated {
		c.outf("wrote %s\n", f)
	}
	if !noisy {
		return
	}
	calls := ""
	if o.Calls > 1 {
		calls = c.Sprintf(" · %d calls", o.Calls)
	}
	fmt.Fprintf(c.Out, "ok    %s%s · %s · %s\n", o.Name, calls, term.Duration(o.Took), c.text(orNone(o.Memory)))
}

func (c *cli) tellTestProblem(p plugintest.Problem) {
	fmt.Fprintf(c.Out, "      %s\n", term.Plain(p.String()))
	if p.Detail != "" {
		c.lines("        ", term.Plain(p.Detail))
	}
}

// tellSuite prints what follows the outcomes: what could not be run, and the count.
func (c *cli) tellSuite(r plugintest.Report) {
	for _, p := range r.Warnings {
		fmt.Fprintln(c.Err, term.Plain(p.String()))
	}
	for _, p := range r.Problems {
		c.tellTestProblem(p)
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
		c.errf("weir: there are no cases: write them in %s/%s\n", plugintest.CaseDir, plugintest.CaseFiles)
	}
}

// pluralText returns the singular for 1, else the plural, which is a format with n.
func pluralText(n int, one, many string) tool.Text {
	if n == 1 {
		return phrase(one)
	}
	return tool.Textf(many, n)
}
