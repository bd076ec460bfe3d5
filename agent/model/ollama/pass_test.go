package ollama

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
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

// joined are chunks without what is different each time.
func joined(chunks []json.RawMessage) string {
	var b strings.Builder
	for _, c := range chunks {
		b.Write(c)
		b.WriteByte('\n')
	}
	return regexp.MustCompile(`"id":"chatcmpl-\w+","object":"([a-z.]+)","created":\d+`).ReplaceAllString(b.String(), `"id":"chatcmpl-1","object":"$1","created":1`)
}

// hear answers every request with these lines, and keeps what was sent in got.
func hear(got *[]byte, ls ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*got, _ = io.ReadAll(r.Body)
		lines(ls...)(w, r)
	}
}

func TestPassedRequestOnTheWire(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "pass-body.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	m := serve(t, showQwen, hear(&got, text("Hi"), done("stop")), func(c *Config) {
		c.Extra, c.Think = map[string]any{"temperature": 0.2, "min_p": 0.05, "num_ctx": 5}, new(false)
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
	if want := `"parameters":{"type":"object","properties":{"z":{"type":"string","description":"é \u00e9 <&>"},"a":{"type": ["string","null"]}}`; !bytes.Contains(got, []byte(want)) {
		t.Errorf("no %s in %s", want, got)
	}
}

func TestPassedAnswer(t *testing.T) {
	named := func(line string) string { return strings.Replace(line, "{", `{"model":"qwen3:8b-q4",`, 1) }
	for name, answer := range map[string][]string{
		"calls": {named(`{"message":{"role":"assistant","thinking":"hm"}}`), named(text("I look.")), named(oneCall), named(`{"message":{"tool_calls":[{"id":"call_2","function":{"name":"clock"}}]}}`), named(done("stop"))},
		"text":  {named(text("Hel")), named(text("lo <b>")), named(done("stop"))},
		"limit": {named(text("Hel")), named(done("length"))},
		"once":  {named(`{"message":{"role":"assistant","content":"All.","thinking":"hm"},"done":true,"done_reason":"stop","prompt_eval_count":30,"eval_count":4}`)},
	} {
		var all strings.Builder
		for _, more := range []string{"", `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true}`} {
			p, err := modeltest.Pass(t.Context(), serve(t, showQwen, lines(answer...)), `{"messages":[{"role":"user","content":"hello"}]`+more+`}`)
			if err != nil {
				t.Fatal(name, more, err)
			}
			if want := (agent.Usage{Prompt: 30, Completion: 4}); p.Usage == nil || *p.Usage != want || p.Model != "qwen3:8b-q4" || p.Finish == "" {
				t.Errorf("%s, %s: %+v %q %q", name, more, p.Usage, p.Model, p.Finish)
			}
			all.WriteString(joined(p.Chunks) + "\n")
		}
		golden(t, "pass-"+name+".txt", all.String())
	}
}

func TestPassedRequestsThatAreRefused(t *testing.T) {
	part := func(p string) string { return `{"messages":[{"role":"user","content":[` + p + `]}]}` }
	for body, want := range map[string]string{
		`[]`:                              "body",
		`{"messages":[],"n":2}`:           "n cannot",
		`{"messages":[],"logprobs":true}`: "logprobs",
		part(`{"type":"image_url","image_url":{"url":"https://example.com/x.png"}}`):                       "by its address",
		part(`{"type":"input_audio","input_audio":{"data":"QUJD","format":"wav"}}`):                        "input_audio",
		part(`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,QUJD"}}`): "a.pdf",
	} {
		m := serve(t, showQwen, func(http.ResponseWriter, *http.Request) { t.Errorf("%s was sent", body) })
		_, err := modeltest.Pass(t.Context(), m, body)
		if !agent.IsModelCode(err, agent.ModelBadRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestPassedFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer []http.HandlerFunc
		code   agent.ModelCode
		asked  int
		chunks int
	}{
		{"too long", []http.HandlerFunc{modeltest.Fail(400, `{"error":"the input length exceeds the context length"}`)}, agent.ModelWindow, 1, 0},
		{"limited", []http.HandlerFunc{modeltest.Fail(429, `{"error":"slow down"}`)}, agent.ModelRateLimited, 1, 0},
		{"failed", []http.HandlerFunc{modeltest.Fail(500, `{"error":"boom"}`)}, agent.ModelOverloaded, 2, 0},
		{"failed once", []http.HandlerFunc{modeltest.Fail(500, `{"error":"boom"}`), lines(text("Hi"), done("stop"))}, "", 2, 2},
		{"cut before", []http.HandlerFunc{lines()}, agent.ModelCut, 2, 0},
		{"cut after", []http.HandlerFunc{lines(text("Hi"))}, agent.ModelCut, 1, 1},
		{"an error after", []http.HandlerFunc{lines(text("Hi"), `{"error":"boom"}`)}, agent.ModelOverloaded, 1, 1},
	} {
		asked := 0
		m := serve(t, showQwen, func(w http.ResponseWriter, r *http.Request) {
			asked++
			c.answer[min(asked, len(c.answer))-1](w, r)
		}, func(c *Config) { c.Retries = 0 })
		p, err := modeltest.Pass(t.Context(), m, `{"messages":[{"role":"user","content":"hello"}],"stream":true}`)
		if c.code == "" && err != nil || c.code != "" && !agent.IsModelCode(err, c.code) || asked != c.asked || len(p.Chunks) != c.chunks {
			t.Errorf("%s: %v after %d requests and %d chunks", c.name, err, asked, len(p.Chunks))
		}
	}
}

// A prompt that is longer than the window is refused before the server drops its head, by what
// the server counted last.
func TestPassedPromptsThatDoNotFit(t *testing.T) {
	counts := 0
	m := serve(t, showQwen, func(w http.ResponseWriter, r *http.Request) {
		lines(text("Hi"), strings.Replace(done("stop"), `:30`, `:`+string(json.RawMessage(encodeInt(counts))), 1))(w, r)
	}, func(c *Config) { c.Window = 2000 })
	ask := func(words int) error {
		body, _ := json.Marshal(map[string]any{"messages": []any{map[string]string{"role": "user", "content": strings.Repeat("word ", words)}}})
		_, err := modeltest.Pass(t.Context(), m, string(body))
		return err
	}
	refused := func(err error) bool {
		return agent.IsModelCode(err, agent.ModelWindow) && strings.Contains(err.Error(), "about") && strings.Contains(err.Error(), "2000")
	}
	if err := ask(1900); !refused(err) { // a tenth more than estimated is 2,095
		t.Errorf("at first: %v", err)
	}
	counts = 1000
	if err := ask(1000); err != nil {
		t.Error(err)
	}
	if err := ask(1900); err != nil { // what is counted says that it fits
		t.Errorf("after a count: %v", err)
	}
	counts = 1600
	if err := ask(1000); err != nil {
		t.Error(err)
	}
	if err := ask(1400); !refused(err) {
		t.Errorf("after a higher count: %v", err)
	}
	counts = 100 // the server had it in its cache, or dropped a part: that is no measure
	if err := ask(1000); err != nil {
		t.Error(err)
	}
	if err := ask(1400); !refused(err) {
		t.Errorf("after a count of a part: %v", err)
	}
}

func encodeInt(n int) string {
	raw, _ := json.Marshal(n)
	return string(raw)
}

// Pictures count: three take more than the rest of this window.
func TestPassedPicturesCount(t *testing.T) {
	m := serve(t, showQwen, lines(text("Hi"), done("stop")), func(c *Config) { c.Window = 2000 })
	picture := `{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}`
	for n, fits := range map[int]bool{2: true, 3: false} {
		_, err := modeltest.Pass(t.Context(), m, `{"messages":[{"role":"user","content":[`+strings.Repeat(picture+",", n)+`{"type":"text","text":"hello"}]}]}`)
		if (err == nil) != fits {
			t.Errorf("%d pictures: %v", n, err)
		}
	}
}

func TestPassedThinking(t *testing.T) {
	const gptoss = `{"capabilities":["thinking"],"model_info":{"general.architecture":"gptoss"}}`
	for _, c := range []struct {
		show, body, want string
		told             int
	}{
		{showQwen, `"reasoning_effort":"none"`, `"think":false`, 0},
		{showQwen, `"reasoning_effort":"high"`, `"think":true`, 1},
		{showQwen, `"think":false,"reasoning_effort":"high"`, `"think":false`, 1},
		{gptoss, `"reasoning_effort":"high"`, `"think":"high"`, 0},
		{gptoss, `"reasoning_effort":"none"`, `"think":"low"`, 1},
		{`{"capabilities":["completion"]}`, `"reasoning_effort":"high"`, "", 1},
		{showQwen, `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}`, `"format":{"type":"object"}`, 0},
		{showQwen, `"response_format":{"type":"json_object"}`, `"format":"json"`, 0},
		{showQwen, `"tools":[{"type":"function","function":{"name":"t"}}],"tool_choice":"none"`, "", 1},
	} {
		var got []byte
		p, err := modeltest.Pass(t.Context(), serve(t, c.show, hear(&got, text("Hi"), done("stop"))), `{"messages":[{"role":"user","content":"hello"}],`+c.body+`}`)
		if err != nil || !bytes.Contains(got, []byte(c.want)) || len(p.Changed) != c.told || c.want == "" && (bytes.Contains(got, []byte("think")) || bytes.Contains(got, []byte(`"tools"`))) {
			t.Errorf("%s: %v, %q, sent %s", c.body, err, p.Changed, got)
		}
	}
}

func TestPassedRequestsArriveWhole(t *testing.T) {
	connect := func(h http.HandlerFunc) modeltest.Passer { return serve(t, showQwen, h) }
	modeltest.ArrivesWhole(t, connect, lines(text("Hi"), done("stop")))
}
