package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugintest"
)

func (c *cli) pluginBenchCmd() *cobra.Command {
	var calls int
	cmd := &cobra.Command{
		Use: "bench [DIR|FILE]", Short: "Measure a plugin: compiling, loading, calls, memory, how long its text is",
		Long: "Measure a plugin in the sandbox that a daemon has. Each tool is called with the arguments, and in the\n" +
			"world, of its first case that expects a result, else with those of its first example; every call\n" +
			"finds fresh state. Times are those of this machine as it is busy now.",
		Args: argCount(0, 1, "one folder or file at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := c.testConfig()
			if err != nil {
				return err
			}
			_, done := c.Progress(c.Sprintf("measuring"))
			defer done()
			f, err := plugintest.Measure(cmd.Context(), folderOf(args), calls, cfg)
			if err != nil {
				return err
			}
			done()
			c.tellFigures(f)
			if len(f.Problems) > 0 {
				return term.ExitError(term.ExitFailed)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&calls, "calls", 0, c.helpf("how many calls of each tool, within 5 s; 0 or negative: %d", plugintest.DefaultCalls))
	return cmd
}

func (c *cli) tellFigures(f plugintest.Figures) {
	if c.JSON {
		c.Print(f)
		return
	}
	for _, p := range f.Problems {
		fmt.Fprintln(c.Err, term.Plain(p.String()))
	}
	if len(f.Problems) > 0 {
		return
	}
	fmt.Fprintf(c.Out, "%s  %s\n", f.Plugin, fileSize(f.Bytes))
	c.outf("compile  %-8s once on each machine\n", term.Duration(f.Compile))
	c.outf("load     %-8s at the first call of a daemon\n\n", term.Duration(f.Load))
	c.Table("TOOL\tWITH\tCALLS\tFIRST\tP50\tP99\tMEMORY\tTEXT\tSHOWN", func(w io.Writer) {
		for _, t := range f.Tools {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s, %s\t%d\n", t.Tool, term.OneLine(t.From, 30), t.Calls,
				term.Duration(t.First), term.Duration(t.P50), term.Duration(t.P99), c.text(orNone(t.Memory)), c.charsText(t.WholeChars), c.linesText(t.WholeLines), t.ShownChars)
		}
	})
	for _, t := range f.Tools {
		if t.Err != "" {
			c.outf("\n%s failed: %s\n", t.Tool, term.Plain(t.Err))
		}
	}
}
