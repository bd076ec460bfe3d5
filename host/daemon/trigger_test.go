package daemon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// A profile with a trigger loads what the question means before the model is
// asked, and tells it by an event of its own. A conversation that is opened again
// shows that, a plan and a malformed call where they were.
func TestTriggerWholeWay(t *testing.T) {
	m := replay.New(replay.Text(longCall), replay.Text("done"), replay.Text("It is line 600."),
		replay.Text("1. Look\n2. Tell"), replay.Text("I look. <tool_call>{oops</tool_call>"), replay.Text("Told."))
	s := newServer(t, m)
	prof := s.daemon.cfg.Profiles["default"]
	prof.Agent.Trigger = agent.TriggerHybrid
	s.daemon.cfg.Profiles["default"] = prof
	book := s.logged()
	es := events(s.post("/api/chat", `{"message":"Make a long text"}`).body)
	uuid := last[api.ToolCallResult](t, es, api.EventResult).KeptUUID
	conversation := last[api.ChatEnd](t, es, api.EventEnd).Conversation
	es = events(s.post("/api/chat", fmt.Sprintf(`{"message":"What does line 600 of the long_text say that you made earlier?","conversation_id":%q}`, conversation)).body)
	got := last[struct {
		UUIDs          []string
		Score          float64
		By             string
		Hinted, Loaded bool
	}](t, es, api.EventRecalled)
	if len(got.UUIDs) != 1 || got.UUIDs[0] != uuid || got.Hinted == got.Loaded || got.By != "words" || got.Score <= 0 {
		t.Errorf("%+v", got)
	}
	sent := m.Requests()[2].Messages
	if text := sent[len(sent)-1].Text; !strings.Contains(text, uuid) {
		t.Errorf("the model is told\n%.500s", text)
	}
	if !strings.Contains(book.String(), "archived results may be meant") {
		t.Errorf("the log lacks it:\n%s", book)
	}

	prof.Agent.Trigger, prof.Agent.EnablePlanning = "", true
	s.daemon.cfg.Profiles["default"] = prof
	es = events(s.post("/api/chat", fmt.Sprintf(`{"message":"想一想","conversation_id":%q}`, conversation)).body)
	last[api.Plan](t, es, api.EventPlan)
	last[api.ToolCallMalformed](t, es, api.EventMalformed)
	var seen []string // after what, and what
	for _, m := range decoded[api.ShownConversation](t, s.get("/api/conversations/"+conversation)).Messages {
		if m.Turn > 1 && len(m.Remarks)+m.Unseen > 0 {
			text := []rune(m.Text)
			seen = append(seen, fmt.Sprintf("%d %s %.7s: %+v", m.Turn, m.Role, string(text[:len(text)-m.Unseen]), m.Remarks))
		}
		if want := tool.Locale(map[int]string{1: "en", 2: "en", 3: "zh"}[m.Turn]); m.Role == agent.RoleAssistant && m.Locale != want {
			t.Errorf("turn %d is of %q", m.Turn, m.Locale)
		}
	}
	want := []string{
		fmt.Sprintf("2 user What do: [{Malformed: Plan:[] Recalled:1 Loaded:%v From: To: Failing: Answering: Failed:map[]}]", got.Loaded),
		"3 assistant : []",
		"3 note 请执行计划。每: [{Malformed: Plan:[Look Tell] Recalled:0 Loaded:false From: To: Failing: Answering: Failed:map[]}]",
		"3 assistant I look.: [{Malformed:bad_json Plan:[] Recalled:0 Loaded:false From: To: Failing: Answering: Failed:map[]}]",
	}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("seen again:\n%s\nwant:\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

// embedding is a model with vectors, all of which point the same way.
type embedding struct {
	*replay.Model
	used agent.Usage
	err  error
}

func (e *embedding) Embed(_ context.Context, texts []string) (agent.Embeddings, error) {
	out := agent.Embeddings{Usage: e.used, Model: "vec-1"}
	for range texts {
		out.Vectors = append(out.Vectors, []float32{1})
	}
	return out, e.err
}

// Vectors count in the user's usage, in the question's usage, in the metrics and in
// the trace; by an estimate where the provider does not count.
func TestVectorsAreCounted(t *testing.T) {
	m := &embedding{Model: replay.Func(func(n int, _ agent.Request) replay.Reply {
		if n == 0 {
			return replay.Reply{Text: longCall, Usage: &agent.Usage{Prompt: 60, Completion: 40}}
		}
		return replay.Reply{Text: "Done.", Usage: &agent.Usage{Prompt: 6, Completion: 4}}
	}), used: agent.Usage{Prompt: 31}}
	s := newServer(t, m.Model)
	kept := tracetest.NewInMemoryExporter()
	set := s.daemon.current.State().Config
	set.Users = map[string]User{"ann": ann(usage.Quota{TokensPerDay: 100_000})}
	set.Tracing = telemetry.Tracing{Tracer: sdk.NewTracerProvider(sdk.WithSyncer(kept)).Tracer("test")}
	for name, with := range set.Models {
		with.Model = m
		set.Models[name] = with
	}
	prof := set.Profiles["default"]
	prof.Agent.Trigger = agent.TriggerSemantic
	set.Profiles["default"] = prof
	if err := s.daemon.Configure(set); err != nil {
		t.Fatal(err)
	}
	ask := func(question string) (api.ChatEnd, api.Recalled) {
		t.Helper()
		es := events(s.as(annToken, "POST", "/api/chat", `{"message":"`+question+`","conversation_id":"talk"}`).body)
		var r api.Recalled
		if strings.Contains(question, "again") {
			r = last[api.Recalled](t, es, api.EventRecalled)
		}
		return last[api.ChatEnd](t, es, api.EventEnd), r
	}
	day := func() int64 {
		return decoded[api.Usage](t, s.as(annToken, "GET", "/api/usage", "")).Days[0].Prompt
	}
	if first, _ := ask("Make a long text"); first.Asides != nil || day() != 66 {
		t.Errorf("nothing was archived before: %+v, %d", first.Asides, day())
	}
	end, r := ask("What is in it again?")
	if want := []api.Spent{{For: "embeddings", Model: "scripted", Usage: agent.Usage{Prompt: 31}}}; r.By != "embeddings" || !reflect.DeepEqual(end.Asides, want) || end.Usage.Prompt != 37 || day() != 103 {
		t.Errorf("%+v: %+v, %+v, %d", r, end.Usage, end.Asides, day())
	}
	if text := s.get("/metrics").body; !strings.Contains(text, `weir_tokens_total{kind="embedding",model="scripted"} 31`) || !strings.Contains(text, `weir_tokens_total{kind="prompt",model="scripted"} 72`) {
		t.Errorf("the metrics do not count them:\n%s", text)
	}
	spans := map[string]tracetest.SpanStub{}
	for _, sp := range kept.GetSpans() {
		spans[sp.Name] = sp
	}
	if sp := spans["embeddings vec-1"]; attrs(sp)["gen_ai.usage.input_tokens"] != "31" || attrs(sp)["gen_ai.operation.name"] != "embeddings" || !sp.Parent.SpanID().IsValid() {
		t.Errorf("%v", attrs(sp))
	}
	m.used = agent.Usage{}
	before := day()
	end, _ = ask("And again?")
	if n := end.Usage.Prompt - 6; n <= 0 || !end.Usage.Estimated || day() != before+int64(n)+6 {
		t.Errorf("an estimate: %+v, %d", end.Usage, day())
	}
	before, m.err = day(), errors.New("no vectors today")
	if end, r = ask("And again?"); r.Fallback == "" || end.Asides != nil || day() != before+6 {
		t.Errorf("a failure: %+v, %+v, %d", r, end.Asides, day())
	}
}
