package plugincmd

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

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
