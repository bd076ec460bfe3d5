package plugincmd

import (
	"fmt"
	"io"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugintest"
)

// ShowFigures prints the measurements of a plugin.
func (c *Commands) ShowFigures(f plugintest.Figures) {
	if c.AsJSON(f) {
		return
	}
	for _, p := range f.Problems {
		fmt.Fprintln(c.Err, term.Plain(c.Text(p.Text())))
	}
	if len(f.Problems) > 0 {
		return
	}
	fmt.Fprintf(c.Out, "%s  %s\n", f.Plugin, fileSize(f.Bytes))
	c.Outf("compile  %-8s once on each machine\n", term.Duration(f.Compile))
	c.Outf("load     %-8s at the first call of a daemon\n\n", term.Duration(f.Load))
	c.Table("TOOL\tWITH\tCALLS\tFIRST\tP50\tP99\tMEMORY\tTEXT\tSHOWN", func(w io.Writer) {
		for _, t := range f.Tools {
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s, %s\t%d\n", t.Tool, term.OneLine(t.From, 30), t.Calls,
				term.Duration(t.First), term.Duration(t.P50), term.Duration(t.P99), c.text(orNone(t.Memory)), c.Sprintf("%s characters", term.Grouped(t.WholeChars)), c.Sprintf("%s lines", term.Grouped(t.WholeLines)), t.ShownChars)
		}
	})
	for _, t := range f.Tools {
		if !t.Err.IsZero() {
			c.Outf("\n%s failed: %s\n", t.Tool, term.Plain(c.Text(t.Err)))
		}
	}
}
