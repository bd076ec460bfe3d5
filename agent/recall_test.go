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

// vectors is a scripted model that also embeds: what holds a word points its way.
type vectors struct {
	*replay.Model
	words []string
	err   error
	asked [][]string
}

func (v *vectors) Embed(_ context.Context, texts []string) (agent.Embeddings, error) {
	v.asked = append(v.asked, texts)
	var out [][]float32
	for _, t := range texts {
		vec := make([]float32, len(v.words)+1)
		vec[len(v.words)] = 0.1
		for i, w := range v.words {
			if strings.Contains(t, w) {
				vec[i] = 1
			}
		}
		out = append(out, vec)
	}
	return agent.Embeddings{Vectors: out}, v.err
}

// archived is a conversation with two folded results: of the server's log and
// of a search about bridges.
func archived(t *testing.T, l tool.Locale) (*box, []agent.Message, []string) {
	t.Helper()
	first := map[tool.Locale]string{tool.En: "database timeout errors of the payment server", tool.Zh: "支付服务器的数据库超时错误"}[l]
	second := map[tool.Locale]string{tool.En: "bridges over the river Danube", tool.Zh: "多瑙河上的桥梁列表"}[l]
	b := newBox().says("read_log", first+"\n"+lines(500, 30)).says("search_web", second+"\n"+lines(500, 30)).loads()
	cfg := config(func(c *agent.Config) { c.Locale = l })
	turn, _ := must(t, cfg, replay.New(replay.Call("read_log", `{"text":"server"}`), replay.Text("ok")), b, nil, "one")
	turn, _ = must(t, cfg, replay.New(replay.Call("search_web", `{"text":"bridges"}`), replay.Text("ok")), b, turn.Messages, "two")
	e := entries(turn.Messages)
	return b, turn.Messages, []string{e[0].Ref.UUID, e[1].Ref.UUID}
}

func TestTriggers(t *testing.T) {
	for _, row := range []struct {
		trigger     agent.Trigger
		locale      tool.Locale
		question    string
		first       int // the best candidate: 0 the log, 1 the search; -1: nothing happens
		hint, fetch bool
		why         string
	}{
		{"", tool.En, "Which database timeout did you find earlier?", -1, false, false, "the model decides by default"},
		{agent.TriggerModel, tool.En, "Which database timeout did you find earlier?", -1, false, false, "the model decides"},
		{agent.TriggerKeyword, tool.En, "Which database timeout did you find earlier?", 0, true, false, "it refers back; the log shares its words"},
		{agent.TriggerKeyword, tool.En, "And what was in that result?", 1, true, false, "nothing is shared: the newest"},
		{agent.TriggerKeyword, tool.En, "Which database timeout is usual?", -1, false, false, "it does not refer back"},
		{agent.TriggerSemantic, tool.En, "Which database timeout errors has the server?", 0, false, true, "the words alone suffice"},
		{agent.TriggerSemantic, tool.En, "What did we say earlier about cooking with saffron?", -1, false, false, "referring back alone does not"},
		{agent.TriggerSemantic, tool.En, "Danube?", -1, false, false, "one shared word may be chance"},
		{agent.TriggerHybrid, tool.En, "Which database timeout errors did you mention before?", 0, false, true, "both agree"},
		{agent.TriggerHybrid, tool.En, "Which database timeout errors has the server?", 0, true, false, "the words without the reference"},
		{agent.TriggerHybrid, tool.En, "What was the first line of that result?", 1, true, false, "the reference without the words"},
		{agent.TriggerHybrid, tool.En, "How do I cook with saffron?", -1, false, false, "neither"},
		{agent.TriggerKeyword, tool.Zh, "刚才那个日志里的超时错误有多少？", 0, true, false, "Chinese, by pairs of characters"},
		{agent.TriggerSemantic, tool.Zh, "数据库超时错误是什么？", 0, false, true, "Chinese words alone"},
		{agent.TriggerHybrid, tool.Zh, "之前的桥梁列表里有哪些？", 1, false, true, "Chinese, both agree"},
		{agent.TriggerSemantic, tool.Zh, "怎么用藏红花做饭？", -1, false, false, "Chinese, something else"},
	} {
		b, history, ids := archived(t, row.locale)
		m := replay.New(replay.Text("done"))
		cfg := config(func(c *agent.Config) { c.Trigger, c.Locale = row.trigger, row.locale })
		turn, ev := must(t, cfg, m, b, history, row.question)
		r := m.Requests()[0]
		last := r.Messages[len(r.Messages)-1].Text
		hinted := strings.Contains(last, "The likeliest: ") || strings.Contains(last, "最可能的是：")
		fetched := strings.Contains(last, "line 500 ")
		if hinted != row.hint || fetched != row.fetch {
			t.Errorf("%s: hinted %v, loaded %v\n%.600s", row.why, hinted, fetched, last)
		}
		got := of[agent.Recalled](ev)
		if row.first < 0 {
			if len(got) != 0 || len(turn.Messages) != len(history)+2 {
				t.Errorf("%s: %+v", row.why, got)
			}
			continue
		}
		if len(got) != 1 || got[0].UUIDs[0] != ids[row.first] || got[0].Hinted != row.hint || got[0].Preloaded != row.fetch || got[0].By != "words" {
			t.Errorf("%s: %+v, want %s first", row.why, got, ids[row.first])
		}
		if row.hint && strings.Index(last, ids[row.first]) > strings.Index(last, ids[1-row.first]) {
			t.Errorf("%s: the best is not named first: %s", row.why, last)
		}
		if fetched && (turn.Stats.Faults.Faults != 1 || turn.Stats.Calls != 1 || !strings.HasPrefix(entries(turn.Messages)[2].Text, "[")) {
			t.Errorf("%s: a load of ours counts as any other and leaves again: %+v", row.why, turn.Stats)
		}
		// Append-only: the history and the question are sent as they are.
		for i, h := range r.Messages[:4] {
			if before := replayed(t, row.locale, b, history)[i]; h.Text != before {
				t.Errorf("%s: message %d changed to %.100s", row.why, i, h.Text)
			}
		}
	}
}

// replayed is how the history is sent without any trigger.
func replayed(t *testing.T, l tool.Locale, b *box, history []agent.Message) []string {
	t.Helper()
	m := replay.New(replay.Text("x"))
	must(t, config(func(c *agent.Config) { c.Locale = l }), m, b, history, "x")
	var out []string
	for _, msg := range m.Requests()[0].Messages {
		out = append(out, msg.Text)
	}
	return out
}

func TestSemanticTriggerByEmbeddings(t *testing.T) {
	b, history, ids := archived(t, tool.En)
	cfg := config(func(c *agent.Config) { c.Trigger = agent.TriggerSemantic })
	m := &vectors{Model: replay.New(replay.Text("done")), words: []string{"spans", "Danube"}}
	_, ev := must(t, cfg, m, b, history, "Where does the Danube have spans?")
	if got := of[agent.Recalled](ev); len(got) != 1 || got[0].By != "embeddings" || !got[0].Preloaded || got[0].UUIDs[0] != ids[1] || got[0].Score < 0.5 {
		t.Errorf("%+v", got)
	}
	if len(m.asked) != 1 || len(m.asked[0]) != 3 || !strings.Contains(m.asked[0][1], "Danube") {
		t.Errorf("asked for %q", m.asked)
	}
	m = &vectors{Model: replay.New(replay.Text("done")), words: []string{"saffron"}}
	if _, ev = must(t, cfg, m, b, history, "Which database timeout errors about saffron?"); len(of[agent.Recalled](ev)) != 0 {
		t.Errorf("the vectors say no, so nothing is loaded: %+v", of[agent.Recalled](ev))
	}
	m = &vectors{Model: replay.New(replay.Text("done")), err: errors.New("no embeddings here")}
	_, ev = must(t, cfg, m, b, history, "Which database timeout errors has the server?")
	if got := of[agent.Recalled](ev); len(got) != 1 || got[0].By != "words" || got[0].UUIDs[0] != ids[0] {
		t.Errorf("without vectors the words decide: %+v", got)
	}
	cfg.Trigger = agent.TriggerKeyword
	m = &vectors{Model: replay.New(replay.Text("done")), words: []string{"x"}}
	if must(t, cfg, m, b, history, "What did you find earlier?"); len(m.asked) != 0 {
		t.Error("a hint is not worth a request")
	}
}

func TestTriggersKeepStill(t *testing.T) {
	question := "Which database timeout errors did you mention before?"
	b, history, ids := archived(t, tool.En)
	hybrid := config(func(c *agent.Config) { c.Trigger = agent.TriggerHybrid })
	silent := func(why string, cfg agent.Config, tb agent.Toolbox, history []agent.Message) {
		t.Helper()
		if _, ev := must(t, cfg, replay.New(replay.Text("done")), tb, history, question); len(of[agent.Recalled](ev)) != 0 {
			t.Errorf("%s: %+v", why, of[agent.Recalled](ev))
		}
	}
	silent("no history", hybrid, b, nil)
	noLoad := newBox().says("dump", "x")
	silent("no tool to load with", hybrid, noLoad, history)
	off := hybrid
	off.EnableToolCalling = false
	silent("tools are off", off, b, history)
	chosen := hybrid
	chosen.Preload = []tool.Call{{Tool: "load_tool_history", Args: []byte(`{"uuid":"` + ids[1] + `"}`)}}
	silent("the person has chosen", chosen, b, history)
	pinned, _ := must(t, config(), replay.New(replay.Call("load_tool_history", `{"uuid":"`+ids[0]+`","keep_turns":5}`), replay.Text("ok")), b, history, "load it")
	_, ev := must(t, hybrid, replay.New(replay.Text("done")), b, pinned.Messages, question)
	if got := of[agent.Recalled](ev); len(got) > 0 && got[0].UUIDs[0] == ids[0] {
		t.Errorf("what is pinned is in front of the model already: %+v", got)
	}
	if err := (agent.Config{Trigger: "always"}).Validate(); err == nil || !strings.Contains(err.Error(), "hybrid") {
		t.Errorf("an unknown trigger: %v", err)
	}
}
