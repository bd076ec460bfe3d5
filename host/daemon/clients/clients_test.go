//go:build clients

// Package clients tries the daemon with the clients that people use: the npm
// packages of package.json, in the *.test.mjs beside this file. `make
// test-clients` installs and runs them.
package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

const token = "clients-token"

func TestClients(t *testing.T) {
	plugins := guesttest.Shipped(t, "calculator", "long_text")
	everything(t, plugins)
	s := &script{began: make(chan struct{}, 16), ended: make(chan struct{}, 16)}
	scripted := serve(t, plugins, map[string]daemon.Model{"text": {Model: s.model(false)}, "native": {Model: s.model(true)}, "own": {Model: passedOn(t)}}, "text", "native")
	simulated := serve(t, plugins, map[string]daemon.Model{"demo": {Model: demo.New()}}, "demo")
	// It answers when a model that speaks for ever has begun, or was stopped.
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-map[string]chan struct{}{"/began": s.began, "/ended": s.ended}[r.URL.Path]:
		case <-r.Context().Done():
		}
	}))
	defer control.Close()

	// WEIR_CLIENTS names a folder with other tests, as of the Inspector.
	files, err := filepath.Glob(filepath.Join(os.Getenv("WEIR_CLIENTS"), "*.test.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of clients are here: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // it ends what hangs, on a busy machine too
	defer cancel()
	cmd := exec.CommandContext(ctx, node(), append([]string{"--test", "--test-reporter=spec", "--test-timeout=120000", "--test-concurrency=1"}, files...)...)
	cmd.Env = append(os.Environ(), "WEIR_URL="+scripted, "WEIR_DEMO="+simulated, "WEIR_TOKEN="+token, "WEIR_CONTROL="+control.URL, "MASTRA_TELEMETRY_DISABLED=1")
	cmd.Env = append(cmd.Env, stdio(t, plugins)...)
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	t.Logf("%s", &out)
	if err != nil {
		t.Errorf("the clients: %v", err)
	}
}

// serve starts a daemon over the plugins and returns its address. weir's loop asks the first of
// the named models by default, and each of them for a profile of its name: a request for a
// model that is not named is passed through.
func serve(t *testing.T, plugins string, models map[string]daemon.Model, names ...string) string {
	h, err := host.Open(t.Context(), host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: plugins, Trust: "granted"}},
			Archive: archive.Config{Path: filepath.Join(t.TempDir(), "archive.db")},
		},
		CacheDir: guesttest.Cache(t),
		Version:  "0.1.0",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	profiles := map[string]daemon.Profile{"default": {Model: names[0], Agent: agent.Defaults()}}
	for _, name := range names {
		profiles[name] = daemon.Profile{Model: name, Agent: agent.Defaults()}
	}
	d, err := daemon.New(daemon.Config{Host: h, Token: token, Version: "test", Models: models, Profiles: profiles})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	t.Cleanup(srv.Close)
	return srv.URL
}

// everything puts the guest into a folder of plugins that has a tool for each
// thing that an MCP client can meet.
func everything(t *testing.T, folder string) {
	from, to := filepath.Join("..", "mcpserver", "testdata", "everything"), filepath.Join(folder, "everything")
	manifest, err := os.ReadFile(filepath.Join(from, "plugin.toml"))
	if err == nil {
		err = os.MkdirAll(to, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "plugin.toml"), manifest, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	guesttest.Build(t, from, filepath.Join(to, "everything.wasm"))
}

// stdio says how `weir mcp` is started over the same plugins.
func stdio(t *testing.T, plugins string) []string {
	dir := t.TempDir()
	bin, err := guesttest.Program(filepath.Join(guesttest.Root(t), "host", "cmd", "weir"))
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal([]string{"mcp", "--data", filepath.Join(dir, "data"), "--plugins", plugins})
	if err != nil {
		t.Fatal(err)
	}
	return []string{"WEIR_BIN=" + bin, "WEIR_ARGS=" + string(args), "WEIR_CACHE=" + guesttest.Cache(t), "HOME=" + dir}
}

// node is the one that package.json pins, where there is one for this system:
// the clients need a newer one than many systems have.
func node() string {
	if found, _ := filepath.Glob("node_modules/node-linux-*/bin/node"); len(found) > 0 {
		return found[0]
	}
	return "node"
}

// A script is a model whose replies follow from the question's words.
type script struct {
	began, ended chan struct{} // of a model that speaks for ever
	busy         atomic.Int64
}

func (s *script) model(native bool) agent.Model {
	m := replay.Func(func(_ int, r agent.Request) replay.Reply { return s.reply(r, native) })
	return &endless{m.Describing(agent.ModelInfo{Name: "script", Window: 32768, NativeTools: &native}), s}
}

var cities = regexp.MustCompile(`weather in (\w+)(?: and (\w+))?`)

func (s *script) reply(r agent.Request, native bool) replay.Reply {
	last := r.Messages[len(r.Messages)-1]
	switch text := last.Text; {
	case strings.Contains(question(r.Messages), "look up a person"):
		if last.Role != "tool" && !strings.Contains(text, "<tool_result") {
			return call("Let me look it up.", native, tool.Call{ID: "c", Tool: "calculator", Args: json.RawMessage(`{"expression":"6*6"}`)})
		}
		return replay.Text(`{"name":"Ada","age":36}`)
	case last.Role == "tool" || strings.Contains(text, "<tool_result"):
		return replay.Reply{Text: "The tools say: " + results(r.Messages), Chunk: 5, Usage: &agent.Usage{Prompt: 20, Completion: 5}}
	case strings.Contains(text, "weather in"):
		var calls []tool.Call
		for i, city := range cities.FindStringSubmatch(text)[1:] {
			if city != "" {
				calls = append(calls, tool.Call{ID: fmt.Sprint("call_", city, i), Tool: "get_weather", Args: json.RawMessage(fmt.Sprintf(`{"city":%q}`, city))})
			}
		}
		return call("I shall look. ", native, calls...)
	case strings.Contains(text, "calculate"):
		return call("", native, tool.Call{ID: "c", Tool: "calculator", Args: json.RawMessage(`{"expression":"6*7"}`)})
	case strings.Contains(text, "a long text"):
		return call("", native, tool.Call{ID: "l", Tool: "long_text", Args: json.RawMessage(`{}`)})
	case strings.Contains(text, "a person"):
		return replay.Text(`{"name":"Ada","age":36}`)
	case strings.Contains(text, "busy") && s.busy.Add(1)%2 == 1:
		return replay.Reply{Err: &agent.ModelError{Code: agent.ModelRateLimited, Model: "script", Msg: "too many requests", RetryAfter: 10 * time.Millisecond}}
	case strings.Contains(text, "break"):
		return replay.Reply{Text: "Half an ans", Err: &agent.ModelError{Code: agent.ModelCut, Model: "script", Msg: "the stream broke off"}}
	case strings.Contains(text, "how many"):
		n := 0
		for _, m := range r.Messages {
			if m.Role == "user" {
				n++
			}
		}
		return replay.Text(fmt.Sprintf("You have asked %d times.", n))
	}
	return replay.Reply{Text: "Hello from the far side of the weir.", Chunk: 6, Usage: &agent.Usage{Prompt: 10, Completion: 9}}
}

// question is the user's last message that brings no results.
func question(ms []agent.ChatMessage) string {
	for _, m := range slices.Backward(ms) {
		if m.Role == "user" && !strings.Contains(m.Text, "<tool_result") {
			return m.Text
		}
	}
	return ""
}

// call calls in the way of the mode.
func call(text string, native bool, calls ...tool.Call) replay.Reply {
	if native {
		return replay.Reply{Text: text, Calls: calls}
	}
	for _, c := range calls {
		text += replay.Call(c.Tool, string(c.Args)).Text + "\n"
	}
	return replay.Text(text)
}

var resultTag = regexp.MustCompile(`(?s)<tool_result [^>]*>\n(.*?)\n</tool_result>`)

// results joins what the tools of the last round gave.
func results(ms []agent.ChatMessage) string {
	var out []string
	for _, m := range ms {
		switch {
		case m.Role == "tool":
			out = append(out, strings.TrimSpace(m.Text))
		case m.Role == "user":
			out = nil
			for _, found := range resultTag.FindAllStringSubmatch(m.Text, -1) {
				out = append(out, found[1])
			}
		}
	}
	return strings.Join(out, "; ")
}

// endless speaks until it is stopped when it is asked to speak for ever.
type endless struct {
	*replay.Model
	s *script
}

func (m *endless) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	if !strings.Contains(r.Messages[len(r.Messages)-1].Text, "for ever") {
		return m.Model.Generate(ctx, r)
	}
	return func(yield func(agent.Delta, error) bool) {
		m.s.began <- struct{}{}
		defer func() { m.s.ended <- struct{}{} }()
		for yield(agent.Delta{Text: "and on "}, nil) {
			select {
			case <-ctx.Done():
				yield(agent.Delta{}, ctx.Err())
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}
