package turns

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// always is a model that gives the same reply, with other arguments each time.
func always(r replay.Reply) agent.Model {
	return replay.Func(func(n int, _ agent.Request) replay.Reply {
		r := r
		r.Text = strings.ReplaceAll(r.Text, "#", fmt.Sprint(n))
		return r
	})
}

// A turn without an answer fails with its reason as the code, and who opens the conversation
// again reads why, in both languages.
func TestNoAnswer(t *testing.T) {
	search := func(query string) replay.Reply { return replay.Call(tool.SearchHistory, `{"query":"`+query+`"}`) }
	for name, c := range map[string]struct {
		reply  replay.Reply
		edit   func(*agent.Config)
		reason agent.Reason
		says   string
	}{
		"malformed": {replay.Text(`<tool_call>{"tool_name":"search_tool_history","arguments":{"query" "x"]}</tool_call>`), nil, agent.ReasonMalformed, "could not be read"},
		"calls":     {search("#"), func(c *agent.Config) { c.MaxToolCalls = 2 }, agent.ReasonMaxCalls, "used up"},
		"repeated":  {search("x"), nil, agent.ReasonRepeated, "again and again"},
		"announced": {replay.Text("好的，我来查询。\n<tool_call>{\"tool_name\":\"search_tool_history\",\"arguments\":{\"query\":\"#\"}}</tool_call>"), func(c *agent.Config) { c.MaxToolCalls = 2 }, agent.ReasonMaxCalls, "used up"},
		"unread": {replay.Text(`Let me look it up.
<tool_call>{"tool_name":"search_tool_history","arguments":{"query" "x"]}</tool_call>`), nil, agent.ReasonMalformed, "could not be read"},
		"empty":    {replay.Text(""), nil, agent.ReasonNoAnswer, "said nothing"},
		"blank":    {replay.Text(" \n"), nil, agent.ReasonNoAnswer, "said nothing"},
		"thoughts": {replay.Reply{Reasoning: "Hm."}, nil, agent.ReasonNoAnswer, "thought, and gave no answer"},
		"length":   {replay.Reply{Reasoning: "Hm.", Finish: agent.FinishLength}, nil, agent.ReasonLength, "length limit"},
		"tokens":   {search("#"), func(c *agent.Config) { c.TokenBudget = 1 }, agent.ReasonTokens, "tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			m := always(c.reply)
			s := serviceAt(t, filepath.Join(t.TempDir(), "archive.db"), m, c.edit)
			var h heard
			end, err := s.Ask(t.Context(), "local", Question{Ask: api.Ask{Message: "What is there?"}}, nil, h.emit)
			p := api.AsProblem(err)
			if err == nil || p.Code != string(c.reason) || p.Status != http.StatusBadRequest || !strings.Contains(p.Error(), c.says) || !p.OfModel() {
				t.Errorf("%v", err)
			}
			if end.Reasoning != c.reply.Reasoning {
				t.Errorf("its thinking is %q", end.Reasoning)
			}
			if end.Reason != c.reason || strings.TrimSpace(end.Answer) != "" || end.Conversation == "" {
				t.Errorf("%+v", end)
			}
			ms := stored(t, s, end.Conversation)
			last := ms[len(ms)-1].Remarks
			if len(last) == 0 || !strings.Contains(last[len(last)-1].Failed[tool.En].Message, c.says) || last[len(last)-1].Failed[tool.Zh].Message == last[len(last)-1].Failed[tool.En].Message {
				t.Errorf("stored: %+v", ms)
			}
			if asked := len(m.(*replay.Model).Requests()); c.reason == agent.ReasonLength && asked != 1 {
				t.Errorf("a reply that was cut is asked for %d times", asked)
			}
		})
	}
}

// Codes of other problems are not the model's.
func TestOfModel(t *testing.T) {
	for code, want := range map[string]bool{"model_cut": true, "no_answer": true, "max_calls": true, "busy": false, "": false, "answer": false} {
		if got := (&api.Problem{Code: code}).OfModel(); got != want {
			t.Errorf("%q: %v", code, got)
		}
	}
}
