package offer

import (
	"encoding/json"
	"testing"

	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// A repeated call is taken for the one that waits only with the same tool, text and
// arguments: an answer about one must not run another.
func TestSameCall(t *testing.T) {
	one := script.Script{Source: "return args.n", As: tool.Spec{Name: "gen"}, Args: json.RawMessage(`{"n": 2}`)}
	stored := one
	stored.Args = json.RawMessage(`{"n":2}`)
	if !sameCall(one, stored) {
		t.Error("white space makes another call of it")
	}
	none := script.Script{Source: "return 1"}
	null := none
	null.Args = json.RawMessage("null")
	if !sameCall(none, null) {
		t.Error("no arguments are not null")
	}
	for name, change := range map[string]func(*script.Script){
		"arguments":    func(s *script.Script) { s.Args = json.RawMessage(`{"n":3}`) },
		"tool":         func(s *script.Script) { s.As.Name = "gen2" },
		"text":         func(s *script.Script) { s.Source += ";" },
		"conversation": func(s *script.Script) { s.Scope.Conversation = "other" },
	} {
		other := one
		if change(&other); sameCall(one, other) {
			t.Errorf("other %s: the same call", name)
		}
	}
}
