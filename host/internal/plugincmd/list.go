package plugincmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// maxInvalid is how many invalid plugins are shown one by one: a folder may hold a
// thousand files that are none.
const maxInvalid = 5

// Few returns the plugins without most of the invalid ones, and how many it left out.
func Few(plugins []plugin.Info) (few []plugin.Info, left int) {
	invalid := 0
	for _, p := range plugins {
		if p.State == plugin.Invalid {
			if invalid++; invalid > maxInvalid {
				left++
				continue
			}
		}
		few = append(few, p)
	}
	return few, left
}

// ShowList prints a table of plugins, and what keeps some of them out.
func (c *Commands) ShowList(plugins []plugin.Info) {
	few, left := Few(plugins)
	c.Table("PLUGIN\tVERSION\tSTATE\tTOOLS\tWHY", func(w io.Writer) {
		for _, p := range few {
			why := Why(p)
			if n := len(p.Problems); n > 0 && why.IsZero() && p.Kind == plugin.KindServer {
				why = tool.Textf("%v: weir plugin info %s", pluralText(n, "1 note on what is left out of it", "%d notes on what is left out of it"), p.Name)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", term.OneLine(p.Name, 64), term.OneLine(p.Version, 64), c.text(string(p.State)), term.OneLine(strings.Join(p.Tools, " "), 80), term.OneLine(c.Sentence(why), 100))
		}
	})
	for _, p := range few {
		if why, fix := Why(p), Fix(p); !fix.IsZero() {
			fmt.Fprintf(c.Out, "\n%s: %s\n  → %s\n", p.Name, c.Sentence(why), c.Sentence(fix))
		}
	}
	if left > 0 {
		c.Outf("\n%d more are refused: `weir --json plugin list` lists them with the reasons\n", left)
	}
}

// ShowState prints the state of a plugin in one line or two.
func (c *Commands) ShowState(r plugin.Review) {
	p := r.Plugin
	state, more := c.text(string(p.State)), c.Sentence(p.Why)
	if p.State == plugin.Ready {
		more = strings.TrimSuffix(c.text(Names(p.Tools))+": "+more, ": ")
	}
	if more == "" {
		c.Outf("%s is %s\n", p.Name, state)
	} else {
		c.Outf("%s is %s: %s\n", p.Name, state, more)
	}
	if !p.Fix.IsZero() {
		fmt.Fprintf(c.Out, "  → %s\n", c.Sentence(p.Fix))
	}
}

// Remove forgets a plugin. It removes the files too, after asking, unless keepFiles
// is true; yes skips the question.
func (c *Commands) Remove(ctx context.Context, d Daemon, name string, yes, keepFiles bool) error {
	if !keepFiles && !yes {
		ok, err := c.Confirm(tool.Textf("Remove the files of %s from the plugin folder, and forget what was approved?", name),
			"add --yes to remove the files without being asked, or --keep-files to leave them")
		if err != nil || !ok {
			return err
		}
	}
	files := "remove"
	if keepFiles {
		files = "keep"
	}
	var out plugin.Removal
	if err := d.Do(ctx, http.MethodDelete, Path(name, "")+"?files="+files, nil, &out); err != nil {
		return err
	}
	if c.AsJSON(map[string]any{"plugin": name, "removed": out.Files, "link": out.Link}) {
		return nil
	}
	for _, f := range out.Files {
		c.Outf("removed %s\n", f)
	}
	if out.Link {
		c.Outf("it was a link; the files where it led are as they were\n")
	}
	c.Outf("%s is forgotten\n", name)
	return nil
}

// Names returns names with commas between them, or "none".
func Names(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
