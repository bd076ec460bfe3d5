//go:build linux

package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// A caller is either way to run a guest.
type caller interface {
	Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error)
}

// newEngine returns an engine in this process that is closed at the end of the test.
func newEngine(t testing.TB, log hclog.Logger) *sandbox.Engine {
	t.Helper()
	e, err := sandbox.New(t.Context(), sandbox.Config{CacheDir: guesttest.Cache(t), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// inline loads a module into this process.
func inline(t testing.TB, pl sandbox.Plugin, log hclog.Logger) caller {
	t.Helper()
	m, err := newEngine(t, log).Load(t.Context(), pl)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// seen is everything that a caller can observe of a call, except times.
type seen struct {
	Text     string
	Fail     [2]string // in English and Chinese
	Progress []string
	Log      string
}

// watch makes a call and returns what can be observed.
func watch(t *testing.T, m caller, book *guesttest.LogBook, inv sandbox.Invocation) seen {
	var s seen
	inv.Progress = func(done, total int, text string) {
		s.Progress = append(s.Progress, fmt.Sprintf("%d/%d %s", done, total, text))
	}
	book.Reset()
	out, fail := m.Call(t.Context(), inv)
	s.Text, s.Log = string(out.Bytes), book.String()
	if fail != nil {
		s.Fail = [2]string{fail.Error(), msg.ToolError(tool.Zh, fail).Error()}
	}
	return s
}

// The same calls inside this process and in a worker cannot be distinguished.
func TestConformance(t *testing.T) {
	// Crashes are described at Debug with the engine's own stack, which differs.
	inlineLog, workerLog := guesttest.LogBook{Level: hclog.Info}, guesttest.LogBook{Level: hclog.Info}
	pl := sandbox.Plugin{Name: "guest", Wasm: goGuest}
	here := inline(t, pl, inlineLog.Logger())
	there := load(t, newPool(t, func(c *Config) { c.Logger = workerLog.Logger() }), pl)

	granted, hidden := t.TempDir(), "hidden.txt"
	for name, text := range map[string]string{"a.txt": "alpha", "sub/b.txt": "beta", hidden: "HIDDEN"} {
		put(t, filepath.Join(granted, name), text)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(granted, "out")); err != nil {
		t.Fatal(err)
	}
	mount := jail.Mount{Guest: "/w", Host: granted, Hide: []string{filepath.Join(granted, hidden)}}
	ro := sandbox.Grant{Mounts: []jail.Mount{mount}}
	mount.Write = true
	rw := sandbox.Grant{Mounts: []jail.Mount{mount}}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Del("Date")
		w.Header()["Date"] = nil
		fmt.Fprintf(w, "%s %s %q", r.Method, r.URL.Path, body)
	}))
	t.Cleanup(server.Close)
	web := sandbox.Grant{HTTP: client(t, server.URL)}
	request := func(url string) string {
		text, _ := json.Marshal(map[string]any{"method": "POST", "url": url, "headers": map[string]string{"X-A": "<b>"}, "body": []byte("hello")})
		return string(text)
	}
	big := strings.Repeat("水 flows ", 60_000)

	for _, row := range []struct {
		name, export, input string
		change              func(*sandbox.Invocation)
	}{
		{"text in several scripts", "echo", `{"q":"大坝 <weir> & \u0000"}`, nil},
		{"nothing in, nothing out", "silent", "", nil},
		{"half a megabyte each way", "echo", big, nil},
		{"a report, log lines and stdout", "talk", "", nil},
		{"a flood of stdout", "flood", "", nil},
		{"a setting", "config", "depth", func(i *sandbox.Invocation) { i.Grant.Config = map[string]string{"depth": "3"} }},
		{"the limits", "config", "weir.max_chars", func(i *sandbox.Invocation) { i.Limits = tool.Limits{MaxChars: 5000} }},
		{"an endless loop", "spin", "", func(i *sandbox.Invocation) { i.Timeout = 2 * time.Second }},
		{"after it", "echo", "again", nil},
		{"an endless sleep", "sleep", "", func(i *sandbox.Invocation) { i.Timeout = 300 * time.Millisecond }},
		{"memory without end", "bigmem", "", nil},
		{"a panic", "panics", "", nil},
		{"an exit that looks like success", "exit", "0", nil},
		{"an exit that does not", "exit", "3", nil},
		{"the guest's own error", "refuses", "no such sheet: 第一页 <b>", nil},
		{"a long one", "refuses", strings.Repeat("<&\x01水", 5000), nil},
		{"an error without a text", "refuses", "", nil},
		{"an error and a crash", "hook", "", nil},
		{"a number for a reason", "seven", "", nil},
		{"output over the limit", "bigout", "3000", func(i *sandbox.Invocation) { i.MaxOutput = 2999 }},
		{"output at the limit", "bigout", "3000", func(i *sandbox.Invocation) { i.MaxOutput = 3000 }},
		{"output that is not there", "claims", "", nil},
		{"a block the host cannot give", "hugealloc", "", nil},
		{"input over the limit", "echo", strings.Repeat("x", 16<<20+1), nil},
		{"no such export", "nothing", "", nil},
		{"what an earlier call left", "spy", "", nil},
		{"what it left again", "spy", "", nil},
		{"a file", "cat", "/w/a.txt", func(i *sandbox.Invocation) { i.Grant = ro }},
		{"a file below", "cat", "/w/sub/b.txt", func(i *sandbox.Invocation) { i.Grant = ro }},
		{"a hidden file", "cat", "/w/" + hidden, func(i *sandbox.Invocation) { i.Grant = ro }},
		{"a link out", "cat", "/w/out", func(i *sandbox.Invocation) { i.Grant = ro }},
		{"by dots", "cat", "/w/../../etc/passwd", func(i *sandbox.Invocation) { i.Grant = ro }},
		{"a whole folder", "walk", "/w", func(i *sandbox.Invocation) { i.Grant = ro }},
		{"nothing granted", "cat", "/w/a.txt", nil},
		{"write where only reading is granted", "files", "write /w/a.txt x", func(i *sandbox.Invocation) { i.Grant = ro }},
		{"write", "files", "write /w/new.txt of the guest", func(i *sandbox.Invocation) { i.Grant = rw }},
		{"read it back", "cat", "/w/new.txt", func(i *sandbox.Invocation) { i.Grant = rw }},
		{"write over a hidden file", "files", "write /w/" + hidden + " x", func(i *sandbox.Invocation) { i.Grant = rw }},
		{"a link", "files", "symlink /w/mine a.txt", func(i *sandbox.Invocation) { i.Grant = rw }},
		{"remove", "files", "remove /w/new.txt", func(i *sandbox.Invocation) { i.Grant = rw }},
		{"a folder that is not there", "echo", "x", func(i *sandbox.Invocation) {
			i.Grant = sandbox.Grant{Mounts: []jail.Mount{{Guest: "/w", Host: "/no/such/folder"}}}
		}},
		{"a request", "http", request(server.URL + "/page?q=1"), func(i *sandbox.Invocation) { i.Grant = web }},
		{"one that is not granted", "http", request("https://example.com/"), func(i *sandbox.Invocation) { i.Grant = web }},
		{"one without any grant", "http", request(server.URL), nil},
		{"one that is no JSON", "http", "GET /", func(i *sandbox.Invocation) { i.Grant = web }},
		{"Extism's own", "exthttp", `{"url":"` + server.URL + `/old","method":"PUT"}`, func(i *sandbox.Invocation) { i.Grant = web }},
	} {
		t.Run(row.name, func(t *testing.T) {
			inv := sandbox.Invocation{Export: row.export, Input: []byte(row.input)}
			if row.change != nil {
				row.change(&inv)
			}
			want, got := watch(t, here, &inlineLog, inv), watch(t, there, &workerLog, inv)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("inline (-) and worker (+) differ:\n%s", diff)
			}
		})
	}
}

// Load refuses invalid files with the same sentences in both.
func TestLoadRefusals(t *testing.T) {
	p := newPool(t, nil)
	e := newEngine(t, nil)
	for _, row := range []struct {
		name string
		pl   sandbox.Plugin
	}{
		{"no file", sandbox.Plugin{}},
		{"a script", sandbox.Plugin{Wasm: []byte("#!/bin/sh\n")}},
		{"half a download", sandbox.Plugin{Wasm: goGuest[:len(goGuest)/2]}},
		{"a missing export", sandbox.Plugin{Wasm: goGuest, Exports: []string{"grep"}}},
		{"code of the wrong type", sandbox.Plugin{Wasm: wasmtest.Exporting("run", 0x42, 0)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.pl.Name = "p"
			_, want := e.Load(t.Context(), row.pl)
			_, got := p.Load(t.Context(), row.pl)
			if want == nil || got == nil || want.Error() != got.Error() {
				t.Errorf("inline: %v\nworker: %v", want, got)
			}
		})
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// client returns an HTTP client that may reach one loopback server.
func client(t *testing.T, server string, secrets ...egress.Secret) *egress.Client {
	t.Helper()
	rule, err := egress.ParseRule(server)
	if err != nil {
		t.Fatal(err)
	}
	c, err := egress.New(egress.Policy{Allow: []egress.Rule{rule}, AllowPrivate: []string{rule.Host}, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
