package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A recording is one reply as a provider streams it. Its call is two_calls, in
// the provider's own way or, where text is set, as prompted models write it.
type recording struct {
	name, provider, kind string
	mode                 agent.Mode
	body, answer         string
}

func sseOf(named bool, data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var e struct{ Type string }
		if named && json.Unmarshal([]byte(d), &e) == nil {
			b.WriteString("event: " + e.Type + "\n")
		}
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

const prompted = `<tool_call>{"id":"a","tool_name":"clock","arguments":{"zone":"水"}}</tool_call>\n<tool_call>{"tool_name":"clock","arguments":{"zone":"b"}}</tool_call>`

// recordings are short, since every byte of them is cut at.
func recordings() []recording {
	const (
		sse    = "text/event-stream"
		ndjson = "application/x-ndjson"
		whole  = "application/json"
	)
	q := func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }
	oai := func(deltas ...string) string {
		var all []string
		for _, d := range deltas {
			all = append(all, `{"choices":[{"index":0,"delta":`+d+`}]}`)
		}
		return sseOf(false, append(all, `{"choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}`, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}`, "[DONE]")...)
	}
	ant := func(reason string, blocks ...string) string {
		all := []string{`{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}`, `{"type":"ping"}`}
		all = append(append(all, blocks...), `{"type":"message_delta","delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`)
		return sseOf(true, all...)
	}
	block := func(i int, start, kind, field string, pieces ...string) (out []string) {
		out = append(out, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, start))
		for _, p := range pieces {
			out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:"%s"}}`, i, kind, field, p))
		}
		return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	oll := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
	oaiCalls := []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"clock","arguments":""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"zone\":\"水\"}"}}]}`,
		`{"tool_calls":[{"index":1,"id":"b","function":{"name":"clock","arguments":"{\"zone\":\"b\"}"}}]}`}
	antCalls := slices.Concat(block(1, `{"type":"tool_use","id":"a","name":"clock","input":{}}`, "input_json_delta", "partial_json", `{\"zone\":`, `\"水\"}`),
		block(2, `{"type":"tool_use","id":"b","name":"clock","input":{}}`, "input_json_delta", "partial_json", `{\"zone\":\"b\"}`))
	ollCall := `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"clock","arguments":{"zone":"水"}}},{"function":{"name":"clock","arguments":{"zone":"b"}}}]},"done":false}`
	ollEnd := `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}`
	// Servers that do not stream.
	oaiWhole := func(reason, message string) string {
		return `{"choices":[{"index":0,"message":` + message + `,"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	}
	antWhole := func(reason, blocks string) string {
		return `{"type":"message","content":[` + blocks + `],"stop_reason":"` + reason + `","usage":{"input_tokens":3,"output_tokens":9}}`
	}
	openai := []string{`{"reasoning_content":"hm"}`, `{"content":"I look."}`}
	return []recording{
		{"OpenAI, calls alone", "openai", sse, agent.ModeNative, fmt.Sprintf(oai(oaiCalls...), "tool_calls"), fmt.Sprintf(oai(`{"content":"Noon."}`), "stop")},
		{"OpenAI, thought, text and calls", "openai", sse, agent.ModeNative, fmt.Sprintf(oai(append(openai, oaiCalls...)...), "tool_calls"), fmt.Sprintf(oai(`{"content":"Noon."}`), "stop")},
		{"OpenAI, calls in the text", "openai", sse, agent.ModePrompt, fmt.Sprintf(oai(`{"content":"Look: "}`, `{"content":"`+q(prompted)+`"}`), "stop"), fmt.Sprintf(oai(`{"content":"Noon."}`), "stop")},
		{"Anthropic, thought and calls", "anthropic", sse, agent.ModeNative,
			ant("tool_use", append(block(0, `{"type":"thinking","thinking":"","signature":""}`, "thinking_delta", "thinking", "hm"), antCalls...)...),
			ant("end_turn", block(0, `{"type":"text","text":""}`, "text_delta", "text", "Noon.")...)},
		{"Anthropic, calls alone", "anthropic", sse, agent.ModeNative, ant("tool_use", antCalls...), ant("end_turn", block(0, `{"type":"text","text":""}`, "text_delta", "text", "Noon.")...)},
		{"Ollama, thought and calls", "ollama", ndjson, agent.ModeNative, oll(`{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}`, ollCall, ollEnd),
			oll(`{"message":{"role":"assistant","content":"Noon."},"done":false}`, ollEnd)},
		{"OpenAI, whole, calls alone", "openai", whole, agent.ModeNative,
			oaiWhole("tool_calls", `{"tool_calls":[{"id":"a","function":{"name":"clock","arguments":"{\"zone\":\"水\"}"}},{"id":"b","function":{"name":"clock","arguments":"{\"zone\":\"b\"}"}}]}`), oaiWhole("stop", `{"content":"Noon."}`)},
		{"OpenAI, whole, calls in the text alone", "openai", whole, agent.ModePrompt, oaiWhole("stop", `{"content":"`+q(prompted)+`"}`), oaiWhole("stop", `{"content":"Noon."}`)},
		{"Anthropic, whole, calls alone", "anthropic", whole, agent.ModeNative,
			antWhole("tool_use", `{"type":"tool_use","id":"a","name":"clock","input":{"zone":"水"}},{"type":"tool_use","id":"b","name":"clock","input":{"zone":"b"}}`), antWhole("end_turn", `{"type":"text","text":"Noon."}`)},
		{"Ollama, whole, calls alone", "ollama", whole, agent.ModeNative, strings.Replace(ollCall, `"done":false`, `"done":true,"done_reason":"stop"`, 1), strings.Replace(ollEnd, `"content":""`, `"content":"Noon."`, 1)},
		{"Ollama, calls in the text", "ollama", ndjson, agent.ModePrompt, oll(`{"message":{"role":"assistant","content":"`+q(prompted)+`"},"done":false}`, ollEnd),
			oll(`{"message":{"role":"assistant","content":"Noon."},"done":false}`, ollEnd)},
	}
}

// An ending is how a stream ends where it is cut.
type ending string

const (
	clean ending = "closed"
	reset ending = "reset"
	stall ending = "silent"
)

// line is a connection that serves a recording: the first time cut at a byte,
// from then on whole, and after the tool's results the answer.
type line struct {
	r      recording
	at     int
	ending ending
	asked  int
}

func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	res := func(status int, body io.ReadCloser) (*http.Response, error) {
		return &http.Response{StatusCode: status, Request: req, Header: http.Header{"Content-Type": {l.r.kind}}, Body: body}, nil
	}
	if req.Method == http.MethodGet || strings.HasSuffix(req.URL.Path, "/api/show") {
		return res(http.StatusNotFound, io.NopCloser(strings.NewReader("")))
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(raw), "it is noon") {
		return res(http.StatusOK, io.NopCloser(strings.NewReader(l.r.answer)))
	}
	if l.asked++; l.asked > 1 {
		return res(http.StatusOK, io.NopCloser(strings.NewReader(l.r.body)))
	}
	return res(http.StatusOK, &cutBody{req.Context(), strings.NewReader(l.r.body[:l.at]), l.ending})
}

type cutBody struct {
	ctx    context.Context
	rest   *strings.Reader
	ending ending
}

func (b *cutBody) Read(p []byte) (int, error) {
	n, err := b.rest.Read(p)
	if err == nil {
		return n, nil
	}
	switch b.ending {
	case reset:
		return 0, errors.New("connection reset by peer")
	case stall:
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	return 0, io.EOF
}

func (b *cutBody) Close() error { return nil }

// clocks is a toolbox with one tool that writes down its calls.
type clocks struct {
	mu  sync.Mutex
	ran []string
}

func (c *clocks) Tools() []tool.Spec {
	return []tool.Spec{{Name: "clock", Description: "Time.", Params: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"}},"required":["zone"]}`)}}
}

func (c *clocks) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran = append(c.ran, string(call.Args))
	r := tool.Result{CallID: call.ID, Tool: call.Tool}.WithWhole("it is noon")
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: 1000, MaxLines: 10}, limit.By{})
	return r, nil
}

// patience bounds how long a turn may take whose server falls silent, by the
// clock of the model's own settings.
const patience = 10 * time.Second

// A stream that is cut at any byte, closed, reset or gone silent, comes to one
// of two things: the turn goes on as if nothing had been, each call run once, or
// it ends with a typed error and no call was run. It never hangs. Everyday each recording is
// cut at a seventh of its bytes, others for each ending.
func TestCutAtEveryByte(t *testing.T) {
	for _, r := range recordings() {
		for i, e := range []ending{clean, reset, stall} {
			t.Run(r.name+"/"+string(e), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					repeated, failed := 0, 0
					for at := range len(r.body) + 1 {
						if !testsize.All() && at%7 != i && at < len(r.body)-1 {
							continue
						}
						l := &line{r: r, at: at, ending: e}
						began := time.Now()
						err := l.turn(t)
						switch {
						case err != nil:
							failed++
						case l.asked > 1:
							repeated++
						}
						if took := testtime.Since(began); took > patience {
							t.Errorf("cut at %d: the turn took %s", at, took)
						}
					}
					if e != stall && repeated == 0 || !strings.Contains(r.name, "alone") && failed == 0 {
						t.Errorf("%d requests were repeated and %d turns failed; the cuts do not reach both", repeated, failed)
					}
				})
			})
		}
	}
}

// turn runs one turn over the line and holds it to the law.
func (l *line) turn(t *testing.T) error {
	t.Helper()
	m, err := New(Config{
		Name: "m", Provider: l.r.provider, BaseURL: "http://server.invalid", Model: "x", Key: "k", Retries: 1, Window: 32768,
		FirstTimeout: 2 * time.Second, StallTimeout: time.Second, HTTP: &http.Client{Transport: l}, Getenv: env(),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := agent.Defaults()
	cfg.Mode = l.r.mode
	box := &clocks{}
	loop, err := agent.New(cfg, m, box, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := loop.Run(t.Context(), nil, "What time is it?")
	var me *agent.ModelError
	slices.Sort(box.ran) // calls of one round run in any order
	switch all := []string{`{"zone":"b"}`, `{"zone":"水"}`}; {
	case err != nil && !errors.As(err, &me):
		t.Errorf("cut at %d: %v has no type", l.at, err)
	case err != nil && len(box.ran) > 0:
		t.Errorf("cut at %d: %v was run of a reply that broke off: %v", l.at, box.ran, err)
	case err == nil && (!slices.Equal(box.ran, all) || out.Answer != "Noon."):
		t.Errorf("cut at %d: ran %v and answered %q", l.at, box.ran, out.Answer)
	}
	return err
}
