package anthropic

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/sdk/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

func specs() []tool.Spec {
	return []tool.Spec{
		{Name: "grep_search", Description: "Search", DescriptionZh: "搜索", Params: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`)},
		{Name: "clock", Description: "Time"},
	}
}

func TestRequestOnTheWire(t *testing.T) {
	var got []byte
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		modeltest.SSE(streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop}))(w, r)
	}, func(c *Config) { c.Extra = map[string]any{"temperature": 0.2, "max_tokens": 999} })
	_, err := modeltest.Ask(t.Context(), m, agent.Request{
		System: "You help. <b>&", Stop: []string{"</tool_call>"}, Locale: tool.Zh, Tools: specs(), NoCalls: true,
		Messages: []agent.ChatMessage{
			{Role: "user", Text: "where?"},
			{Role: "assistant"}, // says nothing: left out
			{Role: "assistant", Text: " ", Calls: []tool.Call{modeltest.Call("a", "grep_search", `{"pattern":"x"}`), modeltest.Call("b", "clock", `{broken`), modeltest.Call("c", "clock", `null`)}},
			{Role: "tool", CallID: "a", Tool: "grep_search", Text: "found"},
			{Role: "tool", CallID: "b", Tool: "clock", Text: ""},
			{Role: "tool", CallID: "c", Tool: "clock", Text: "noon"},
			{Role: "user", Text: "Answer now."},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	b.WriteByte('\n')
	path := filepath.Join("testdata", "request.json")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("request (-want +got):\n%s", d)
	}
	if z, a := bytes.Index(got, []byte(`"z":{`)), bytes.Index(got, []byte(`"a":{`)); z < 0 || a < z {
		t.Errorf("the schema lost the order of its properties: %s", got)
	}
}

// What a turn's next request begins with is what the last one ended with, byte
// for byte, and the marks of the cache are at that end.
func TestRequestsGrowAtTheirEnd(t *testing.T) {
	m, err := New(Config{Model: "m", Extra: map[string]any{"max_tokens": 100}})
	if err != nil {
		t.Fatal(err)
	}
	r := agent.Request{System: "s", Tools: specs(), Messages: []agent.ChatMessage{{Role: "user", Text: "q"}}}
	var before string
	const mark = `,"cache_control":{"type":"ephemeral"}`
	for round := range 3 {
		raw, err := json.Marshal(m.body(r, toolschema.Anthropic().Declare(r.Tools, r.Locale), shown{}, false))
		if err != nil {
			t.Fatal(err)
		}
		marks := strings.Count(string(raw), mark)
		if want := min(round+2, 3); marks != want {
			t.Errorf("round %d: %d marks, want %d: %s", round, marks, want, raw)
		}
		var body struct{ System, Tools, Messages json.RawMessage }
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), mark, "")), &body); err != nil {
			t.Fatal(err)
		}
		all := string(body.Tools) + string(body.System) + strings.TrimSuffix(string(body.Messages), "]")
		if !strings.HasPrefix(all, before) {
			t.Errorf("round %d begins otherwise:\n%s\n%s", round, before, all)
		}
		before = all
		id := string(rune('a' + round))
		r.Messages = append(r.Messages, agent.ChatMessage{Role: "assistant", Calls: []tool.Call{modeltest.Call(id, "clock", "{}")}},
			agent.ChatMessage{Role: "tool", CallID: id, Tool: "clock", Text: "noon"})
	}
}

// A reply with thoughts goes back as it came, signatures and order included,
// as long as its calls are the same.
func TestThoughtsGoBack(t *testing.T) {
	var got []byte
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		modeltest.SSE(twoCalls)(w, r)
	})
	first, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
	if err != nil || first.Sealed == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	messages := func(calls []tool.Call) string {
		r := modeltest.Hello()
		r.Messages = append(r.Messages, agent.ChatMessage{Role: "assistant", Text: "I look. 我看看。", Calls: calls, Sealed: json.RawMessage(first.Sealed)})
		for _, c := range calls {
			r.Messages = append(r.Messages, agent.ChatMessage{Role: "tool", CallID: c.ID, Text: "x"})
		}
		if _, err := modeltest.Ask(t.Context(), m, r); err != nil {
			t.Fatal(err)
		}
		var body struct {
			Messages []struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(got, &body); err != nil {
			t.Fatal(err)
		}
		return string(body.Messages[1].Content)
	}
	want := `[{"signature":"c2lnbmVk","thinking":"Which file? 想一想。","type":"thinking"},{"text":"I look. 我看看。","type":"text"},` +
		`{"id":"toolu_a","input":{"pattern":"Err"},"name":"grep_search","type":"tool_use"},{"id":"toolu_b","input":{},"name":"clock","type":"tool_use"}]`
	if got := messages(first.Calls); got != want {
		t.Errorf("went back as\n%s; want\n%s", got, want)
	}
	if got := messages([]tool.Call{modeltest.Call("call_001", "clock", "{}")}); strings.Contains(got, "thinking") {
		t.Errorf("thoughts went back with other calls: %s", got)
	}
}

// Calls without thoughts, which a server that is to think refuses, are asked
// about without thinking.
func TestCallsWithoutThoughts(t *testing.T) {
	var bodies []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(raw))
		if strings.Contains(string(raw), `"thinking":{`) {
			modeltest.Fail(400, problem("invalid_request_error", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."))(w, r)
			return
		}
		modeltest.SSE(streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop}))(w, r)
	}, func(c *Config) {
		c.Extra = map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 2000}}
	})
	if got, err := modeltest.Ask(t.Context(), m, modeltest.Hello()); err != nil || got.Text != "Hi" || len(bodies) != 2 {
		t.Errorf("%+v, %v after %d requests", got, err, len(bodies))
	}
}

// The options of a request are sent in the API's terms and have precedence over what
// the operator configured, and not at all where the model is not known to take it.
func TestOptions(t *testing.T) {
	var can shown
	can.Capabilities.Effort.Supported, can.Capabilities.Schemas.Supported = true, true
	half, two, top := 0.5, 2.0, 0.9
	schema := &agent.Format{Schema: json.RawMessage(`{"type":"object"}`), Strict: true}
	for _, c := range []struct {
		name  string
		about shown
		extra map[string]any
		req   agent.Request
		want  map[string]string
	}{
		{"temperature before top_p", can, map[string]any{"temperature": 0.2}, agent.Request{Sampling: agent.Sampling{Temperature: &half, TopP: &top}}, map[string]string{"temperature": "0.5", "top_p": ""}},
		{"temperatures of others", can, nil, agent.Request{Sampling: agent.Sampling{Temperature: &two}}, map[string]string{"temperature": "1"}},
		{"top_p alone", can, nil, agent.Request{Sampling: agent.Sampling{TopP: &top}}, map[string]string{"top_p": "0.9"}},
		{"none while it thinks", can, map[string]any{"thinking": map[string]any{"type": "adaptive"}}, agent.Request{Sampling: agent.Sampling{Temperature: &half}}, map[string]string{"temperature": ""}},
		{"effort and schema", can, nil, agent.Request{Sampling: agent.Sampling{Effort: "minimal"}, Format: schema}, map[string]string{"output_config": `{"effort":"low","format":{"schema":{"type":"object"},"type":"json_schema"}}`}},
		{"not known to take them", shown{}, nil, agent.Request{Sampling: agent.Sampling{Effort: "low"}, Format: schema}, map[string]string{"output_config": ""}},
		{"any call, one at most", can, nil, agent.Request{Tools: specs(), Choice: agent.Choice{Must: true}, OneCall: true}, map[string]string{"tool_choice": `{"disable_parallel_tool_use":true,"type":"any"}`}},
		{"one tool", can, nil, agent.Request{Tools: specs(), Choice: agent.Choice{Must: true, Tool: "clock"}}, map[string]string{"tool_choice": `{"name":"clock","type":"tool"}`}},
		{"one call at most", can, nil, agent.Request{Tools: specs(), OneCall: true}, map[string]string{"tool_choice": `{"disable_parallel_tool_use":true,"type":"auto"}`}},
		{"without tools there is no choice", can, nil, agent.Request{Choice: agent.Choice{Must: true}, OneCall: true}, map[string]string{"tool_choice": ""}},
		{"a bound of its own", can, map[string]any{"max_tokens": 999}, agent.Request{MaxTokens: 7}, map[string]string{"max_tokens": "7"}},
	} {
		m, err := New(Config{Model: "m", Extra: c.extra})
		if err != nil {
			t.Fatal(err)
		}
		c.req.Messages = modeltest.Hello().Messages
		raw, err := json.Marshal(m.body(c.req, toolschema.Anthropic().Declare(c.req.Tools, c.req.Locale), c.about, false))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		for name, want := range c.want {
			if string(got[name]) != want {
				t.Errorf("%s: %s is %s, want %s", c.name, name, got[name], want)
			}
		}
	}
}

func TestToolsStay(t *testing.T) {
	call := streamed([]string{start}, calls(0, "a", "clock", "{}"), []string{end("tool_use"), stop})
	modeltest.ToolsStay(t, func(h http.HandlerFunc) agent.Model { return serve(t, h) },
		modeltest.SSE(call), modeltest.SSE(streamed([]string{start}, says(0, "Noon."), []string{end("end_turn"), stop})))
}
