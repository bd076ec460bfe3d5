package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// remembering is a box whose archive is searched by meaning and reaches earlier
// conversations.
type remembering struct {
	*box
	near, earlier []agent.Remembered
	err           error
	gone          string // a result whose text was removed
	asked         int
}

func (r *remembering) Near(context.Context, string, int) ([]agent.Remembered, error) {
	r.asked++
	return r.near, r.err
}
func (r *remembering) Earlier(context.Context, int) ([]agent.Remembered, error) {
	return r.earlier, nil
}
func (r *remembering) Ref(_ context.Context, uuid string) *tool.Ref {
	if uuid == r.gone {
		return nil
	}
	return &tool.Ref{UUID: uuid}
}

// TestStoredVectorsLoadThePassage: what stored vectors find is loaded by its lines,
// in a conversation that has no placeholders too, and below the threshold it is not.
func TestStoredVectorsLoadThePassage(t *testing.T) {
	old := tool.Ref{UUID: "0000-old", Query: "harbour log", Summary: "ships"}
	for _, row := range []struct {
		trigger  agent.Trigger
		score    float64
		question string
		load     bool
		hint     bool
	}{
		{agent.TriggerSemantic, 0.8, "Which vessels came in?", true, false},
		{agent.TriggerSemantic, 0.3, "Which vessels came in?", false, false},
		{agent.TriggerHybrid, 0.8, "Which vessels came in?", false, true},
		{agent.TriggerHybrid, 0.8, "Which vessels did you mention before?", true, false},
	} {
		b := &remembering{box: newBox().loads(), near: []agent.Remembered{{Tool: "read_log", Ref: &old, First: 40, Last: 61, Score: row.score}}}
		cfg := config(func(c *agent.Config) { c.Trigger = row.trigger })
		m := replay.New(replay.Text("done"))
		_, ev := must(t, cfg, m, b, nil, row.question)
		called := strings.Join(b.called(), " ")
		if want := `load_tool_history{"uuid":"0000-old","lines":"40-61"}`; row.load != (called == want) {
			t.Errorf("%s %v: called %s", row.trigger, row.score, called)
		}
		got := of[agent.Recalled](ev)
		if row.load || row.hint {
			if len(got) != 1 || got[0].By != "embeddings" || got[0].UUIDs[0] != old.UUID || got[0].Hinted != row.hint {
				t.Errorf("%s %v: %+v", row.trigger, row.score, got)
			}
		} else if len(got) != 0 {
			t.Errorf("%s %v: %+v", row.trigger, row.score, got)
		}
	}
}

// TestEarlierConversationsAreCandidates: without vectors the words of results of
// earlier conversations count; one whose text was removed does not.
func TestEarlierConversationsAreCandidates(t *testing.T) {
	old := tool.Ref{UUID: "0000-old", Query: "database timeout errors", Summary: "of the payment server"}
	b := &remembering{box: newBox().loads(), earlier: []agent.Remembered{{Tool: "read_log", Ref: &old}}, err: errors.New("the embedding model is away")}
	semantic := config(func(c *agent.Config) { c.Trigger = agent.TriggerSemantic })
	_, ev := must(t, semantic, replay.New(replay.Text("done")), b, nil, "Which database timeout errors has the server?")
	if got := of[agent.Recalled](ev); len(got) != 1 || got[0].By != "words" || got[0].UUIDs[0] != old.UUID || got[0].Fallback == "" {
		t.Errorf("%+v", got)
	}
	inner, history, ids := archived(t, tool.En)
	b = &remembering{box: inner, gone: ids[0]}
	_, ev = must(t, semantic, replay.New(replay.Text("done")), b, history, "Which database timeout errors has the server?")
	if got := of[agent.Recalled](ev); len(got) != 0 {
		t.Errorf("a result that was removed is chosen: %+v", got)
	}
	b.asked = 0
	keyword := config(func(c *agent.Config) { c.Trigger = agent.TriggerKeyword })
	if must(t, keyword, replay.New(replay.Text("done")), b, history, "What did you find earlier?"); b.asked != 0 {
		t.Error("a hint is not worth a request")
	}
}

// TestThePromptSpeaksOfEarlierConversations: a model that is not told does not look.
func TestThePromptSpeaksOfEarlierConversations(t *testing.T) {
	for l, want := range map[tool.Locale]string{tool.En: "The results of the user's earlier conversations are archived too", tool.Zh: "用户以往会话中的结果也有存档"} {
		for _, across := range []bool{true, false} {
			m := replay.New(replay.Text("done"))
			must(t, config(func(c *agent.Config) { c.Across, c.Locale = across, l }), m, newBox().loads(), nil, "hi")
			if got := strings.Contains(m.Requests()[0].System, want); got != across {
				t.Errorf("%s, across %v: %v", l, across, got)
			}
		}
	}
}
