package host

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// stray puts guests of testdata into a fresh folder as lone files, as somebody
// would who has downloaded them.
func stray(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		write(t, filepath.Join(dir, name+".wasm"), slurp(t, filepath.Join(guests, name+".wasm")))
	}
	compiled(t, dir)
	return dir
}

// compiled waits for a host of its own that compiles what lies in the folder: on
// a busy machine the first time takes longer than a host waits for a stranger.
func compiled(t testing.TB, dir string) {
	t.Helper()
	h, err := Open(t.Context(), Config{Settings: Settings{Folders: []plugin.Folder{{Path: dir, Trust: plugin.TrustGranted}}}, CacheDir: guesttest.Cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if !testtime.Comes(func() bool {
		return !slices.ContainsFunc(h.Plugins(), func(p plugin.Info) bool { return p.State == plugin.Pending })
	}) {
		t.Fatalf("still not compiled: %+v", h.Plugins())
	}
}

func toolNames(h *Host) string {
	var names []string
	for _, i := range h.Tools() {
		if i.Plugin != "" {
			names = append(names, i.Spec.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestServletRunsUnmodified(t *testing.T) {
	h := open(t, stray(t, "servlet"), nil)
	want := "servlet__blank servlet__count servlet__draw servlet__fail servlet__fetch_page servlet__price servlet__read servlet__refuse servlet__say servlet__settings"
	if got := toolNames(h); got != want {
		t.Fatalf("tools %q, want %q\n%+v", got, want, h.Plugins())
	}
	s := h.Session("me", "c")
	r := call(t, s, "servlet__say", `{"text":"你好"}`)
	if r.Shown.Text != "你好" {
		t.Errorf("say: %q", r.Shown.Text)
	}
	for range 2 { // a variable lives for one call
		if r := call(t, s, "servlet__count", `{}`); r.Shown.Text != "1" {
			t.Errorf("count: %q", r.Shown.Text)
		}
	}
	r = call(t, s, "servlet__draw", `{}`)
	if len(r.Parts) != 1 || r.Parts[0].MIME != "image/png" || string(r.Parts[0].Data) != "\x89PNG dot" || !strings.HasPrefix(r.Shown.Text, "a dot\n") || r.Ref == nil {
		t.Errorf("draw: %+v", r)
	}
	for name, want := range map[string]*tool.Error{
		"servlet__say":    {Code: tool.BadArgs}, // its own schema holds
		"servlet__refuse": {Code: tool.Failed, Msg: "the well is dry"},
		"servlet__fail":   {Code: tool.Failed, Msg: "unknown tool fail"},
		"servlet__blank":  {Code: tool.Failed},
	} {
		if r := try(t, s, name, `{}`); r.Err == nil || r.Err.Code != want.Code || !strings.Contains(r.Err.Msg, want.Msg) {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	// The tools may write: nothing says otherwise.
	kept := call(t, s, "servlet__draw", `{}`)
	if r := try(t, s, "servlet__say", fmt.Sprintf(`{"text":"[Tool result archived: %s]"}`, kept.Ref.UUID)); r.Err == nil || r.Err.Code != tool.Denied {
		t.Errorf("a placeholder is passed on: %+v", r)
	}
}

// What such a plugin may do is in the operator's file and nowhere else.
func TestServletHasWhatItIsGranted(t *testing.T) {
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization")+r.Header.Get("X-Key"))
		fmt.Fprint(w, "a page")
	}))
	defer srv.Close()
	page := fmt.Sprintf(`{"url":%q}`, srv.URL+"/page")
	dir := stray(t, "servlet")

	s := open(t, dir, nil).Session("me", "c")
	if r := call(t, s, "servlet__fetch_page", page); !strings.HasPrefix(r.Shown.Text, "403 ") {
		t.Errorf("without a grant: %q", r.Shown.Text)
	}
	if r := call(t, s, "servlet__settings", `{}`); r.Shown.Text != "api-key= false depth=" {
		t.Errorf("without settings: %q", r.Shown.Text)
	}

	grant := plugin.Grant{Hosts: []plugin.HostGrant{{Host: srv.URL}}, Inject: []plugin.Injection{{Name: "KEY", Host: srv.URL}}, Config: map[string]any{"api-key": "k1", "depth": int64(3)}}
	change := func(c *Config) {
		c.Grants = map[string]plugin.Grant{"servlet": grant}
		c.Secret = func(name string) (string, bool) { return "sesame", name == "KEY" }
		c.Tools = map[string]ToolConfig{"servlet__settings": {Config: map[string]any{"depth": 4}}}
	}
	if r := try(t, open(t, dir, change).Session("me", "c"), "servlet__fetch_page", page); r.Err == nil || r.Err.Code != tool.Denied {
		t.Errorf("it may change something, and nobody was asked: %+v", r)
	}
	unasked := func(c *Config) {
		change(c)
		c.Approvals = approval.Policy{Default: approval.Allow}
	}
	h := open(t, dir, unasked)
	s = h.Session("me", "c")
	if r := call(t, s, "servlet__fetch_page", page); r.Shown.Text != "200 a page" {
		t.Errorf("with a grant: %q", r.Shown.Text)
	}
	if r := call(t, s, "servlet__fetch_page", `{"url":"http://127.0.0.1:1/"}`); !strings.HasPrefix(r.Shown.Text, "403 ") {
		t.Errorf("elsewhere: %q", r.Shown.Text)
	}
	if r := call(t, s, "servlet__settings", `{}`); r.Shown.Text != "api-key=k1 true depth=4" {
		t.Errorf("with settings: %q", r.Shown.Text)
	}
	if len(seen) != 1 || seen[0] != "Bearer sesame" {
		t.Errorf("the server saw %q", seen)
	}
	var asks []string
	for _, a := range h.Plugins()[0].Asks {
		asks = append(asks, fmt.Sprint(a.Kind, " ", a.What, " ", a.Granted))
	}
	if want := fmt.Sprintf("host %s true, secret KEY → %s true", srv.URL, srv.URL); strings.Join(asks, ", ") != want {
		t.Errorf("asks %v, want %s", asks, want)
	}

	folder := t.TempDir()
	write(t, filepath.Join(folder, "note.txt"), []byte("a note"))
	if r := try(t, s, "servlet__read", `{"path":"/notes/note.txt"}`); r.Err == nil {
		t.Errorf("a folder that is not granted: %+v", r)
	}
	grant.Paths = []plugin.PathGrant{{Guest: "/notes", Host: folder}}
	if r := call(t, open(t, dir, unasked).Session("me", "c"), "servlet__read", `{"path":"/notes/note.txt"}`); r.Shown.Text != "a note" {
		t.Errorf("a folder that is granted: %q", r.Shown.Text)
	}

	grant.Inject = []plugin.Injection{{Name: "KEY", Host: srv.URL, Header: "X-Key"}}
	call(t, open(t, dir, unasked).Session("me", "c"), "servlet__fetch_page", page)
	if len(seen) != 2 || seen[1] != "sesame" {
		t.Errorf("the server saw %q", seen)
	}
	for why, g := range map[string]plugin.Grant{
		"its grant names":                            {Hosts: []plugin.HostGrant{{Host: "http://"}}},
		"goes to api.example.com, which is not":      {Inject: []plugin.Injection{{Name: "KEY", Host: "api.example.com"}}},
		"the secret NO_KEY is not set":               {Hosts: []plugin.HostGrant{{Host: "api.example.com"}}, Inject: []plugin.Injection{{Name: "NO_KEY", Host: "api.example.com"}}},
		`the folder granted as /data, "/no/such/dir`: {Paths: []plugin.PathGrant{{Guest: "/data", Host: "/no/such/dir"}}},
	} {
		grant = g
		if p := open(t, dir, change).Plugins()[0]; p.State != plugin.Pending || !strings.Contains(p.Why.String(), why) || p.Fix.IsZero() {
			t.Errorf("%s: %s %q; %q", why, p.State, p.Why, p.Fix)
		}
	}
}

func TestHyperRunsUnmodified(t *testing.T) {
	var log guesttest.LogBook
	h := open(t, stray(t, "hyper"), func(c *Config) { c.Logger = log.Logger() })
	s := h.Session("me", "c")
	r := call(t, s, "hyper__echo", `{"a":[1,"two"]}`)
	if want := `{"context":{"_meta":{"progressToken":"1"},"id":1},"request":{"arguments":{"a":[1,"two"]},"name":"echo"}}`; r.Shown.Text != want {
		t.Errorf("input %s, want %s", r.Shown.Text, want)
	}
	r = call(t, s, "hyper__ask", `{}`)
	want := `{"action":"decline","content":{"error":"this host does not support elicitation"}}
{"role":"assistant","content":{"text":"this host does not support sampling","type":"text"},"model":"","stopReason":"error"}
{"Error":"this host gives out no tokens"}
secret of 0 bytes
0 roots`
	if r.Shown.Text != want {
		t.Errorf("what it may not have:\n%s\nwant:\n%s", r.Shown.Text, want)
	}
	if r = call(t, s, "hyper__structured", `{}`); r.Shown.Text != `{"level":7}` || len(r.Parts) > 0 {
		t.Errorf("structured: %+v", r)
	}
	r = call(t, s, "hyper__parts", `{}`)
	var parts []string
	for _, p := range r.Parts {
		parts = append(parts, fmt.Sprintf("%s %s %d", p.Name, p.MIME, len(p.Data)))
	}
	if got := strings.Join(parts, ", "); got != " image/png 4,  audio/wav 4, blob.bin application/octet-stream 3, structured.json application/json 11" {
		t.Errorf("parts: %s", got)
	}
	if !strings.HasPrefix(r.Shown.Text, "one\n") || !strings.Contains(r.Shown.Text, "\nthe notes\n") || len(r.Sources) != 1 || r.Sources[0].URL != "https://example.com/dams" {
		t.Errorf("text %q, sources %v", r.Shown.Text, r.Sources)
	}
}

// Notifications go where they mean something: to the log, and to whoever
// follows the progress.
func TestHyperNotifies(t *testing.T) {
	var log guesttest.LogBook
	h := open(t, stray(t, "hyper"), func(c *Config) { c.Logger = log.Logger() })
	b := h.current.Load().Tools["hyper__notify"]
	m, err := b.Source.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Source.Release()
	inv, err := b.Invocation(tool.En, 0, []byte("{}"), new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	var progress []string
	inv.Progress = func(done, total int, msg string) {
		progress = append(progress, fmt.Sprintf("%d/%d %s", done, total, msg))
	}
	out, fail := m.Call(t.Context(), inv)
	if fail != nil || !strings.Contains(string(out.Bytes), "done") || out.Relist {
		t.Fatalf("%s %v %v", out.Bytes, out.Relist, fail)
	}
	if got := strings.Join(progress, ", "); got != "25/100 a quarter, 3/4 " {
		t.Errorf("progress %q", got)
	}
	for _, line := range []string{`[WARN]  plugin.hyper: river: {"level":3}: from=log`, `[INFO]  plugin.hyper: plain words: from=log`} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("no line %q in:\n%s", line, log.String())
		}
	}
}

// Settings below a plugin's grant hold for all its tools, also where there is a
// manifest; those of one tool come before them.
func TestSettingsOfThePlugin(t *testing.T) {
	change := func(one, all map[string]any) func(*Config) {
		return func(c *Config) {
			c.Tools = map[string]ToolConfig{"settings": {Config: one}}
			c.Grants = map[string]plugin.Grant{"probe": {Config: all}}
		}
	}
	tests := []struct {
		one, all map[string]any
		want     string // of what the guest reads, or of why it waits
		fix      string
	}{
		{nil, map[string]any{"depth": int64(9)}, "depth=9\nlabel=plain", ""},
		{map[string]any{"depth": int64(4)}, map[string]any{"depth": int64(9), "label": "x"}, "depth=4\nlabel=x", ""},
		{nil, map[string]any{"depth": "deep"}, `the setting depth of [grants.probe] is "deep", and must be of type integer`, "[grants.probe]"},
		{nil, map[string]any{"depht": 2}, "[grants.probe] sets depht, which the plugin does not have", "[grants.probe]"},
		{map[string]any{"depth": "deep"}, map[string]any{"depth": int64(9)}, "the setting depth of [tools.settings] is", "[tools.settings]"},
	}
	for _, tt := range tests {
		h := open(t, drop(t, "probe"), change(tt.one, tt.all))
		p := h.Plugins()[0]
		got := p.Why.String()
		if p.State == plugin.Ready {
			got = call(t, h.Session("me", "c"), "settings", "").Shown.Text
		}
		if !strings.Contains(got, tt.want) || !strings.Contains(p.Fix.String(), tt.fix) {
			t.Errorf("%v over %v: %q; %q", tt.one, tt.all, got, p.Fix)
		}
	}
}
