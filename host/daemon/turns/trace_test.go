package turns

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// Calls before the first request have a round of their own, and a trace contains the
// beginning of long arguments.
func TestTraceRounds(t *testing.T) {
	tn := &Trace{Now: time.Now}
	start := func(id string, args string) {
		tn.Observe(agent.CallStart{Call: tool.Call{ID: id, Tool: "t", Args: json.RawMessage(args)}})
	}
	start("ahead", `{"q":"x"}`)
	tn.Result(Call{Out: api.ToolCallResult{ID: "ahead", OK: true, Produced: 5, Shown: 5}})
	tn.Observe(agent.Budget{})
	start("long", `{"q":"`+strings.Repeat("长", traceArgs)+`"}`)
	tn.Observe(agent.RoundEnd{Round: 1, Calls: 1, Err: &agent.ModelError{Code: agent.ModelCut, Msg: "m"}})
	tn.Result(Call{Out: api.ToolCallResult{ID: "long", Error: &tool.Error{Code: tool.Failed}, Refused: []string{"https://api.example.com"}}})
	rs := tn.Record.Rounds
	if len(rs) != 2 || rs[0].Round != 0 || len(rs[0].Calls) != 1 || !rs[0].Calls[0].OK || rs[1].Error != "model_cut" {
		t.Fatalf("%+v", rs)
	}
	c := rs[1].Calls[0]
	if c.Error != tool.Failed || !slices.Equal(c.Refused, []string{"https://api.example.com"}) || !json.Valid(c.Args) || len([]rune(string(c.Args))) > traceArgs+10 { // quotes are escaped
		t.Errorf("%+v", c)
	}
}

// A trace says when each request began, which calls could not be read, how long calls
// waited for a person, and after which round results were folded.
func TestTraceTimes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tn := &Trace{Now: func() time.Time { return now }}
	tn.Observe(agent.TurnStart{Turn: 1})
	tn.Observe(agent.Budget{})
	tn.Observe(agent.CallStart{Call: tool.Call{ID: "a", Tool: "t", Args: json.RawMessage(`{}`)}})
	now = now.Add(700 * time.Millisecond)
	tn.Observe(agent.RoundEnd{Round: 1, Elapsed: 600 * time.Millisecond, First: 200 * time.Millisecond})
	now = now.Add(2 * time.Second)
	tn.Result(Call{Out: api.ToolCallResult{ID: "a", OK: true, ElapsedMS: 2000, Approval: &tool.Approval{Allowed: true, Waited: 1500 * time.Millisecond}}})
	tn.Observe(agent.MalformedCall{Malformed: parse.Malformed{Name: "calc", Reason: parse.ReasonBadJSON}, Note: "write it so"})
	tn.Observe(agent.Folded{SavedChars: 42, MidTurn: true})
	now = now.Add(time.Second)
	tn.Observe(agent.RoundEnd{Round: 2, Elapsed: time.Second})
	rs := tn.Record.Rounds
	if len(rs) != 2 || rs[0].AtMS != 100 || rs[1].AtMS != 2700 {
		t.Fatalf("%+v", rs)
	}
	if c := rs[0].Calls[0]; c.WaitedMS != 1500 || c.ElapsedMS != 2000 {
		t.Errorf("%+v", c)
	}
	if m := rs[0].Malformed; len(m) != 1 || m[0].Tool != "calc" || m[0].Reason != "bad_json" || m[0].Note != "write it so" || rs[0].FoldedChars != 42 || rs[1].FoldedChars != 0 || tn.Record.FoldedChars != 42 {
		t.Errorf("%+v", rs)
	}
}
