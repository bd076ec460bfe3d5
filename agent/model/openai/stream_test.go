package openai

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/sdk/tool"
)

func calls(parts string) string {
	return `{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[` + parts + `]},"finish_reason":null}]}`
}

// twoCalls is a reply as OpenAI and vLLM stream it: text, then two calls in pieces.
var twoCalls = events(
	`{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
	delta("content", "I look. 我看看。"),
	calls(`{"index":0,"id":"call_a","type":"function","function":{"name":"grep_search","arguments":""}}`),
	calls(`{"index":0,"function":{"arguments":"{\"pattern\":"}}`),
	calls(`{"index":0,"function":{"arguments":"\"Err\"}"}}`),
	calls(`{"index":1,"id":"call_b","type":"function","function":{"name":"calculator","arguments":"{\"expression\":\"1+1\"}"}}`),
	finish("tool_calls"), usageEvent, done,
)

// twoCallsOnly are its calls.
var twoCallsOnly = events(
	calls(`{"index":0,"id":"call_a","type":"function","function":{"name":"grep_search","arguments":"{\"pattern\":\"Err\"}"}}`),
	calls(`{"index":1,"id":"call_b","type":"function","function":{"name":"calculator","arguments":"{\"expression\":\"1+1\"}"}}`),
)

var wantTwo = []tool.Call{modeltest.Call("call_a", "grep_search", `{"pattern":"Err"}`), modeltest.Call("call_b", "calculator", `{"expression":"1+1"}`)}

func TestStreams(t *testing.T) {
	full := &agent.Usage{Prompt: 12, Completion: 5, CachedPrompt: 8}
	long := strings.Repeat("水", 400_000) // 1.2 MB in one line
	for _, c := range []struct {
		name, body string
		want       modeltest.Reply
	}{
		{"plain", events(delta("content", "Hel"), delta("content", "lo"), finish("stop"), usageEvent, done),
			modeltest.Reply{Text: "Hello", Finish: "stop", Usage: full}},
		{"CRLF line ends", strings.ReplaceAll(events(delta("content", "Hi"), finish("stop"), usageEvent, done), "\n", "\r\n"),
			modeltest.Reply{Text: "Hi", Finish: "stop", Usage: full}},
		{"no [DONE]", events(delta("content", "Hi"), finish("stop")), modeltest.Reply{Text: "Hi", Finish: "stop"}},
		{"[DONE] without its empty line", events(delta("content", "Hi"), finish("stop")) + "data: [DONE]", modeltest.Reply{Text: "Hi", Finish: "stop"}},
		{"comments keep the line open", ": ping\n\n" + events(delta("content", "Hi")) + ": ping\n\n" + events(finish("stop"), done),
			modeltest.Reply{Text: "Hi", Finish: "stop"}},
		{"DeepSeek and Ark thought", events(delta("reasoning_content", "hm "), delta("reasoning_content", "ok"), delta("content", "42"), finish("stop"), done),
			modeltest.Reply{Reasoning: "hm ok", Text: "42", Finish: "stop"}},
		{"vLLM and OpenRouter thought", events(delta("reasoning", "hm"), delta("content", "42"), finish("stop"), done),
			modeltest.Reply{Reasoning: "hm", Text: "42", Finish: "stop"}},
		{"both names for one thought", events(`{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`, finish("stop")),
			modeltest.Reply{Reasoning: "hm", Finish: "stop"}},
		{"DeepSeek's cache count", events(delta("content", "x"), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":4}}`, done),
			modeltest.Reply{Text: "x", Finish: "stop", Usage: &agent.Usage{Prompt: 9, Completion: 1, CachedPrompt: 4}}},
		{"text between and after calls", events(delta("content", "Before.")) + twoCallsOnly + events(delta("content", "\n"), delta("content", "Af"), delta("content", "ter."), finish("tool_calls"), done),
			modeltest.Reply{Text: "Before.\n\nAfter.", Calls: wantTwo, Finish: "tool_calls"}},
		{"cut by the limit", events(delta("content", "Hel"), finish("length"), done), modeltest.Reply{Text: "Hel", Finish: "length"}},
		{"calls in pieces", twoCalls, modeltest.Reply{Text: "I look. 我看看。", Calls: wantTwo, Finish: "tool_calls", Usage: full}},
		{"calls whole, every index 0", events(calls(`{"index":0,"id":"call_a","function":{"name":"grep_search","arguments":"{\"pattern\":\"Err\"}"}}`),
			calls(`{"index":0,"id":"call_b","function":{"name":"calculator","arguments":"{\"expression\":\"1+1\"}"}}`), finish("tool_calls"), done),
			modeltest.Reply{Calls: wantTwo, Finish: "tool_calls"}},
		{"calls whole, no index, end called stop", events(calls(`{"id":"call_a","function":{"name":"grep_search","arguments":{"pattern":"Err"}}},{"id":"call_b","function":{"name":"calculator","arguments":"{\"expression\":\"1+1\"}"}}`), finish("stop"), done),
			modeltest.Reply{Calls: wantTwo, Finish: "tool_calls"}},
		{"name and id repeated in every piece", events(calls(`{"index":0,"id":"call_a","function":{"name":"calculator","arguments":"{\"expression\":"}}`),
			calls(`{"index":0,"id":"call_a","function":{"name":"calculator","arguments":"\"2\"}"}}`), finish("tool_calls"), done),
			modeltest.Reply{Calls: []tool.Call{modeltest.Call("call_a", "calculator", `{"expression":"2"}`)}, Finish: "tool_calls"}},
		{"interleaved pieces", events(calls(`{"index":0,"id":"a","function":{"name":"calculator","arguments":"{"}},{"index":1,"id":"b","function":{"name":"calculator","arguments":"{"}}`),
			calls(`{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"}"}}`), finish("tool_calls"), done),
			modeltest.Reply{Calls: []tool.Call{modeltest.Call("a", "calculator", "{}"), modeltest.Call("b", "calculator", "{}")}, Finish: "tool_calls"}},
		{"a call without arguments", events(calls(`{"index":0,"id":"a","function":{"name":"clock"}}`), finish("tool_calls"), done),
			modeltest.Reply{Calls: []tool.Call{modeltest.Call("a", "clock", "{}")}, Finish: "tool_calls"}},
		{"the length limit drops the call it cut, not the one before", events(calls(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"clock","arguments":"{}"}}`), finish("length"), done),
			modeltest.Reply{Calls: []tool.Call{modeltest.Call("a", "clock", "{}")}, Finish: "length"}},
		{"says calls and has none", events(delta("content", "x"), finish("tool_calls"), done), modeltest.Reply{Text: "x", Finish: "stop"}},
		{"error: null is no error", events(`{"error":null,"choices":[{"delta":{"content":"x"}}]}`, finish("stop")), modeltest.Reply{Text: "x", Finish: "stop"}},
		{"a failure behind the finish changes nothing", events(delta("content", "x"), finish("stop"), `{"error":{"message":"too late"}}`), modeltest.Reply{Text: "x", Finish: "stop"}},
		{"a refusal is text", events(delta("refusal", "I will not."), finish("stop")), modeltest.Reply{Text: "I will not.", Finish: "stop"}},
		{"content as parts", events(`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`, finish("stop")), modeltest.Reply{Text: "ab", Finish: "stop"}},
		{"a second choice is not ours", events(delta("content", "x"), `{"choices":[{"index":1,"delta":{"content":"y"}}]}`, finish("stop")), modeltest.Reply{Text: "x", Finish: "stop"}},
		{"an unknown end is an end", events(delta("content", "x"), finish("eos")), modeltest.Reply{Text: "x", Finish: "stop"}},
		{"1.2 MB in one line", events(delta("content", long), finish("stop"), done), modeltest.Reply{Text: long, Finish: "stop"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := modeltest.Ask(t.Context(), serve(t, modeltest.SSE(c.body)), modeltest.Hello())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(modeltest.Reply{}, "Deltas")); d != "" {
				t.Errorf("reply (-want +got):\n%s", d)
			}
		})
	}
}

func TestMissingIDsAreMadeUp(t *testing.T) {
	body := events(calls(`{"function":{"name":"clock","arguments":"{}"}},{"function":{"name":"clock","arguments":"{}"}}`), finish("stop"), done)
	got, err := modeltest.Ask(t.Context(), serve(t, modeltest.SSE(body)), modeltest.Hello())
	if err != nil || len(got.Calls) != 2 {
		t.Fatalf("%v, %v; want two calls", got.Calls, err)
	}
	if a, b := got.Calls[0].ID, got.Calls[1].ID; a == "" || a == b {
		t.Errorf("ids %q and %q; want two different ones", a, b)
	}
}

// A count of tokens that is none takes nothing from the answer.
func TestCountsThatAreNone(t *testing.T) {
	for usage, want := range map[string]*agent.Usage{
		`{"prompt_tokens":-5,"completion_tokens":1000000000000000000000000000000}`:    nil,
		`{"prompt_tokens":"many","completion_tokens":1.5}`:                            {Completion: 1},
		`{"prompt_tokens":12.0,"completion_tokens":1000000000000000}`:                 {Prompt: 12},
		`{"prompt_tokens":7,"completion_tokens":5,"prompt_tokens_details":"unknown"}`: nil,
		`"none"`: nil, `[1]`: nil, `3`: nil,
	} {
		m := serve(t, modeltest.SSE(events(delta("content", "Hi"), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":`+usage+`}`, done)))
		got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
		if err != nil || got.Text != "Hi" || !cmp.Equal(got.Usage, want) {
			t.Errorf("%s: %q, %+v, %v; want %+v", usage, got.Text, got.Usage, err, want)
		}
	}
}

func TestServerThatDoesNotStream(t *testing.T) {
	m := serve(t, modeltest.Say("application/json; charset=utf-8", `{"choices":[{"index":0,"message":{"content":"Hi","tool_calls":[{"id":"a","function":{"name":"clock","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`))
	got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
	want := modeltest.Reply{Text: "Hi", Calls: []tool.Call{modeltest.Call("a", "clock", "{}")}, Usage: &agent.Usage{Prompt: 1, Completion: 2}, Finish: "tool_calls", Deltas: 3}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v; reply (-want +got):\n%s", err, d)
	}
}

// A stream that is cut anywhere gives a typed error or is complete; it never
// gives a call, and never text that is not a beginning of the whole.
func TestCutAtEveryByte(t *testing.T) {
	for name, body := range map[string]string{
		"calls":   twoCalls,
		"thought": events(delta("reasoning_content", "hm"), delta("content", "水 ok"), finish("stop"), usageEvent, done),
		"CRLF":    strings.ReplaceAll(events(delta("content", "Hi"), calls(`{"index":0,"id":"a","function":{"name":"clock","arguments":"{}"}}`), finish("tool_calls")), "\n", "\r\n"),
	} {
		for how, abort := range map[string]bool{"clean": false, "reset": true} {
			t.Run(name+"/"+how, func(t *testing.T) {
				var at int
				m := serve(t, func(w http.ResponseWriter, r *http.Request) {
					modeltest.SSE(body[:at])(w, r)
					if abort {
						http.NewResponseController(w).Flush()
						panic(http.ErrAbortHandler)
					}
				})
				at = len(body)
				whole, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
				if err != nil {
					t.Fatalf("uncut: %v", err)
				}
				complete := strings.Index(body, `"finish_reason":"`) // not the null ones
				for at = range len(body) {
					got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
					checkCut(t, at, complete, got, whole, err)
				}
			})
		}
	}
}

func checkCut(t *testing.T, at, complete int, got, whole modeltest.Reply, err error) {
	t.Helper()
	switch {
	case !strings.HasPrefix(whole.Text, got.Text) || !strings.HasPrefix(whole.Reasoning, got.Reasoning):
		t.Errorf("cut at %d: %q is not a beginning of the text", at, got.Text)
	case err == nil && at < complete:
		t.Errorf("cut at %d: no error, though the server had not finished", at)
	case err == nil && (got.Text != whole.Text || !cmp.Equal(got.Calls, whole.Calls) || got.Finish != whole.Finish):
		t.Errorf("cut at %d: taken for complete, but %+v", at, got)
	case err != nil && len(got.Calls) > 0:
		t.Errorf("cut at %d: a call of a half-read reply: %v", at, got.Calls)
	case err != nil && !agent.IsModelCode(err, agent.ModelCut):
		t.Errorf("cut at %d: %v; want code cut", at, err)
	}
}

// FuzzStream: whatever a server sends, the sequence ends, with exactly one of
// an error and a finish, and no call comes before the finish is sure.
func FuzzStream(f *testing.F) {
	f.Add(twoCalls)
	f.Add("data: [DONE]\n\n")
	f.Add(events(`{"choices":[{"delta":{"tool_calls":[{"index":-1},{"index":9000000000}]}}]}`, `{"choices":null}`, `[]`, `{"error":[]}`))
	f.Fuzz(func(t *testing.T, body string) {
		m, err := New(Config{Config: model.Config{Model: "m", Retries: -1, BaseURL: "http://x.invalid/v1", HTTP: &http.Client{Transport: modeltest.Canned(body)}}})
		if err != nil {
			t.Fatal(err)
		}
		modeltest.Ends(t, m)
	})
}

// A reply is bounded while it is read: without a bound, calls, empty deltas and an event of
// many values took a gigabyte or half a minute.
func TestRepliesAreBounded(t *testing.T) {
	made := func(c http.RoundTripper) (agent.Model, error) {
		return New(Config{Config: model.Config{Model: "m", RetryWait: time.Millisecond, BaseURL: "http://x.invalid/v1", HTTP: &http.Client{Transport: c}}})
	}
	call := func(id, name, args string) string {
		return events(fmt.Sprintf(`{"choices":[{"delta":{"tool_calls":[{"id":%q,"function":{"name":%q,"arguments":%q}}]}}]}`, id, name, args))
	}
	modeltest.Bounded(t, "text/event-stream", made, call("c0", "r", ""), map[string]string{
		"arguments":   call("", "", strings.Repeat("y", 1<<16)),
		"calls":       events(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"r"}}]}}]}`),
		"names":       call("", strings.Repeat("n", 1<<16), "") + call("c2", strings.Repeat("n", 1<<16), "") + call("c3", "", ""),
		"empty":       events(`{"choices":[{"delta":{}}]}`),
		"other reply": events(`{"choices":[{"index":1,"delta":{"content":"x"}}]}`),
		"values":      events(`{"choices":[` + strings.Repeat("{},", 500_000) + `{}]}`),
	})
}

// The pieces of one event are joined in time linear in its length.
func TestManyTextsOfOneEvent(t *testing.T) {
	long := strings.Repeat("x", 200)
	body := events(`{"choices":[`+strings.Repeat(`{"delta":{"content":"`+long+`"}},`, 40_000)+`{"delta":{"content":[`+strings.Repeat(`{"text":"`+long+`"},`, 40_000)+`{"text":""}]}}]}`, finish("stop"))
	m, err := New(Config{Config: model.Config{Model: "m", Retries: -1, BaseURL: "http://x.invalid/v1", HTTP: &http.Client{Transport: modeltest.Canned(body)}}})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := modeltest.Ask(t.Context(), m, modeltest.Hello())
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || len(got.Text) != 80_000*len(long) || made > 2048 { // one by one: 600 GiB
		t.Errorf("%d bytes, %v, with %d MiB of memory", len(got.Text), err, made)
	}
}
