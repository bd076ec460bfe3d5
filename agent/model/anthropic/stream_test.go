package anthropic

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/sdk/tool"
)

// twoCalls is a reply as the API streams it: a thought, text, then two calls in pieces.
var twoCalls = streamed([]string{start, ping}, thinks(0, "Which file? 想一想。", "c2lnbmVk"), says(1, "I look. 我看看。"),
	calls(2, "toolu_a", "grep_search", "", `{"pattern":`, `"Err"}`), calls(3, "toolu_b", "clock"), []string{end("tool_use"), stop})

var (
	full    = &agent.Usage{Prompt: 142, Completion: 42, CachedPrompt: 100, CacheWrite: 30}
	wantTwo = []tool.Call{modeltest.Call("toolu_a", "grep_search", `{"pattern":"Err"}`), modeltest.Call("toolu_b", "clock", `{}`)}
)

func TestStreams(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       modeltest.Reply
	}{
		{"plain", streamed([]string{start}, says(0, "Hello"), []string{end("end_turn"), stop}), modeltest.Reply{Text: "Hello", Finish: "stop", Usage: full}},
		{"CRLF line ends", strings.ReplaceAll(streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop}), "\n", "\r\n"), modeltest.Reply{Text: "Hi", Finish: "stop", Usage: full}},
		{"no message_stop", streamed([]string{start}, says(0, "Hi"), []string{end("stop_sequence")}), modeltest.Reply{Text: "Hi", Finish: "stop", Usage: full}},
		{"thought, text and calls", twoCalls, modeltest.Reply{Reasoning: "Which file? 想一想。", Text: "I look. 我看看。", Calls: wantTwo, Finish: "tool_calls", Usage: full}},
		{"a hidden thought", streamed([]string{start, begin(0, `{"type":"redacted_thinking","data":"xx"}`), closed(0)}, says(1, "Hi"), []string{end("end_turn"), stop}),
			modeltest.Reply{Text: "Hi", Finish: "stop", Usage: full}},
		{"arguments given at once", streamed([]string{start, begin(0, `{"type":"tool_use","id":"a","name":"clock","input":{"z":1}}`), closed(0), end("tool_use"), stop}),
			modeltest.Reply{Calls: []tool.Call{modeltest.Call("a", "clock", `{"z":1}`)}, Finish: "tool_calls", Usage: full}},
		{"the limit drops the call it cut, not the one before", streamed([]string{start}, calls(0, "a", "clock"), calls(1, "b", "clock", "{}"), []string{end("max_tokens"), stop}),
			modeltest.Reply{Calls: []tool.Call{modeltest.Call("a", "clock", `{}`)}, Finish: "length", Usage: full}},
		{"the window is full", streamed([]string{start}, says(0, "Hel"), []string{end("model_context_window_exceeded"), stop}), modeltest.Reply{Text: "Hel", Finish: "length", Usage: full}},
		{"says calls and has none", streamed([]string{start}, says(0, "x"), []string{end("tool_use"), stop}), modeltest.Reply{Text: "x", Finish: "stop", Usage: full}},
		{"an unknown end and an unknown event", streamed([]string{start, `{"type":"weather","sky":"blue"}`}, says(0, "x"), []string{end("tired"), stop}), modeltest.Reply{Text: "x", Finish: "stop", Usage: full}},
		{"a failure behind the end changes nothing", streamed([]string{start}, says(0, "x"), []string{end("end_turn"), `{"type":"error","error":{"type":"api_error","message":"late"}}`}),
			modeltest.Reply{Text: "x", Finish: "stop", Usage: full}},
		{"no usage", streamed(says(0, "x"), []string{`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, stop}), modeltest.Reply{Text: "x", Finish: "stop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := modeltest.Ask(t.Context(), serve(t, modeltest.SSE(c.body)), modeltest.Hello())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(modeltest.Reply{}, "Sealed", "Deltas")); d != "" {
				t.Errorf("reply (-want +got):\n%s", d)
			}
		})
	}
}

func TestServerThatDoesNotStream(t *testing.T) {
	m := serve(t, modeltest.Say("application/json", `{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Hi"},`+
		`{"type":"tool_use","id":"a","name":"clock","input":{"z":1,"a":2}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`))
	got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
	want := modeltest.Reply{Text: "Hi", Reasoning: "hm", Calls: []tool.Call{modeltest.Call("a", "clock", `{"z":1,"a":2}`)}, Usage: &agent.Usage{Prompt: 3, Completion: 4}, Finish: "tool_calls"}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(modeltest.Reply{}, "Sealed", "Deltas")); d != "" || err != nil {
		t.Errorf("%v; reply (-want +got):\n%s", err, d)
	}
}

// FuzzStream: whatever a server sends, the sequence ends, with exactly one of
// an error and a finish, and no call comes before the finish is sure.
func FuzzStream(f *testing.F) {
	f.Add(twoCalls)
	f.Add(events(start, begin(0, `{"type":"tool_use","id":"a","name":"b","input":[1]}`), grow(7, "text_delta", "text", "x")))
	f.Add("data: {\"type\":\"content_block_delta\",\"index\":-1,\"delta\":null}\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		m, err := New(Config{Model: "m", Retries: -1, BaseURL: "http://x.invalid", HTTP: &http.Client{Transport: modeltest.Canned(body)}})
		if err != nil {
			t.Fatal(err)
		}
		modeltest.Ends(t, m)
	})
}

// A reply is bounded while it is read, as one of OpenAI's API is.
func TestRepliesAreBounded(t *testing.T) {
	made := func(c http.RoundTripper) (agent.Model, error) {
		return New(Config{Model: "m", RetryWait: time.Millisecond, BaseURL: "http://x.invalid", HTTP: &http.Client{Transport: c}})
	}
	long := strings.Repeat("y", 1<<16)
	head := events(start, begin(0, `{"type":"tool_use","id":"a","name":"r","input":{}}`), begin(1, `{"type":"thinking","thinking":"","signature":""}`))
	modeltest.Bounded(t, "text/event-stream", made, head, map[string]string{
		"arguments":  events(grow(0, "input_json_delta", "partial_json", long)),
		"signatures": events(grow(1, "signature_delta", "signature", long)),
		"empty":      events(grow(1, "thinking_delta", "thinking", "")),
		"pings":      events(ping),
		"values":     events(`{"type":"content_block_delta","index":0,"delta":{"type":"x","y":[` + strings.Repeat("{},", 500_000) + `{}]}}`),
	})
	var blocks strings.Builder
	for i := range 100_000 {
		blocks.WriteString(events(begin(i, `{"type":"redacted_thinking","data":"x"}`)))
	}
	modeltest.Bounded(t, "text/event-stream", made, events(start), map[string]string{"blocks": blocks.String()})
}
