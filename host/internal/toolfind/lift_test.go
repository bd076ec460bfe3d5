package toolfind

import (
	"slices"
	"testing"

	"github.com/weirhost/weir/host/internal/tooluse"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// What a user often calls after the tool used last comes before what fits as well; a
// tool that does not fit is not found by it, and a name in the query stays first.
func TestToolsUsedTogether(t *testing.T) {
	var f Finder
	var tools []plugin.ToolInfo
	for name, about := range map[string]string{
		"list_issues": "Lists issues.", "comment": "Adds a remark to a ticket.", "label": "Adds a colour to a ticket.", "assign": "Adds a person to a ticket.", "weather": "Tells the weather.",
	} {
		tools = append(tools, plugin.ToolInfo{Plugin: "p", Spec: tool.Spec{Name: name, Description: about}})
	}
	slices.SortFunc(tools, func(a, b plugin.ToolInfo) int { return len(a.Spec.Name) - len(b.Spec.Name) })
	f.Update(tools)
	names := func(principal, conversation, query string) (out []string) {
		for _, x := range f.Find(t.Context(), Query{Text: query, Count: 3, Principal: principal, Conversation: conversation}) {
			out = append(out, x.Name)
		}
		return out
	}
	const query = "add to the ticket"
	plain := names("ann", "c", query)
	if len(plain) != 3 {
		t.Fatalf("found %q", plain)
	}
	last := plain[2]
	for range 4 {
		for _, name := range []string{"list_issues", last, "list_issues", "weather"} {
			f.Uses.Add("ann", tooluse.Call{Conversation: "before", Tool: name})
		}
	}
	f.Uses.Add("ann", tooluse.Call{Conversation: "c", Tool: "list_issues"})
	f.Uses.Add("bob", tooluse.Call{Conversation: "c", Tool: "list_issues"})
	if got := names("ann", "c", query); len(got) != 3 || got[0] != last {
		t.Errorf("after list_issues: %q", got)
	}
	for what, got := range map[string][]string{"another conversation": names("ann", "other", query), "another user": names("bob", "c", query), "no caller": names("", "", query)} {
		if !slices.Equal(got, plain) {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := names("ann", "c", plain[1]+" "+query); len(got) == 0 || got[0] != plain[1] {
		t.Errorf("behind a name: %q", got)
	}
	if got := names("ann", "c", "good morning"); got != nil {
		t.Errorf("a greeting finds %q", got)
	}
	got := f.Find(t.Context(), Query{Text: query, Count: 1, Principal: "ann", Conversation: "c"})
	if len(got) != 1 || got[0].Follows != 0.5 {
		t.Errorf("%+v", got)
	}
}
