package modelcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// With Ark set up as README says, a search with ten results of 1,500 characters each shows
// ten: Ark reports no window, and weir knows it by the address and the name of the model.
func TestArkShowsTenSearchResults(t *testing.T) {
	ark := &scriptedArk{}
	hosted := httptest.NewServer(ark)
	t.Cleanup(hosted.Close)
	tavily := httptest.NewServer(http.HandlerFunc(tenResults))
	t.Cleanup(tavily.Close)
	plugins := guesttest.Shipped(t, "search_web")
	manifest := filepath.Join(plugins, "search_web", "plugin.toml")
	b, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte(`host = "api.tavily.com"`), fmt.Appendf(nil, "host = %q", tavily.URL))
	if err := os.WriteFile(manifest, b, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, config.FileName)
	text := fmt.Sprintf("[[plugins.folder]]\npath = %[1]q\ntrust = \"granted\"\n[grants.search_web]\nhosts = [{ host = %[2]q, private = true }]\nsecrets = [{ name = \"TAVILY_API_KEY\", host = %[2]q }]\n[tools.search_web]\nconfig = { base_url = %[2]q }\n[approvals]\nnetwork = \"allow\"\n", plugins, tavily.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
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
	var start api.ChatStart
	var result api.ToolCallResult
	err = client.New(edge.URL, a.Token).Ask(t.Context(), api.Ask{Message: "杭州今天天气怎么样？"}, func(name string, data json.RawMessage) error {
		switch name {
		case "chat.start":
			return json.Unmarshal(data, &start)
		case "tool_call.result":
			return json.Unmarshal(data, &result)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if start.Window != 224_000 || start.Limit != 24_000 || result.Error != nil || result.Layer != tool.LayerNone {
		t.Errorf("window %d, limit %d, result %+v", start.Window, start.Limit, result)
	}
	read := ark.last()
	for i := range 10 {
		if !strings.Contains(read, fmt.Sprintf("第%d条的末尾", i+1)) {
			t.Errorf("the model does not read result %d whole", i+1)
		}
	}
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

// A scriptedArk has no list of models. It searches at first, and then answers.
type scriptedArk struct {
	mu    sync.Mutex
	asked []string
}

func (s *scriptedArk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/api/v3/chat/completions") {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Messages []struct{ Role, Content string }
	}
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &body)
	last := ""
	if n := len(body.Messages); n > 0 {
		last = body.Messages[n-1].Content
	}
	s.mu.Lock()
	s.asked = append(s.asked, last)
	s.mu.Unlock()
	said := "晴。"
	if strings.Contains(last, "杭州今天天气怎么样") && !strings.Contains(last, "条的末尾") {
		said = `<tool_call>{"tool_name":"search_web","arguments":{"query":"杭州今天天气"}}</tool_call>`
	}
	quoted, _ := json.Marshal(said)
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", quoted)
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
