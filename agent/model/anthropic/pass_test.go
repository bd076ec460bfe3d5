package anthropic

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/agent/passthrough"
)

// golden compares a text with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// lines are chunks without what is different each time.
func lines(chunks []json.RawMessage) string {
	all := string(bytes.Join(rawBytes(chunks), []byte("\n"))) + "\n"
	return regexp.MustCompile(`"created":\d+`).ReplaceAllString(all, `"created":1`)
}

func rawBytes(list []json.RawMessage) (out [][]byte) {
	for _, r := range list {
		out = append(out, r)
	}
	return out
}

// hear answers every request with body, and keeps what was sent in got.
func hear(got *[]byte, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*got, _ = io.ReadAll(r.Body)
		modeltest.SSE(body)(w, r)
	}
}

func TestPassedRequestOnTheWire(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "pass-body.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	m := serve(t, hear(&got, twoCalls), func(c *Config) {
		c.Extra = map[string]any{"temperature": 0.2, "metadata": map[string]any{"user_id": "x"}, "speed": "fast"}
	})
	p, err := modeltest.Pass(t.Context(), m, string(body))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	golden(t, "pass-request.json", b.String()+"\n")
	golden(t, "pass-changed.txt", strings.Join(p.Changed, "\n")+"\n")
	// What the client sends of a schema is handed on byte for byte.
	if want := `"input_schema":{"type":"object","properties":{"z":{"type":"string","description":"é \u00e9 <&>"},"a":{"type": ["string","null"]}}`; !bytes.Contains(got, []byte(want)) {
		t.Errorf("no %s in %s", want, got)
	}
}

func TestPassedAnswer(t *testing.T) {
	answers := map[string]string{
		"calls":  streamed([]string{start, ping}, thinks(0, "hm", "sig"), says(1, "I look."), calls(2, "toolu_1", "bash", "", `{"comm`, `and":"ls"}`), calls(3, "toolu_2", "list"), []string{end("tool_use"), stop}),
		"text":   streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop}),
		"limit":  streamed([]string{start}, says(0, "Hi"), []string{end("max_tokens"), stop}),
		"filter": streamed([]string{start}, says(0, "Hi"), []string{end("refusal"), stop}),
		"empty":  streamed([]string{start, end("end_turn"), stop}),
	}
	for name, answer := range answers {
		var all strings.Builder
		for _, more := range []string{"", `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true}`} {
			m := serve(t, modeltest.SSE(answer))
			p, err := modeltest.Pass(t.Context(), m, `{"messages":[{"role":"user","content":"hello"}]`+more+`}`)
			if err != nil {
				t.Fatal(name, more, err)
			}
			if want := (agent.Usage{Prompt: 142, Completion: 42, CachedPrompt: 100, CacheWrite: 30}); p.Usage == nil || *p.Usage != want || p.Model != "claude-test" || p.Finish == "" {
				t.Errorf("%s, %s: %+v %q %q", name, more, p.Usage, p.Model, p.Finish)
			}
			all.WriteString(lines(p.Chunks) + "\n")
		}
		golden(t, "pass-"+name+".txt", all.String())
	}
}

// An answer of a server that does not stream is the same for the client.
func TestPassedWholeAnswer(t *testing.T) {
	whole := `{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"bash","input":{"command":"ls"}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`
	for _, more := range []string{"", `,"stream":true`} {
		m := serve(t, modeltest.Say("application/json", whole))
		p, err := modeltest.Pass(t.Context(), m, `{"messages":[{"role":"user","content":"hello"}]`+more+`}`)
		if err != nil || p.Finish != agent.FinishCalls {
			t.Fatal(p, err)
		}
		all := lines(p.Chunks)
		for _, want := range []string{`"content":"I look."`, `"id":"toolu_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}`, `"finish_reason":"tool_calls"`} {
			if !strings.Contains(all, want) {
				t.Errorf("no %s in %s", want, all)
			}
		}
	}
}

func TestPassedRequestsThatAreRefused(t *testing.T) {
	part := func(p string) string { return `{"messages":[{"role":"user","content":[` + p + `]}]}` }
	for body, want := range map[string]string{
		`[]`:                               "body",
		`{"messages":"x"}`:                 "messages",
		`{"messages":[{"role":"robot"}]}`:  "robot",
		`{"messages":[],"n":2}`:            "n cannot",
		`{"messages":[],"logprobs":true}`:  "logprobs",
		`{"messages":[],"functions":[{}]}`: "functions",
		`{"messages":[],"tool_choice":{"type":"allowed_tools"}}`:                                 "allowed_tools",
		`{"messages":[],"tools":[{"type":"custom","custom":{"name":"x"}}]}`:                      "custom",
		`{"messages":[],"tools":[{"type":"function","function":{"name":"a.b"}}]}`:                "a.b",
		`{"messages":[{"role":"user","content":7}]}`:                                             "content",
		part(`{"type":"text","text":7}`):                                                         "text",
		part(`{"type":"input_audio","input_audio":{"data":"QUJD","format":"wav"}}`):              "input_audio",
		part(`{"type":"file","file":{"filename":"a.zip","file_data":"data:x/zip;base64,QUJD"}}`): "a.zip",
		part(`{"type":"file","file":{"file_id":"file-1"}}`):                                      "file",
		part(`{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}`):                    "image_url",
		part(`{"type":"image_url","image_url":{"url":"data:text/html;base64,QUJD"}}`):            "image_url",
	} {
		m := serve(t, func(http.ResponseWriter, *http.Request) { t.Errorf("%s was sent", body) })
		_, err := modeltest.Pass(t.Context(), m, body)
		if !agent.IsModelCode(err, agent.ModelBadRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestPassedFailures(t *testing.T) {
	hello := `{"messages":[{"role":"user","content":"hello"}],"stream":true}`
	for _, c := range []struct {
		name   string
		answer []http.HandlerFunc
		code   agent.ModelCode
		asked  int
		chunks int
	}{
		{"too long", []http.HandlerFunc{modeltest.Fail(400, problem("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"))}, agent.ModelWindow, 1, 0},
		{"limited", []http.HandlerFunc{modeltest.Fail(429, problem("rate_limit_error", "slow down"))}, agent.ModelRateLimited, 1, 0},
		{"overloaded", []http.HandlerFunc{modeltest.Fail(529, problem("overloaded_error", "Overloaded"))}, agent.ModelOverloaded, 2, 0},
		{"overloaded once", []http.HandlerFunc{modeltest.Fail(529, problem("overloaded_error", "Overloaded")), modeltest.SSE(streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop}))}, "", 2, 2},
		{"overloaded in the stream", []http.HandlerFunc{modeltest.SSE(events(start, problem("overloaded_error", "Overloaded")))}, agent.ModelOverloaded, 2, 0},
		{"cut before", []http.HandlerFunc{modeltest.SSE(events(start))}, agent.ModelCut, 2, 0},
		{"cut after", []http.HandlerFunc{modeltest.SSE(streamed([]string{start}, says(0, "Hi")))}, agent.ModelCut, 1, 1},
		{"cut in a call", []http.HandlerFunc{modeltest.SSE(streamed([]string{start}, calls(0, "toolu_1", "bash", `{"comm`)))}, agent.ModelCut, 1, 2},
	} {
		asked := 0
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			c.answer[min(asked, len(c.answer))-1](w, r)
		}, func(c *Config) { c.Retries = 0 })
		p, err := modeltest.Pass(t.Context(), m, hello)
		if c.code == "" && err != nil || c.code != "" && !agent.IsModelCode(err, c.code) || asked != c.asked || len(p.Chunks) != c.chunks {
			t.Errorf("%s: %v after %d requests and %d chunks", c.name, err, asked, len(p.Chunks))
		}
	}
}

// A client sends back what the model thought. Its signature comes from the reply.
func TestPassedThoughtsGoBackSigned(t *testing.T) {
	var got []byte
	m := serve(t, hear(&got, streamed([]string{start}, thinks(0, "I need ls.\n", "sig-1"), calls(1, "toolu_1", "bash", `{}`), []string{end("tool_use"), stop})))
	next := `{"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":null,"reasoning_content":"I need ls.","tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"toolu_1","content":"x"}]}`
	p, err := modeltest.Pass(t.Context(), m, next)
	if err != nil || len(p.Changed) != 1 || bytes.Contains(got, []byte("I need")) {
		t.Fatal(err, p.Changed, string(got))
	}
	p, err = modeltest.Pass(t.Context(), m, next)
	want := `{"role":"assistant","content":[{"type":"thinking","thinking":"I need ls.\n","signature":"sig-1"},{"type":"tool_use"`
	if err != nil || len(p.Changed) != 0 || !bytes.Contains(got, []byte(want)) {
		t.Error(err, p.Changed, string(got))
	}
	// A model that is not to think takes no thoughts.
	p, err = modeltest.Pass(t.Context(), m, strings.Replace(next, "adaptive", "disabled", 1))
	if err != nil || len(p.Changed) != 1 || bytes.Contains(got, []byte("sig-1")) {
		t.Error(err, p.Changed, string(got))
	}
}

// A client that leaves ends the request.
func TestPassedClientLeaves(t *testing.T) {
	gone := make(chan struct{})
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		modeltest.SSE(streamed([]string{start}, says(0, "Hi")))(w, r)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for c, err := range m.Pass(t.Context(), passthrough.Request{Body: json.RawMessage(`{"messages":[{"role":"user","content":"hello"}],"stream":true}`)}) {
		if err != nil || !bytes.Contains(c.Data, []byte("Hi")) {
			t.Error(err, string(c.Data))
		}
		break
	}
	<-gone
}

// Where the thoughts of before are not known, the model goes on without thinking.
func TestPassedWithoutThoughts(t *testing.T) {
	var sent []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if sent = append(sent, string(body)); bytes.Contains(body, []byte(`"thinking"`)) {
			modeltest.Fail(400, problem("invalid_request_error", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."))(w, r)
			return
		}
		modeltest.SSE(streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop}))(w, r)
	}, func(c *Config) {
		c.Extra = map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 2000}}
	})
	p, err := modeltest.Pass(t.Context(), m, `{"messages":[{"role":"user","content":"hello"}],"temperature":0.1}`)
	if err != nil || len(sent) != 2 || len(p.Changed) != 2 || !slices.ContainsFunc(p.Changed, func(s string) bool { return strings.Contains(s, "not to think") }) {
		t.Error(err, p.Changed, sent)
	}
}

// What the server says of the model decides what is handed on.
func TestPassedByWhatTheModelTakes(t *testing.T) {
	var got []byte
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", hear(&got, streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop})))
	mux.HandleFunc("GET /v1/models/claude-test", modeltest.Say("application/json", `{"max_tokens":8000,"capabilities":{"effort":{"supported":true},"structured_outputs":{"supported":true}}}`))
	m := serveMux(t, mux)
	p, err := modeltest.Pass(t.Context(), m, `{"messages":[{"role":"user","content":"hello"}],"max_completion_tokens":32000,"reasoning_effort":"high","output_config":{"x":1},
		"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}},"tools":[{"type":"function","function":{"name":"t","strict":true}}]}`)
	for _, want := range []string{`"max_tokens":8000`, `"output_config":{"effort":"high","format":{"type":"json_schema","schema":{"type":"object"}},"x":1}`, `"strict":true`} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if err != nil || len(p.Changed) != 1 || !strings.Contains(p.Changed[0], "32000 to 8000") {
		t.Error(err, p.Changed)
	}
}

// A client that marks what is to be cached is left to it.
func TestPassedCacheMarks(t *testing.T) {
	var got []byte
	m := serve(t, hear(&got, streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop})))
	for body, want := range map[string]int{
		`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`:                                                               3,
		`{"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`: 1,
	} {
		p, err := modeltest.Pass(t.Context(), m, body)
		if n := bytes.Count(got, []byte(`"cache_control":{"type":"ephemeral"}`)); err != nil || n != want || len(p.Changed) != 0 {
			t.Errorf("%v, %v: %d marks in %s", err, p.Changed, n, got)
		}
	}
}

func TestPassedRequestsArriveWhole(t *testing.T) {
	connect := func(h http.HandlerFunc) modeltest.Passer { return serve(t, h) }
	modeltest.ArrivesWhole(t, connect, modeltest.SSE(streamed([]string{start}, says(0, "Hi"), []string{end("end_turn"), stop})))
}
