package daemon

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/sdk/tool"
)

// tracedServer is a server whose spans are kept in memory.
func tracedServer(t *testing.T, content bool, replies ...replay.Reply) (*server, *tracetest.InMemoryExporter) {
	t.Helper()
	s := newServer(t, replay.New(replies...))
	kept := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(kept))
	set := s.daemon.current.State().Config
	m := set.Models["scripted"]
	m.Info, m.Server = agent.ModelInfo{Provider: "ark", Model: "doubao"}, "ark.example:443"
	set.Models["scripted"] = m
	set.Tracing = telemetry.Tracing{Tracer: p.Tracer("test"), Content: content}
	if err := s.daemon.Configure(set); err != nil {
		t.Fatal(err)
	}
	return s, kept
}

// attrs are a span's attributes as text.
func attrs(s tracetest.SpanStub) map[attribute.Key]string {
	out := map[attribute.Key]string{}
	for _, a := range s.Attributes {
		out[a.Key] = a.Value.String()
	}
	return out
}

const (
	otherTrace = "0af7651916cd43dd8448eb211c80319c"
	otherSpan  = "b7ad6b7169203331"
	parent     = "00-" + otherTrace + "-" + otherSpan + "-01"
)

// asked is a question within another program's trace.
func (s *server) asked(path, body string) answer {
	s.Helper()
	return s.do("POST", path, body, func(r *http.Request) {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Traceparent", parent)
	})
}

// A turn is one trace: the agent's span, below it those of the model and the
// tools, and above it the caller's.
func TestSpansOfATurn(t *testing.T) {
	s, kept := tracedServer(t, false,
		replay.Reply{Text: longCall, Usage: &agent.Usage{Prompt: 100, Completion: 10}},
		replay.Call("calculator", `{"expresion":"1"}`),
		replay.Reply{Text: "Done: geheim.", Model: "doubao-1-5-pro-250115", Usage: &agent.Usage{Prompt: 1000, Completion: 20, CachedPrompt: 600}},
	)
	s.asked("/api/chat", `{"message":"geheim","conversation_id":"talk"}`)
	spans := kept.GetSpans()
	byName := map[string][]tracetest.SpanStub{}
	for _, sp := range spans {
		byName[sp.Name] = append(byName[sp.Name], sp)
		if sp.SpanContext.TraceID().String() != otherTrace {
			t.Errorf("%s is of another trace", sp.Name)
		}
		for key, v := range attrs(sp) {
			if strings.Contains(v, "geheim") || strings.Contains(v, "expresion") {
				t.Errorf("%s tells what was said: %s", sp.Name, key)
			}
		}
	}
	if len(spans) != 6 || len(byName["invoke_agent default"]) != 1 || len(byName["chat doubao"]) != 3 || len(byName["execute_tool long_text"]) != 1 || len(byName["execute_tool calculator"]) != 1 {
		t.Fatalf("%d spans: %v", len(spans), byName)
	}
	root := byName["invoke_agent default"][0]
	if root.Parent.SpanID().String() != otherSpan || root.SpanKind != trace.SpanKindInternal || root.Status.Code != codes.Unset {
		t.Errorf("%+v", root)
	}
	for _, sp := range spans {
		if sp.Name != root.Name && sp.Parent.SpanID() != root.SpanContext.SpanID() {
			t.Errorf("%s is not the turn's", sp.Name)
		}
		if sp.StartTime.Before(root.StartTime) || sp.EndTime.After(root.EndTime) {
			t.Errorf("%s is outside the turn", sp.Name)
		}
	}
	want := func(sp tracetest.SpanStub, values map[attribute.Key]string) {
		t.Helper()
		got := attrs(sp)
		for key, v := range values {
			if got[key] != v {
				t.Errorf("%s: %s is %q, want %q", sp.Name, key, got[key], v)
			}
		}
	}
	want(root, map[attribute.Key]string{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "volcengine", "gen_ai.agent.name": "default", "gen_ai.conversation.id": "talk",
		"gen_ai.request.model": "doubao", "gen_ai.usage.input_tokens": "1100", "gen_ai.usage.output_tokens": "30", "gen_ai.usage.cache_read.input_tokens": "600",
		"weir.turn": "1", "weir.mode": "prompt", "weir.reason": "answer", "weir.rounds": "3", "weir.output.produced_characters": "52000",
	})
	last := byName["chat doubao"][2]
	want(last, map[attribute.Key]string{
		"gen_ai.operation.name": "chat", "gen_ai.response.model": "doubao-1-5-pro-250115", "gen_ai.response.finish_reasons": `["stop"]`, "gen_ai.usage.input_tokens": "1000",
		"server.address": "ark.example", "server.port": "443",
	})
	if last.SpanKind != trace.SpanKindClient {
		t.Errorf("kind %v", last.SpanKind)
	}
	long := byName["execute_tool long_text"][0]
	want(long, map[attribute.Key]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "long_text", "gen_ai.tool.type": "extension", "weir.call.format": "tool_call",
		"weir.output.produced_characters": "52000", "weir.output.limit_by": "agent", "weir.output.limit": "4000", "weir.output.limit_unit": "characters",
	})
	if a := attrs(long); a["weir.archive.id"] == "" || a["gen_ai.tool.call.id"] == "" || a["weir.instance_seconds"] == "" {
		t.Errorf("%v", a)
	}
	bad := byName["execute_tool calculator"][0]
	if bad.Status.Code != codes.Error {
		t.Errorf("a refused call: %v", bad.Status)
	}
	want(bad, map[attribute.Key]string{"error.type": "bad_args"})
}

// With Content, the spans contain questions and answers, in the form of the conventions.
func TestSpansWithContent(t *testing.T) {
	s, kept := tracedServer(t, true, replay.Call("calculator", `{"expression":"6*7"}`), replay.Text("It is 42."))
	s.post("/api/chat", `{"message":"Six by seven?"}`)
	for _, sp := range kept.GetSpans() {
		a := attrs(sp)
		for _, key := range []attribute.Key{"gen_ai.input.messages", "gen_ai.output.messages"} {
			var all []struct{ Parts []struct{ Type string } }
			if !strings.HasPrefix(sp.Name, "execute_tool") && (json.Unmarshal([]byte(a[key]), &all) != nil || len(all) == 0 || len(all[0].Parts) == 0 || all[0].Parts[0].Type == "") {
				t.Errorf("%s: %s is %q", sp.Name, key, a[key])
			}
		}
		switch {
		case strings.HasPrefix(sp.Name, "invoke_agent") && (!strings.Contains(a["gen_ai.input.messages"], "Six by seven?") || !strings.Contains(a["gen_ai.output.messages"], "It is 42.")),
			strings.HasPrefix(sp.Name, "execute_tool") && (!strings.Contains(a["gen_ai.tool.call.arguments"], "6*7") || !strings.Contains(a["gen_ai.tool.call.result"], "42")),
			strings.HasPrefix(sp.Name, "chat") && !strings.Contains(a["gen_ai.system_instructions"], "calculator"):
			t.Errorf("%s: %v", sp.Name, a)
		}
	}
}

// The span of a failing provider has the class of the error and none of its text.
func TestSpansOfAFailure(t *testing.T) {
	s, kept := tracedServer(t, false, replay.Reply{Err: &agent.ModelError{Code: agent.ModelAuth, Model: "scripted", Msg: "geheim"}})
	s.post("/api/chat", `{"message":"hello"}`)
	spans := kept.GetSpans()
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	for _, sp := range spans {
		if a := attrs(sp); sp.Status.Code != codes.Error || sp.Status.Description != "" || a["error.type"] != "auth" {
			t.Errorf("%s: %v %v", sp.Name, sp.Status, a)
		}
	}
}

// Calls that are no turn's have spans too; names that somebody makes up are in
// the name of none.
func TestSpansOfCalls(t *testing.T) {
	s, kept := tracedServer(t, false)
	s.asked("/api/tools/calculator/call", `{"arguments":{"expression":"1+1"}}`)
	if spans := kept.GetSpans(); len(spans) != 1 || spans[0].Name != "execute_tool calculator" || spans[0].Parent.SpanID().String() != otherSpan {
		t.Errorf("a person's call: %+v", spans)
	}
	for _, version := range []string{"", "2025-11-25"} {
		kept.Reset()
		session := s.mcp(version)
		for _, meta := range []mcp.Meta{{"traceparent": parent}, {"traceparent": parent, "progressToken": 1}, nil} { // past the SDK, through it, without a trace
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: "calculator", Arguments: map[string]any{"expression": "1+1"}}); err != nil {
				t.Fatal(err)
			}
		}
		spans := kept.GetSpans()
		if len(spans) != 3 {
			t.Fatalf("%d spans", len(spans))
		}
		for i, sp := range spans {
			if sp.Name != "tools/call calculator" || sp.SpanKind != trace.SpanKindServer || attrs(sp)["mcp.method.name"] != "tools/call" || (i < 2) != (sp.Parent.SpanID().String() == otherSpan) {
				t.Errorf("%q %d: %+v", version, i, sp)
			}
		}
	}
	kept.Reset()
	_, end := (&tools{current: s.daemon.current, known: s.daemon.knows}).startCall(t.Context(), tool.Call{ID: "1", Tool: "made_up_name"})
	end(tool.Result{Err: &tool.Error{Code: tool.UnknownTool}}, api.ToolCallResult{}, nil)
	if spans := kept.GetSpans(); spans[0].Name != "execute_tool" {
		t.Errorf("%q", spans[0].Name)
	}
}

// The calls of a script are spans below the script's own, whoever runs it.
func TestSpansOfScripts(t *testing.T) {
	s, kept := tracedServer(t, false)
	const code = "return (await Promise.all([tools.calculator({expression: '1+1'}), tools.calculator({expression: '2+2'})])).join()"
	for name, run := range map[string]func(){
		"execute_tool run_script": func() {
			if a := s.asked("/api/scripts", `{"source":"`+code+`"}`); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
		},
		"tools/call run_script": func() {
			meta := mcp.Meta{"traceparent": parent}
			if r, err := s.mcp("2025-11-25").CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: tool.RunScript, Arguments: map[string]any{"code": code}}); err != nil || r.IsError {
				t.Fatal(r, err)
			}
		},
	} {
		kept.Reset()
		run()
		spans := kept.GetSpans()
		if len(spans) != 3 || spans[2].Name != name || spans[2].Parent.SpanID().String() != otherSpan {
			t.Errorf("%s: %d spans: %+v", name, len(spans), spans)
			continue
		}
		for _, sp := range spans[:2] {
			if sp.Name != "execute_tool calculator" || sp.Parent.SpanID() != spans[2].SpanContext.SpanID() || attrs(sp)["weir.archive.id"] == "" {
				t.Errorf("%s: %+v", name, sp)
			}
		}
	}
}

// Without a Tracer no trace is taken up, and a new one holds from the next turn.
func TestSpansAreExchanged(t *testing.T) {
	s, kept := tracedServer(t, false, replay.Text("one"), replay.Text("two"), replay.Text("three"))
	s.post("/api/chat", `{"message":"1"}`)
	set := s.daemon.current.State().Config
	on := set.Tracing
	set.Tracing = telemetry.Tracing{}
	if err := s.daemon.Configure(set); err != nil {
		t.Fatal(err)
	}
	s.asked("/api/chat", `{"message":"2"}`)
	if n := len(kept.GetSpans()); n != 2 {
		t.Errorf("%d spans", n)
	}
	set.Tracing = on
	if err := s.daemon.Configure(set); err != nil {
		t.Fatal(err)
	}
	s.post("/api/chat", `{"message":"3"}`)
	names := []string{}
	for _, sp := range kept.GetSpans() {
		names = append(names, sp.Name)
	}
	if !slices.Equal(names, []string{"chat doubao", "invoke_agent default", "chat doubao", "invoke_agent default"}) {
		t.Errorf("%v", names)
	}
}
