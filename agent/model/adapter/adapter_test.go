package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/adapter"
	"github.com/weirhost/weir/agent/model/openai"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/agent/passthrough/textcalls"
	"github.com/weirhost/weir/sdk/tool"
)

// pass sends a body, and returns the chunks and what was told to have changed.
func pass(t *testing.T, m passthrough.Model, body string) (chunks []passthrough.Chunk, answer passthrough.Answer, told []string, failed error) {
	t.Helper()
	r := passthrough.Request{Body: json.RawMessage(body), Window: 4096, Locale: tool.Zh, Changed: func(s tool.Text) { told = append(told, s.String()) }}
	for c, err := range m.Pass(context.Background(), r) {
		failed = errors.Join(failed, err)
		chunks = append(chunks, c)
		answer.Add(c.Data)
	}
	return chunks, answer, told, failed
}

func TestWhatBecomesOfARequest(t *testing.T) {
	m := replay.New(replay.Text("Four."))
	_, _, told, err := pass(t, adapter.Of(m, "m"), `{"messages":[
		{"role":"system","content":"A"},{"role":"developer","content":[{"type":"text","text":"B"}]},
		{"role":"user","content":[{"type":"text","text":"q1"},{"type":"text","text":"q2"}]},{"role":"user","content":"q3","name":"n"},
		{"role":"assistant","content":"I look.","reasoning_content":"Hm.","tool_calls":[{"id":"a","type":"function","function":{"name":"get","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"put","arguments":"{\"cut"}}]},
		{"role":"tool","tool_call_id":"a","content":"one"},{"role":"tool","tool_call_id":"b","content":"two"},{"role":"system","content":"C"}],
		"tools":[{"type":"function","function":{"name":"get","description":"Gets.\nIt.","parameters":{"type":"object"},"strict":true}}],
		"tool_choice":{"type":"function","function":{"name":"get"}},"parallel_tool_calls":false,"temperature":0.5,"seed":7,"stop":"x","max_completion_tokens":9,"reasoning_effort":"low","top_k":3,
		"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"type":"object"},"strict":true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Request{
		System: "A\n\nB",
		Messages: []agent.ChatMessage{
			{Role: "user", Text: "q1\nq2\n\nq3"},
			{Role: "assistant", Text: "I look.", Reasoning: "Hm.", Calls: []tool.Call{{ID: "a", Tool: "get", Args: json.RawMessage(`{"x":1}`)}, {ID: "b", Tool: "put", Args: json.RawMessage(`{"_malformed":"{\"cut"}`)}}},
			{Role: "tool", Text: "one", CallID: "a", Tool: "get"}, {Role: "tool", Text: "two", CallID: "b", Tool: "put"}, {Role: "user", Text: "C"},
		},
		Tools:    []tool.Spec{{Name: "get", Description: "Gets.\nIt.", Params: json.RawMessage(`{"type":"object"}`)}},
		Choice:   agent.Choice{Must: true, Tool: "get"},
		OneCall:  true,
		Sampling: agent.Sampling{Temperature: new(0.5), Seed: new(int64(7)), Effort: "low"},
		Stop:     []string{"x"}, MaxTokens: 9, Window: 4096, Locale: tool.Zh,
		Format: &agent.Format{Name: "f", Schema: json.RawMessage(`{"type":"object"}`), Strict: true},
	}
	if diff := cmp.Diff(want, m.Requests()[0]); diff != "" {
		t.Error(diff)
	}
	all := strings.Join(told, "\n")
	for _, s := range []string{"system message inside", "_malformed", "messages[].name", "tools[].strict", "top_k"} {
		if !strings.Contains(all, s) {
			t.Errorf("%q was not told: %q", s, told)
		}
	}
}

func TestTheAnswer(t *testing.T) {
	script := replay.Reply{Reasoning: "Hm.", Text: "I look.", Chunk: 2, Calls: []tool.Call{{ID: "a", Tool: "get", Args: json.RawMessage(`{"x":1}`)}}, Usage: &agent.Usage{Prompt: 9, Completion: 3}}
	for _, stream := range []string{"true", "false"} {
		chunks, answer, _, err := pass(t, adapter.Of(replay.New(script), "m"), `{"messages":[{"role":"user","content":"q"}],"stream":`+stream+`,"stream_options":{"include_usage":true}}`)
		calls := answer.Calls()
		if err != nil || answer.Text() != "I look." || answer.Reasoning() != "Hm." || len(calls) != 1 || calls[0].ID != "a" || calls[0].Function.Arguments != `{"x":1}` {
			t.Errorf("stream %s: %v %s", stream, err, answer.Message())
		}
		last := chunks[len(chunks)-1]
		if last.Finish != agent.FinishCalls || last.Usage.Prompt != 9 || !strings.Contains(string(last.Data), `"prompt_tokens":9`) || (stream == "false") != (len(chunks) == 1) {
			t.Errorf("stream %s: %d chunks, the last %+v %s", stream, len(chunks), last, last.Data)
		}
	}
}

func TestErrors(t *testing.T) {
	const q = `{"messages":[{"role":"user","content":"q"}]}`
	for _, r := range []struct {
		why, body string
		m         agent.Model
		code      agent.ModelCode
	}{
		{"a picture", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]}`, replay.New(replay.Text("x")), agent.ModelBadRequest},
		{"no messages", `{"messages":1}`, replay.New(replay.Text("x")), agent.ModelBadRequest},
		{"a cut reply", q, replay.New(replay.Reply{Text: "x", Cut: true}), agent.ModelCut},
		{"the model's own", q, replay.New(), agent.ModelGarbage},
	} {
		if _, _, _, err := pass(t, adapter.Of(r.m, "m"), r.body); !agent.IsModelCode(err, r.code) {
			t.Errorf("%s: %v", r.why, err)
		}
	}
}

// A model that passes requests through itself is used as it is.
func TestOfAModelThatCan(t *testing.T) {
	own, err := openai.New(openai.Config{Config: model.Config{Name: "m", Model: "m", BaseURL: "http://127.0.0.1:1/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := adapter.Of(own, "m"); got != passthrough.Model(own) {
		t.Errorf("%T", got)
	}
}

// With textcalls in front, a model that can only generate text serves a client's tools.
func TestTextCallsInFront(t *testing.T) {
	m := replay.New(replay.Call("get", `{"x":1}`))
	_, answer, _, err := pass(t, textcalls.New(adapter.Of(m, "m"), textcalls.Options{}), `{"messages":[{"role":"user","content":"q"}],"stream":true,"tools":[{"type":"function","function":{"name":"get","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}}]}`)
	if calls := answer.Calls(); err != nil || answer.Text() != "" || len(calls) != 1 || calls[0].Function != (passthrough.Function{Name: "get", Arguments: `{"x":1}`}) {
		t.Errorf("%v %s", err, answer.Message())
	}
	if sent := m.Requests()[0]; len(sent.Tools) != 0 || !strings.Contains(sent.System, "## get\n") {
		t.Errorf("%+v", sent)
	}
}
