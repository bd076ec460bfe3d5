package plugincmd

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/plugintest"
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
