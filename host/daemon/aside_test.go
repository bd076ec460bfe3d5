package daemon

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// A summary of a result is counted among what its user takes and in the metrics,
// refused once that is used up, and a span within that of the call.
func TestSummariesAreCountedAndTraced(t *testing.T) {
	shortener := replay.Func(func(int, agent.Request) replay.Reply {
		return replay.Reply{Text: "short", Model: "doubao-1-5-pro-250115", Usage: &agent.Usage{Prompt: 700, Completion: 50}}
	})
	named := Model{Model: shortener, Info: agent.ModelInfo{Provider: "ark", Model: "doubao"}, Server: "ark.example:443", Price: agent.Price{Prompt: 1e6, Completion: 1e6, Currency: "USD"}}
	var s *server
	s = serverWith(t, replay.Func(func(n int, _ agent.Request) replay.Reply {
		if n%2 == 0 {
			return replay.Reply{Text: longCall, Usage: &agent.Usage{Prompt: 60, Completion: 40}}
		}
		return says("Done.")
	}), func(c *host.Config) {
		c.Tools = map[string]host.ToolConfig{"long_text": {Limits: tool.Limits{Strategy: tool.Summarize}}}
		c.Summarise = func(ctx context.Context, r host.SummaryRequest) (host.Summary, error) {
			m := s.daemon.Aside(Aside{Principal: string(r.Principal), Conversation: r.Conversation, Locale: r.Locale}, "short", named)
			out := host.Summary{Model: "short"}
			for d, err := range m.Generate(ctx, agent.Request{Messages: []agent.ChatMessage{{Role: "user", Text: "Shorten: " + r.Text}}}) {
				if err != nil {
					return out, err
				}
				out.Text += d.Text
			}
			return out, nil
		}
	})
	kept := tracetest.NewInMemoryExporter()
	set := s.daemon.current.State().Config
	set.Users = map[string]User{"ann": ann(usage.Quota{TokensPerDay: 900})}
	set.Tracing = telemetry.Tracing{Tracer: sdk.NewTracerProvider(sdk.WithSyncer(kept)).Tracer("test")}
	if err := s.daemon.Configure(set); err != nil {
		t.Fatal(err)
	}
	var end api.ChatEnd
	ask := func() api.ToolCallResult {
		t.Helper()
		a := s.as(annToken, "POST", "/api/chat", `{"message":"Make a long text","conversation_id":"talk"}`)
		end = last[api.ChatEnd](t, events(a.body), api.EventEnd)
		return last[api.ToolCallResult](t, events(a.body), api.EventResult)
	}
	if r := ask(); !r.Summarized {
		t.Fatalf("%+v", r)
	}
	if u, c := end.Usage, end.Cost; u != (agent.Usage{Prompt: 820, Completion: 130}) || c == nil || *c != (agent.Cost{Amount: 750, Currency: "USD"}) {
		t.Errorf("the end tells %+v and %+v", u, c)
	}
	if want := []api.Spent{{For: "summary", Model: "short", Usage: agent.Usage{Prompt: 700, Completion: 50}, Cost: end.Cost}}; !reflect.DeepEqual(end.Asides, want) {
		t.Errorf("%+v", end.Asides)
	}
	if tr := decoded[api.Trace](t, s.as(annToken, "GET", "/api/traces/last", "")); tr.Usage != end.Usage || tr.Cost == nil || *tr.Cost != *end.Cost {
		t.Errorf("the trace tells %+v and %+v", tr.Usage, tr.Cost)
	}
	// 60 and 40 by the first reply, 700 and 50 by the summary, 60 and 40 by the answer.
	if u := decoded[api.Usage](t, s.as(annToken, "GET", "/api/usage", "")); len(u.Days) != 1 || u.Days[0].Prompt != 820 || u.Days[0].Completion != 130 || len(u.Days[0].Cost) != 1 || u.Days[0].Cost[0].Amount != 750 {
		t.Errorf("%+v", u)
	}
	if m := s.get("/metrics").body; !strings.Contains(m, `weir_tokens_total{kind="prompt",model="short"} 700`) || !strings.Contains(m, `weir_tokens_total{kind="prompt",model="scripted"} 120`) || !strings.Contains(m, `weir_model_request_duration_seconds_count{model="short"} 1`) {
		t.Errorf("the metrics do not count it:\n%s", m)
	}
	byName := map[string]tracetest.SpanStub{}
	for _, sp := range kept.GetSpans() {
		byName[sp.Name] = sp
	}
	chat, call := byName["chat doubao"], byName["execute_tool long_text"]
	if a := attrs(chat); chat.Parent.SpanID() != call.SpanContext.SpanID() || !call.SpanContext.IsValid() || a["gen_ai.usage.input_tokens"] != "700" || a["gen_ai.response.model"] != "doubao-1-5-pro-250115" ||
		a["gen_ai.provider.name"] != "volcengine" || a["server.address"] != "ark.example" || a["gen_ai.conversation.id"] != "talk" {
		t.Errorf("%s within %s: %v", chat.Name, chat.Parent.SpanID(), a)
	}
	// Now 950 of 900 are used: what comes is refused before a model is asked.
	refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), usage.TokensPerDay, -1)
	set.Users["ann"] = ann(usage.Quota{TokensPerDay: 1010})
	if err := s.daemon.Configure(set); err != nil {
		t.Fatal(err)
	}
	// The next question's first reply takes the rest, and the result is cut instead.
	kept.Reset()
	if r := ask(); r.Summarized || r.Shown == 0 || r.Shown >= r.Produced {
		t.Errorf("%+v", r)
	}
	if end.Asides != nil || end.Usage.Prompt != 60 { // by the first reply
		t.Errorf("%+v %+v", end.Usage, end.Asides)
	}
	if n := len(shortener.Requests()); n != 1 {
		t.Errorf("%d summaries were asked for", n)
	}
	for _, sp := range kept.GetSpans() {
		if sp.Name == "chat doubao" && (sp.Status.Code != codes.Error || attrs(sp)["error.type"] != api.CodeQuota) {
			t.Errorf("a refused summary: %v %v", sp.Status, attrs(sp))
		}
	}
}
