package main

import (
	"regexp"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/plugincmd"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugintest"
)

// A testRun is one run of weir plugin test.
type testRun struct {
	only, junit  string
	update, show bool
	noisy        bool
	calls        int
	seed         uint64
}

func pluginTestCmd(c *cli) *cobra.Command {
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
	cfg, err := c.pluginCommands().TestConfig()
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
		cfg.Observe = func(o plugintest.Outcome) { c.pluginCommands().ShowOutcome(o, t.noisy || t.show, t.show) }
	}
	r, err := c.pluginCommands().RunCases(cmd.Context(), path, cfg)
	if err != nil {
		return err
	}
	if t.junit != "" {
		if err := plugincmd.WriteJUnit(t.junit, r); err != nil {
			return usagef("give a file that can be written", "the report %s cannot be written: %s", t.junit, msg.Reason(err))
		}
	}
	if !c.AsJSON(r) {
		c.pluginCommands().ShowReport(r)
	}
	if !r.OK() {
		return term.ExitError(term.ExitFailed)
	}
	return nil
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
