package config

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/host/plugin"
)

// Entries that fit no tool are named, also for servers that have answered. What is written in
// the old form of a name fits, and allows only where one tool has that form. A name that is near
// none may be the own one of a server that has not answered.
func TestUnknownNames(t *testing.T) {
	s, faults := Parse("tools.toml", `
[agent]
tools = ["s__getissue", "s__getIssue", "s__drop", "s__gone", "later__x", "load_tool_history"]
deny_tools = ["s__drop", "s__Drip", "s__DRAP"]
[tools.s__getissue]
max_chars = 500
[tools."s__*"]
max_chars = 500
[tools."s__no*"]
max_chars = 500
[tools."nobody__*"]
max_chars = 500
[tools."later__*"]
max_chars = 500
[tools."l*"]
max_chars = 500
[mcpServers.s]
command = "x"
[mcpServers.later]
command = "x"
[[approvals.rule]]
tool = "s__GET*"
action = "deny"
[[approvals.rule]]
tool = "s__GET*"
action = "allow"
[[approvals.rule]]
tool = "createThing"
action = "allow"
[[approvals.rule]]
tool = "load_tool_histry"
action = "deny"
`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var got []string
	for _, f := range UnknownNames(s, []plugin.Info{
		{Name: "s", Kind: plugin.KindServer, State: plugin.Ready, Tools: []string{"s__getIssue", "s__Drop", "s__dRop", "s__drap"}},
		{Name: "later", Kind: plugin.KindServer, State: plugin.Pending},
	}) {
		got = append(got, f.Text().String())
	}
	want := []string{`[agent] tools names "s__drop"`, `[agent] tools names "s__gone"`, `[agent] deny_tools names "s__Drip"`, `[tools."nobody__*"] fits no tool here`, `[tools."s__no*"] fits no tool here`, `[[approvals.rule]] 2 is for "s__GET*"`, `[[approvals.rule]] 4 is for "load_tool_histry"`}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%s, want %s", got[i], want[i])
		}
	}
}
