package modelcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

func TestMain(m *testing.M) {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A desk is weir as a person has it who set up Ark and Tavily as README says: a daemon with
// search_web and image_gen, whose services are servers of the test.
type desk struct {
	t      *testing.T
	app    *app.App
	client *client.Client
	url    string
}

// ready runs `weir model use ark` on a tools.toml with more lines, and starts the daemon.
func ready(t *testing.T, ark *scriptedArk, more string) *desk {
	t.Helper()
	hosted := httptest.NewServer(ark)
	t.Cleanup(hosted.Close)
	tavily := httptest.NewServer(http.HandlerFunc(tenResults))
	t.Cleanup(tavily.Close)
	plugins := guesttest.Shipped(t, "search_web", "image_gen")
	for tool, hosts := range map[string][2]string{"search_web": {"api.tavily.com", tavily.URL}, "image_gen": {"ark.cn-beijing.volces.com", hosted.URL}} {
		manifest := filepath.Join(plugins, tool, "plugin.toml")
		b, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.ReplaceAll(b, fmt.Appendf(nil, "host = %q", hosts[0]), fmt.Appendf(nil, "host = %q", hosts[1]))
		if err := os.WriteFile(manifest, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, config.FileName)
	text := fmt.Sprintf("[[plugins.folder]]\npath = %q\ntrust = \"granted\"\n[approvals]\nnetwork = \"allow\"\n", plugins)
	for _, g := range [][3]string{{"search_web", "TAVILY_API_KEY", tavily.URL}, {"image_gen", "ARK_API_KEY", hosted.URL}} {
		text += fmt.Sprintf("[grants.%s]\nhosts = [{ host = %[3]q, private = true }]\nsecrets = [{ name = %[2]q, host = %[3]q }]\n[tools.%[1]s]\nconfig = { base_url = %[3]q }\n", g[0], g[1], g[2])
	}
	if err := os.WriteFile(file, []byte(text+more), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"ARK_API_KEY": "k", "TAVILY_API_KEY": "k"}[name]
		return v, ok
	}
	source := config.Source{Config: file, Data: filepath.Join(dir, "data"), Workspace: dir, Env: env}
	var out bytes.Buffer
	c := &Commands{
		Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}, Source: source, Log: func(config.LogSettings) hclog.Logger { return hclog.NewNullLogger() },
		Load: func() (config.Paths, config.Loaded, error) {
			p, err := source.Paths()
			if err != nil {
				return p, config.Loaded{}, err
			}
			l, err := source.Load(p)
			return p, l, err
		},
	}
	if err := c.Use(t.Context(), "ark", Flags{ModelSettings: config.ModelSettings{Model: "doubao-seed-1-6"}, Name: "ark"}); err != nil {
		t.Fatal(err, out.String())
	}
	a, err := app.Open(t.Context(), app.Options{Source: source, ModelHTTP: &http.Client{Transport: leads{"ark.cn-beijing.volces.com", hosted.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	edge := httptest.NewServer(a.Daemon.Handler())
	t.Cleanup(edge.Close)
	return &desk{t, a, client.New(edge.URL, a.Token), edge.URL}
}

// An answered question is what the stream of its answer brought.
type answered struct {
	start  api.ChatStart
	result api.ToolCallResult
	text   string
	end    api.ChatEnd
}

func (d *desk) ask(conversation, question string) (out answered) {
	d.t.Helper()
	err := d.client.Ask(d.t.Context(), api.Ask{Message: question, Conversation: conversation}, func(name string, data json.RawMessage) error {
		switch name {
		case api.EventStart:
			return json.Unmarshal(data, &out.start)
		case api.EventResult:
			return json.Unmarshal(data, &out.result)
		case api.EventText:
			var piece api.TextPiece
			err := json.Unmarshal(data, &piece)
			out.text += piece.Text
			return err
		case api.EventEnd:
			return json.Unmarshal(data, &out.end)
		}
		return nil
	})
	if err != nil {
		d.t.Fatalf("%s: %v", question, err)
	}
	return out
}

// With Ark set up as README says, a search with ten results of 1,500 characters each shows
// ten: Ark reports no window, and weir knows it by the address and the name of the model. The
// sources are under the answer, the person gets the picture that was made, and the first
// result is found after thirty questions.
func TestArkAndTavily(t *testing.T) {
	ark := &scriptedArk{}
	ark.reply = func(question string, asked []message, tools bool) (said, call string) {
		switch last := asked[len(asked)-1].Content; {
		case last != question:
			return "晴，25 度 [2]。", ""
		case strings.Contains(question, "天气"):
			return "", `{"tool_name":"search_web","arguments":{"query":"杭州今天天气"}}`
		case strings.Contains(question, "画"):
			return "", `{"tool_name":"image_gen","arguments":{"prompt":"一座灯塔"}}`
		case strings.Contains(question, "上次"):
			return "", `{"tool_name":"search_tool_history","arguments":{"query":"第7条的末尾"}}`
		}
		return "好的。", ""
	}
	d := ready(t, ark, "[agent]\nmode = \"prompt\"\n")
	first := d.ask("", "杭州今天天气怎么样？")
	if first.start.Window != 224_000 || first.start.Limit != 24_000 || first.result.Error != nil || first.result.Layer != tool.LayerNone {
		t.Errorf("window %d, limit %d, cut by %q, error %v", first.start.Window, first.start.Limit, first.result.Layer, first.result.Error)
	}
	read := ark.last()
	for i := range 10 {
		if !strings.Contains(read, fmt.Sprintf("第%d条的末尾", i+1)) {
			t.Errorf("the model does not read result %d whole", i+1)
		}
	}
	if s := first.end.Sources; len(s) != 1 || s[0].URL != "https://example.com/2" {
		t.Errorf("sources %+v", s)
	}
	picture := d.ask(first.end.Conversation, "画一座灯塔")
	if len(picture.result.Parts) != 1 {
		t.Fatalf("parts %+v, error %v", picture.result.Parts, picture.result.Error)
	}
	resp, err := d.client.Send(t.Context(), http.MethodGet, "/api/archives/"+picture.result.KeptUUID+"/parts/0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, _ := io.ReadAll(resp.Body); resp.Header.Get("Content-Type") != "image/png" || !bytes.Equal(got, lighthouse(t)) {
		t.Errorf("%s, %d bytes", resp.Header.Get("Content-Type"), len(got))
	}
	for i := range 30 {
		d.ask(first.end.Conversation, fmt.Sprint("第", i, "个问题"))
	}
	d.ask(first.end.Conversation, "上次查到了什么？")
	if found := ark.last(); !strings.Contains(found, first.result.KeptUUID) || !strings.Contains(found, "第7条的末尾") {
		t.Errorf("of the first result was found: %.400s", found)
	}
}

// However Ark words a call, and in each mode, the search runs, the answer is right, and the
// person reads the words around the call and no JSON of it.
func TestArkInSixWordings(t *testing.T) {
	const nested, flat = `{"tool":"search_web","arguments":{"query":"杭州今天天气"}}`, `{"tool": "search_web", "query": "杭州今天天气"}`
	wordings := []struct{ before, call string }{
		{"", "<tool_call>" + nested + "</tool_call>"},
		{"好的，我来查一下。", "<tool_call>" + nested + "</tool_call>"},
		{"正在为您搜索 ", nested},
		{"我马上搜索。", flat},
		{"我来搜索：\n", "```json\n" + nested + "\n```"},
		{"当然可以。", strings.ReplaceAll(flat, ", ", ",\n  ")},
	}
	for _, mode := range []string{"prompt", "native", "auto"} {
		t.Run(mode, func(t *testing.T) {
			ark := &scriptedArk{}
			d := ready(t, ark, fmt.Sprintf("[agent]\nmode = %q\n", mode))
			for i, w := range wordings {
				ark.reply = func(question string, asked []message, tools bool) (said, call string) {
					switch last := asked[len(asked)-1]; {
					case strings.Contains(last.Content, "条的末尾"):
						return "晴，25 度。", ""
					case tools: // as data, after the same words
						return w.before, `{"tool_name":"search_web","arguments":{"query":"杭州今天天气"}}`
					}
					return w.before + w.call, ""
				}
				got := d.ask("", fmt.Sprint("杭州今天天气怎么样？", i))
				want := strings.TrimSpace(strings.TrimSpace(w.before) + "\n\n晴，25 度。")
				if got.result.Tool != "search_web" || got.result.Error != nil || got.end.Calls != 1 || got.end.Answer != "晴，25 度。" || strings.ReplaceAll(got.text, " \n", "\n") != want {
					t.Errorf("%q: answer %q, read %q, want %q, %d calls, error %v", w.before+w.call, got.end.Answer, got.text, want, got.end.Calls, got.result.Error)
				}
				if conversation, err := d.stored(got.end.Conversation); err != nil || strings.Contains(conversation, "search_web\\\"") || !strings.Contains(conversation, "晴，25 度。") || !strings.Contains(conversation, strings.TrimSpace(w.before)) {
					t.Errorf("%q: stored %v %.2000s", w.before+w.call, err, conversation)
				}
			}
		})
	}
}

// stored returns the texts of the assistant in a conversation that is opened again, as JSON.
func (d *desk) stored(conversation string) (string, error) {
	var out struct {
		Messages []struct{ Role, Text string }
	}
	if err := d.client.Get(d.t.Context(), "/api/conversations/"+conversation, &out); err != nil {
		return "", err
	}
	var texts []string
	for _, m := range out.Messages {
		if m.Role == "assistant" {
			texts = append(texts, m.Text)
		}
	}
	b, err := json.Marshal(texts)
	return string(b), err
}

// leads leads the requests for one host to a server of the test, and refuses others.
type leads struct{ host, to string }

func (l leads) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != l.host || r.URL.Scheme != "https" {
		return nil, &net.DNSError{Err: "no such host", Name: r.URL.Host, IsNotFound: true}
	}
	to, err := url.Parse(l.to)
	if err != nil {
		return nil, err
	}
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// A message is one of a request to Ark.
type message struct{ Role, Content string }

// A scriptedArk has no list of models, and streams small pieces as Ark does.
type scriptedArk struct {
	// reply returns the text, and a call, of the answer to a question: in the text, or as
	// data if the request has tools.
	reply func(question string, asked []message, tools bool) (said, call string)

	mu    sync.Mutex
	asked []string
}

func (s *scriptedArk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/images/generations") {
		_ = json.NewEncoder(w).Encode(map[string]any{"data": []map[string]any{{"b64_json": lighthouse(nil)}}})
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/api/v3/chat/completions") {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Messages []message
		Tools    []struct{ Function struct{ Name string } }
	}
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &body)
	question := ""
	for _, m := range body.Messages {
		if m.Role == "user" && !strings.Contains(m.Content, "<tool_result") {
			question = m.Content
		}
	}
	said, call := "", ""
	if n := len(body.Messages); n > 0 {
		s.mu.Lock()
		s.asked = append(s.asked, body.Messages[n-1].Content)
		s.mu.Unlock()
		if strings.Contains(string(raw), "search_web") {
			said, call = s.reply(question, body.Messages, len(body.Tools) > 0)
		} else if len(body.Tools) > 0 { // weir asks whether it can call at all
			call = fmt.Sprintf(`{"tool_name":%q,"arguments":{"expression":"1+1"}}`, body.Tools[0].Function.Name)
		}
	}
	finish := "stop"
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta map[string]any, finish any) {
		b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", b)
		w.(http.Flusher).Flush()
	}
	if call != "" && len(body.Tools) == 0 {
		said, call = said+"<tool_call>"+call+"</tool_call>", ""
	}
	for _, piece := range []rune(said) {
		send(map[string]any{"content": string(piece)}, nil)
	}
	if call != "" {
		var c struct {
			Name string          `json:"tool_name"`
			Args json.RawMessage `json:"arguments"`
		}
		_ = json.Unmarshal([]byte(call), &c)
		send(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": "call_a1", "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range string(c.Args) {
			send(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "function": map[string]any{"arguments": string(piece)}}}}, nil)
		}
		finish = "tool_calls"
	}
	send(map[string]any{}, finish)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// last is the last message of the last request.
func (s *scriptedArk) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return ""
	}
	return s.asked[len(s.asked)-1]
}

// lighthouse is the picture that Ark makes. t may be nil.
func lighthouse(t *testing.T) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil && t != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tenResults is Tavily with ten results of 1,500 characters each.
func tenResults(w http.ResponseWriter, _ *http.Request) {
	var results []map[string]string
	for i := range 10 {
		results = append(results, map[string]string{
			"title": fmt.Sprintf("结果 %d", i+1), "url": fmt.Sprintf("https://example.com/%d", i+1),
			"content": strings.Repeat("杭", 1490) + fmt.Sprintf("第%d条的末尾", i+1),
		})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"answer": "晴", "results": results})
}
