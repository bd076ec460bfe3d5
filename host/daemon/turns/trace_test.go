package turns

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
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
