package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// canaries are secrets that are found again wherever they come out.
func canaries() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"MODEL_KEY", "PLUGIN_KEY", "SERVER_ENV", "SERVER_HEADER", "SERVER_ARG", "SERVER_QUERY", "COLLECTOR_KEY", "MODEL_PASSWORD"} {
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
	// A provider that says back what it was sent.
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"no such key: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	defer echo.Close()
	c := newCollector(t)
	dir, vars := t.TempDir(), map[string]string{"WEIR_NO_PROBE": "1", "WEIR_CACHE": guesttest.Cache(t), "TAVILY_API_KEY": secrets["PLUGIN_KEY"], "HOME": t.TempDir()}
	for name, v := range secrets {
		vars[name] = v
	}
	where := strings.TrimPrefix(echo.URL, "http://")
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
[[plugins.folder]]
path = "`+guesttest.Shipped(t, "search_web")+`"
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
	var log lockedText
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"--config", config, "--data", data, "serve", "--addr", "127.0.0.1:0"}, streams{strings.NewReader(""), &log, &log}, env)
	}()
	var at addressFile
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if raw, err := os.ReadFile(filepath.Join(data, "daemon.json")); err == nil && json.Unmarshal(raw, &at) == nil {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the daemon does not start: " + log.String())
		}
	}
	raw, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(raw))
	secrets["TOKEN"] = token
	out := map[string]string{}
	ask := func(method, path, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, at.URL+path, strings.NewReader(body))
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
		out[method+" "+path+" "+body] = fmt.Sprint(resp.StatusCode, resp.Header, string(text))
	}
	ask("POST", "/api/chat", `{"message":"hello","conversation_id":"talk"}`)
	ask("POST", "/api/chat", `{"message":"hello","model":"n"}`)
	ask("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	ask("POST", "/api/tools/search_web/call", `{"arguments":{}}`)
	ask("POST", "/api/reload", `{}`)
	for _, path := range []string{"/metrics", "/api/settings", "/api/plugins", "/api/plugins/search_web", "/api/models", "/api/tools", "/api/traces", "/api/stats", "/api/archives",
		"/api/conversations/talk/export", "/api/conversations/talk", "/openapi.json", "/readyz", "/no/such/route"} {
		ask("GET", path, "")
	}
	for _, args := range [][]string{{"doctor"}, {"config", "show"}, {"--json", "config", "show"}, {"plugin", "info", "search_web"}, {"plugin", "list"}, {"model", "list"}, {"model", "test", "--all"},
		{"trace", "last"}, {"paths"}, {"backup", filepath.Join(dir, "b.gz")}, {"stats"}, {"-v", "tool", "list"}} {
		var text bytes.Buffer
		run(t.Context(), append([]string{"--config", config, "--data", data}, args...), streams{strings.NewReader(""), &text, &text}, env)
		out["weir "+strings.Join(args, " ")] = text.String()
	}
	stop()
	<-ended
	// The page's address, with the token, is what a start is for.
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "/#token=") {
			out["log"] += line
		}
	}
	c.mu.Lock()
	out["spans"] = c.raw.String()
	c.mu.Unlock()
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

// lockedText is what several goroutines write to.
type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
