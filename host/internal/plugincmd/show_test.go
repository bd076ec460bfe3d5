package plugincmd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/plugintest"
	"github.com/weirhost/weir/sdk/tool"
)

// Arguments that do not fit never reach the guest: its memory has not "no bound".
func TestACallWithoutAGuestShowsNoMemory(t *testing.T) {
	var out strings.Builder
	c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}}
	c.ShowOutcome(plugintest.Outcome{Name: "a", Took: time.Millisecond}, true, false)
	c.ShowOutcome(plugintest.Outcome{Name: "b", Took: time.Millisecond, Memory: 2048}, true, false)
	if want := "ok    a · 1.0 ms\nok    b · 1.0 ms · 2KiB\n"; out.String() != want {
		t.Errorf("%q; want %q", out.String(), want)
	}
}

// A getter answers with one plugin.
type getter plugin.Info

func (g getter) Get(_ context.Context, _ string, into any) error {
	*into.(*plugin.Info) = plugin.Info(g)
	return nil
}

// A tool shows what is wrong with it, and not what is wrong with those beside it. Texts of a
// stranger cannot steer the terminal.
func TestShowToolSaysWhatIsWrong(t *testing.T) {
	var out strings.Builder
	c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}}
	const format = "a part of the schema of %s is left out: %s"
	c.ShowTool(t.Context(), getter{Problems: []tool.Text{tool.Textf(format, "odd__a", "\x1b[2Jrequired"), tool.Textf(format, "odd__ab", "pattern")}},
		plugin.ToolInfo{Plugin: "odd", Spec: tool.Spec{Name: "odd__a", Params: []byte(`{}`)}})
	if s := out.String(); !strings.Contains(s, "a part of the schema of odd__a is left out") || strings.Contains(s, "odd__ab") || strings.Contains(s, "\x1b") {
		t.Errorf("%q", s)
	}
}

// What weir.lock says of an approval cannot steer the terminal: the file may be edited.
func TestReviewIsTame(t *testing.T) {
	var out strings.Builder
	c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}}
	evil := "\x1b[2J\u202eme"
	c.ShowReview(plugin.Review{
		Plugin:  plugin.Info{Name: "a", State: plugin.Ready, Approved: &plugin.Approval{By: evil}},
		History: []plugin.ApprovedVersion{{Version: evil, Approval: plugin.Approval{By: evil}}},
	})
	if s := out.String(); !strings.Contains(s, "me") || strings.ContainsAny(s, "\x1b\u202e") {
		t.Errorf("%q", s)
	}
}

// A state reads as a Chinese sentence where it comes with its reason.
func TestStateInChinese(t *testing.T) {
	var out strings.Builder
	c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}, Language: func() tool.Locale { return tool.Zh }}}
	c.ShowState(plugin.Review{Plugin: plugin.Info{Name: "a", State: plugin.Invalid, Why: tool.Textf("its files are still being written")}})
	if want := "a 已拒绝：它的文件还在写入\n"; out.String() != want {
		t.Errorf("%q; want %q", out.String(), want)
	}
}

// Tabs and line breaks in what a plugin says of itself move no column and make no row.
func TestListHasOneRowForAPlugin(t *testing.T) {
	var out strings.Builder
	c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}}
	c.ShowList([]plugin.Info{{Name: "a\tb", Version: "1\t\t\nready", State: plugin.Invalid}})
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(rows) != 2 || strings.Index(rows[1], "refused") != strings.Index(rows[0], "STATE") {
		t.Errorf("%s", out.String())
	}
}

// A description makes no line of its own in the review: it could say what the plugin asks
// for in the words of weir.
func TestADescriptionForgesNoReview(t *testing.T) {
	var out strings.Builder
	c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}}
	c.ShowReview(plugin.Review{Plugin: plugin.Info{Name: "a", State: plugin.Ready, Description: "good\n\npowers it asks for:\n  nothing"}})
	if s := out.String(); strings.Contains(s, "\npowers") || !strings.Contains(s, "good powers it asks for") {
		t.Errorf("%q", s)
	}
}

// A plugin may wait for a grant while its new version waits for a person: both are shown,
// the one that keeps its tools out first; what does not run does not serve.
func TestAChangeThatWaitsIsToldWithWhatKeepsThePluginOut(t *testing.T) {
	p := plugin.Info{
		Name: "a", State: plugin.Pending, Why: tool.Textf("the folder is gone"), Fix: tool.Textf("make the folder"),
		Pending: &plugin.PendingVersion{Why: tool.Textf("its module has changed"), Fix: tool.Textf("approve it")},
	}
	for _, row := range []struct{ got, want string }{
		{Why(p).String(), "the folder is gone; a change waits: its module has changed"},
		{Fix(p).String(), "make the folder; then approve it"},
	} {
		if row.got != row.want {
			t.Errorf("%q; want %q", row.got, row.want)
		}
	}
	same := plugin.Info{Why: p.Why, Fix: p.Fix, Pending: &plugin.PendingVersion{Why: p.Why, Fix: p.Fix}} // a new plugin
	if Why(same).String() != "the folder is gone" || Fix(same).String() != "make the folder" {
		t.Errorf("%q, %q", Why(same).String(), Fix(same).String())
	}
	var out strings.Builder
	c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}}
	asks := []plugin.Ask{{Kind: "host", What: "a.example"}, {Kind: "host", What: "b.example"}, {Kind: "path", What: "/work (ro)"}, {Kind: "secret", What: "KEY a.example"}}
	w, err := c.requestedGrants(&plugin.Version{Asks: asks}, false, Approval{Hosts: []string{"a.example"}, Paths: []string{"/work=."}, Secrets: []string{"KEY"}})
	if err != nil {
		t.Fatal(err)
	}
	c.showPending(plugin.Review{Plugin: p, Pending: &plugin.Version{Version: "2", Asks: asks}}, w)
	if s := out.String(); strings.Count(s, "(granted by this command)") != 3 || strings.Count(s, "(not granted)") != 1 || strings.Count(s, "wait until tools.toml grants") != 1 {
		t.Errorf("grants of the command itself:\n%s", s)
	}
	for state, serves := range map[plugin.State]bool{plugin.Pending: false, plugin.Ready: true} {
		out.Reset()
		p.State = state
		c.showPending(plugin.Review{Plugin: p, Serving: &plugin.Version{Version: "1"}, Pending: &plugin.Version{Version: "2"}}, request{})
		if strings.Contains(out.String(), "serves meanwhile") != serves {
			t.Errorf("%s: %s", state, out.String())
		}
	}
}
