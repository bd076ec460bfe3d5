package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/internal/testtime"
)

// canaries are secrets that are found again wherever they come out.
func canaries() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"MODEL_KEY", "PLUGIN_KEY", "SERVER_ENV", "SERVER_HEADER", "SERVER_ARG", "SERVER_QUERY", "COLLECTOR_KEY", "MODEL_PASSWORD",
		"LIVING_HEADER", "INJECTED_KEY", "GRANT_CONFIG", "TOOL_CONFIG", "ANN_TOKEN", "BOB_TOKEN"} {
		out[name] = "canary/" + strings.ToLower(name) + "+Zm9v=end"
	}
	return out
}

// spelt are the ways in which a secret may come out.
func spelt(secret string) []string {
	return []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		url.QueryEscape(secret), url.PathEscape(secret), strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%q", secret), `"`), `"`)}
}

// Secrets of every kind are in nothing that comes out: not in the log, at any
// level and in both forms, not in metrics, spans, errors, exports, reports.
func TestNoSecretComesOut(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) { lookForSecrets(t, format) })
	}
}

func lookForSecrets(t *testing.T, format string) {
	secrets := canaries()
	var injected atomic.Bool
	// A provider that says back what it was sent.
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x" && r.Header.Get("Authorization") == "Bearer "+secrets["INJECTED_KEY"] {
			injected.Store(true)
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"no such key: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	defer echo.Close()
	living := wary(t, secrets["LIVING_HEADER"])
	c := newCollector(t)
	dir, vars := t.TempDir(), map[string]string{"WEIR_NO_PROBE": "1", "WEIR_CACHE": guesttest.Cache(t), "TAVILY_API_KEY": secrets["PLUGIN_KEY"], "HOME": t.TempDir()}
	for name, v := range secrets {
		vars[name] = v
	}
	where := strings.TrimPrefix(echo.URL, "http://")
	plugins := guesttest.Shipped(t, "search_web", "calculator")
	guesttest.Build(t, filepath.Join(guesttest.Root(t), "host", "testdata", "plugins", "servlet"), filepath.Join(plugins, "servlet.wasm"))
	if err := os.WriteFile(filepath.Join(dir, "bob.token"), []byte(secrets["BOB_TOKEN"]), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "tools.toml")
	if err := os.WriteFile(config, []byte(`[log]
level = "trace"
format = "`+format+`"
[telemetry]
endpoint = "`+c.url+`"
headers = { Authorization = "Bearer ${COLLECTOR_KEY}" }
content = true
[models.m]
provider = "openai"
base_url = "http://`+where+`/v1"
key = "${MODEL_KEY}"
model = "x"
[models.n]
provider = "ollama"
base_url = "http://me:`+url.QueryEscape(secrets["MODEL_PASSWORD"])+`@`+where+`"
model = "x"
[agent]
model = "m"
[mcpServers.dead]
command = "./no-such-program"
args = ["--key", "${SERVER_ARG}"]
env = { KEY = "${SERVER_ENV}" }
[mcpServers.far]
url = "http://`+where+`/mcp?key=`+url.QueryEscape(secrets["SERVER_QUERY"])+`"
headers = { Authorization = "Bearer ${SERVER_HEADER}" }
[mcpServers.living]
url = "`+living+`"
headers = { Authorization = "Bearer ${LIVING_HEADER}" }
[users.ann]
token = "${ANN_TOKEN}"
[users.bob]
token_file = "bob.token"
[tools.servlet__say]
config = { key = "${TOOL_CONFIG}" }
[grants.servlet]
hosts = [{ host = "`+echo.URL+`", private = true }]
secrets = [{ name = "INJECTED_KEY", host = "`+echo.URL+`" }]
config = { api-key = "${GRANT_CONFIG}" }
[[plugins.folder]]
path = "`+plugins+`"
trust = "granted"
[grants.search_web]
hosts = ["api.tavily.com"]
secrets = ["TAVILY_API_KEY"]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	env := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log locked
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"--config", config, "--data", data, "serve", "--addr", "127.0.0.1:0"}, term.Env{In: strings.NewReader(""), Out: &log, Err: &log, Lookup: env})
	}()
	var at client.Address
	if !testtime.Comes(func() bool { return startedIn(data, &at) }) {
		t.Fatal("the daemon does not start: " + log.String())
	}
	raw, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(raw))
	secrets["TOKEN"] = token
	out := map[string]string{}
	ask := func(method, path, body string) { asAnybody(t, out, at.URL, token, method, path, body) }
	if !testtime.Comes(func() bool { // a plugin without a manifest is asked for its tools, a server for its own
		now := map[string]string{}
		asAnybody(t, now, at.URL, token, "GET", "/api/tools", "")
		all := now["GET /api/tools "]
		return strings.Contains(all, `"servlet__fetch_page"`) && strings.Contains(all, `"living__refuse"`)
	}) {
		t.Fatal("the tools are not there: " + log.String())
	}
	ask("POST", "/api/chat", `{"message":"hello","conversation_id":"talk"}`)
	ask("POST", "/api/chat", `{"message":"hello","model":"n"}`)
	ask("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	ask("POST", "/api/tools/search_web/call", `{"arguments":{}}`)
	ask("POST", "/api/tools/servlet__fetch_page/call", `{"arguments":{"url":"`+echo.URL+`/x"}}`)
	ask("POST", "/api/tools/servlet__say/call", `{"arguments":{"text":"hi"}}`)
	ask("POST", "/api/tools/living__refuse/call", `{"arguments":{}}`)
	for name, theirs := range map[string]string{"ann": secrets["ANN_TOKEN"], "bob": secrets["BOB_TOKEN"]} {
		asAnybody(t, out, at.URL, theirs, "POST", "/api/chat", `{"message":"hello","conversation_id":"of-`+name+`","resume":true}`)
		asAnybody(t, out, at.URL, theirs, "POST", "/api/tools/calculator/call", `{"arguments":{"expression":"1/0"}}`)
		asAnybody(t, out, at.URL, theirs, "GET", "/api/conversations/of-"+name+"/export?format=json&archives=true", "")
		asAnybody(t, out, at.URL, theirs, "GET", "/api/usage", "")
		asAnybody(t, out, at.URL, theirs, "GET", "/api/users", "")
		asAnybody(t, out, at.URL, theirs+"x", "GET", "/api/models", "")
		ask("GET", "/api/users/"+name+"/data", "")
	}
	ask("POST", "/api/reload", `{}`)
	for _, path := range []string{"/metrics", "/api/settings", "/api/plugins", "/api/plugins/search_web", "/api/models", "/api/tools", "/api/traces", "/api/stats", "/api/archives",
		"/api/users", "/api/usage?user=ann", "/api/conversations/talk/export", "/api/conversations/talk/export?format=markdown", "/api/conversations/talk", "/openapi.json", "/readyz", "/no/such/route"} {
		ask("GET", path, "")
	}
	for _, args := range [][]string{{"doctor"}, {"config", "show"}, {"--json", "config", "show"}, {"plugin", "info", "search_web"}, {"plugin", "list"}, {"model", "list"}, {"model", "test", "--all"},
		{"trace", "last"}, {"paths"}, {"backup", filepath.Join(dir, "b.gz")}, {"stats"}, {"-v", "tool", "list"},
		{"user", "list"}, {"plugin", "info", "servlet"}, {"tool", "show", "servlet__say"}, {"mcp", "config", "--client", "vscode"}, {"config", "validate"}, {"--json", "doctor"}, {"archive", "list"}} {
		var text bytes.Buffer
		run(t.Context(), append([]string{"--config", config, "--data", data}, args...), term.Env{In: strings.NewReader(""), Out: &text, Err: &text, Lookup: env})
		out["weir "+strings.Join(args, " ")] = text.String()
	}
	stop()
	<-ended
	out["log"] = log.String()
	c.mu.Lock()
	out["spans"] = c.raw.String()
	c.mu.Unlock()
	kept(t, out, data, filepath.Join(dir, "b.gz"))
	if fetched := out["POST /api/tools/servlet__fetch_page/call "+`{"arguments":{"url":"`+echo.URL+`/x"}}`]; !injected.Load() || !strings.Contains(fetched, "no such key") {
		t.Errorf("no key was said back: %s", fetched)
	}
	if !strings.Contains(out["spans"], "invoke_agent") || !strings.Contains(out["log"], "turn") || !strings.Contains(out["GET /metrics "], "weir_model_errors_total") {
		t.Errorf("too little came out: %.300q %.300q", out["spans"], out["log"])
	}
	for place, text := range out {
		for name, secret := range secrets {
			for _, form := range spelt(secret) {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s of %s is in %s: …%.200s", name, form, place, text[max(0, i-80):])
				}
			}
		}
	}
}

// asAnybody asks with a token, and puts down all of the answer.
func asAnybody(t *testing.T, out map[string]string, base, token, method, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out[method+" "+path+" "+body] += fmt.Sprint(resp.StatusCode, resp.Header, string(text))
}

// wary is another MCP server that wants a key, and whose tool fails.
func wary(t *testing.T, key string) string {
	m := mcp.NewServer(&mcp.Implementation{Name: "wary", Version: "1"}, nil)
	mcp.AddTool(m, &mcp.Tool{Name: "refuse"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("not today")
	})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("the key of a server is not sent: %s", r.URL)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// kept puts down every file of the data folder but the token's own, and every
// one of a backup but that, unpacked.
func kept(t *testing.T, out map[string]string, data, backup string) {
	t.Helper()
	err := filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "token" {
			return err
		}
		raw, err := os.ReadFile(path)
		out["file "+path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(backup)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if files++; filepath.Base(h.Name) != "token" {
			out["backup "+h.Name] = string(raw)
		}
	}
	if out["file "+filepath.Join(data, "archive.db")] == "" || files < 2 {
		t.Errorf("too little is kept: %d files in the backup", files)
	}
}
