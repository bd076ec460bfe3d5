package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/plugins"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
)

// pinnedServer is a daemon over a folder that is not trusted, with a lock.
func pinnedServer(t *testing.T, plugins []string, edit func(*host.Config)) (s *server, dir string) {
	t.Helper()
	s = serverWith(t, replay.New(), func(c *host.Config) {
		dir = guesttest.Shipped(t, plugins...)
		c.Folders = []plugin.Folder{{Path: dir, Trust: plugin.TrustAsk}}
		c.Lock = filepath.Join(t.TempDir(), "weir.lock")
		if edit != nil {
			edit(c)
		}
	})
	return s, dir
}

func reviewOf(t *testing.T, a answer) (r plugin.Review) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &r); err != nil || a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return r
}

func TestApproveOverHTTP(t *testing.T) {
	work := t.TempDir()
	granted := map[string]plugin.Grant{}
	s, dir := pinnedServer(t, []string{"calculator", "read_file"}, nil)
	s.daemon.plugins.Read = func() (map[string]plugin.Grant, error) { return granted, nil }
	r := reviewOf(t, s.get("/api/plugins/read_file"))
	if r.Plugin.State != plugin.Pending || r.Pending == nil || r.Serving != nil || len(r.Pending.Asks) != 1 || r.Pending.Asks[0].Reason.String() != "reads the files it is asked for" || len(r.Pending.SuggestedEdits["paths"]) != 1 {
		t.Fatalf("%+v", r)
	}
	zh := reviewOf(t, s.do("GET", "/api/plugins/read_file", "", func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }))
	if got := zh.Pending.Asks[0].Reason.String(); got != "读取指定的文件" {
		t.Errorf("a reader of Chinese gets %q", got)
	}
	for _, c := range []struct {
		what, name, body string
		status           int
		code             string
	}{
		{"approve", "read_file", `{}`, 400, "bad_body"},
		{"approve", "read_file", `{"digest":"` + strings.Repeat("0", 64) + `"}`, 409, "changed"},
		{"approve", "read_file", `{"digest":"x","by":"the model"}`, 400, "bad_body"},
		{"approve", "nobody", `{"digest":"x"}`, 404, "unknown_plugin"},
		{"rollback", "calculator", `{}`, 404, "no_version"},
		{"rollback", "calculator", `{"digest":"/etc/passwd"}`, 404, "no_version"},
		{"disable", "nobody", `{}`, 404, "unknown_plugin"},
		{"enable", "nobody", ``, 404, "unknown_plugin"},
	} {
		a := s.post("/api/plugins/"+c.name+"/"+c.what, c.body)
		if a.status != c.status || a.code(t) != c.code {
			t.Errorf("%s %s %s: %d %s", c.what, c.name, c.body, a.status, a.body)
		}
	}
	// The file changes between the look and the yes.
	manifest := filepath.Join(dir, "read_file", "plugin.toml")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, append(text, "# one more line\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	yes := fmt.Sprintf(`{"digest":%q,"by":"page"}`, r.Pending.Digest)
	if a := s.post("/api/plugins/read_file/approve", yes); a.code(t) != "changed" {
		t.Errorf("what was not shown was approved: %s", a.body)
	}
	if err := os.WriteFile(manifest, text, 0o644); err != nil {
		t.Fatal(err)
	}
	r = reviewOf(t, s.post("/api/plugins/read_file/approve", yes))
	if r.Plugin.State != plugin.Pending || r.Pending != nil || r.Plugin.Approved.By != "page" || len(r.Serving.SuggestedEdits["paths"]) != 1 {
		t.Errorf("approved, and not granted yet: %+v", r)
	}
	// What tools.toml grants by now is taken up with the next word.
	granted["read_file"] = plugin.Grant{Paths: []plugin.PathGrant{{Guest: "/workspace", Host: work}}}
	r = reviewOf(t, s.post("/api/plugins/read_file/approve", yes))
	if r.Plugin.State != plugin.Ready || !r.History[0].Powers[0].Granted {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(filepath.Join(work, "a.txt"), []byte("good morning"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := s.post("/api/tools/read_file/call", `{"arguments":{"file_path":"a.txt"}}`); !strings.Contains(a.body, "good morning") {
		t.Errorf("%s", a.body)
	}
	if r = reviewOf(t, s.post("/api/plugins/read_file/disable", "")); r.Plugin.State != plugin.Disabled || !strings.Contains(r.Plugin.Why.String(), "disabled by api") {
		t.Errorf("%+v", r.Plugin)
	}
	if a := s.post("/api/tools/read_file/call", `{"arguments":{"file_path":"a.txt"}}`); a.status != 404 {
		t.Errorf("%s", a.body)
	}
	if r = reviewOf(t, s.post("/api/plugins/read_file/enable", `{"by":"cli"}`)); r.Plugin.State != plugin.Ready {
		t.Errorf("%+v", r.Plugin)
	}
	if a := s.do("DELETE", "/api/plugins/read_file?files=all", "", nil); a.code(t) != "bad_query" {
		t.Errorf("%s", a.body)
	}
	if a := s.do("DELETE", "/api/plugins/read_file?files=remove", "", nil); a.status != 200 || !strings.Contains(a.body, "read_file.wasm") {
		t.Errorf("%s", a.body)
	}
	if a := s.get("/api/plugins/read_file"); a.code(t) != "unknown_plugin" {
		t.Errorf("%s", a.body)
	}
}

// What an approval grants is granted and approved together, or neither is. A version
// that serves is not stopped without a second word.
func TestApproveGrants(t *testing.T) {
	granted := map[string]plugin.Grant{}
	s, dir := pinnedServer(t, []string{"fetch_url"}, nil)
	s.daemon.plugins.Read = func() (map[string]plugin.Grant, error) { return maps.Clone(granted), nil }
	s.daemon.plugins.Add = func(name string, add plugin.Grant) (func() error, error) {
		before := granted[name]
		if slices.ContainsFunc(add.Hosts, func(h plugin.HostGrant) bool { return h.Host == "two.example" && len(before.Hosts) == 0 }) {
			return nil, errors.New("the file cannot be written")
		}
		granted[name] = plugin.Grant{Hosts: append(slices.Clone(before.Hosts), add.Hosts...)}
		return func() error { granted[name] = before; return nil }, nil
	}
	manifest := filepath.Join(dir, "fetch_url", "plugin.toml")
	asks := func(hosts ...string) {
		t.Helper()
		list := ""
		for _, h := range hosts {
			list += fmt.Sprintf(`{ host = %q, reason = "reads its pages" }, `, h)
		}
		text, err := os.ReadFile(manifest)
		if err == nil {
			err = os.WriteFile(manifest, regexp.MustCompile(`(?ms)^hosts   = \[.*?^\]`).ReplaceAll(text, []byte("hosts   = [\n"+list+"\n]")), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	say := func(digest, more string) answer {
		return s.post("/api/plugins/fetch_url/approve", fmt.Sprintf(`{"digest":%q%s}`, digest, more))
	}
	asks("one.example")
	r := reviewOf(t, s.get("/api/plugins/fetch_url"))
	if r.Pending == nil || len(r.Pending.Missing) != 1 {
		t.Fatalf("%+v", r)
	}
	if a := say(r.Pending.Digest, `,"grants":[{"kind":"host","what":"two.example"}]`); a.status != 400 || len(granted) > 0 {
		t.Errorf("what it does not ask for: %d %s, %v", a.status, a.body, granted)
	}
	const one, two = `,"grants":[{"kind":"host","what":"one.example"}]`, `,"grants":[{"kind":"host","what":"two.example"}]`
	for only, says := range map[string]string{"two.example": "not a part", "*.example": "not a part", "one.example:444": "not a part", "http://one.example": "not a part", "one example": "write a host"} {
		if a := say(r.Pending.Digest, `,"grants":[{"kind":"host","what":"one.example","only":"`+only+`"}]`); a.status != 400 || !strings.Contains(a.body, says) || len(granted) > 0 {
			t.Errorf("%s: %d %s, %v", only, a.status, a.body, granted)
		}
	}
	if a := say(strings.Repeat("0", 64), one); a.code(t) != "changed" || len(granted) > 0 {
		t.Errorf("other bytes: %s, %v", a.body, granted)
	}
	if r = reviewOf(t, say(r.Pending.Digest, one)); r.Plugin.State != plugin.Ready || !r.History[0].Powers[0].Granted {
		t.Errorf("%+v", r)
	}
	asks("one.example", "two.example")
	r = reviewOf(t, s.get("/api/plugins/fetch_url"))
	if a := say(r.Pending.Digest, ""); a.status != 409 || a.code(t) != "stops_serving" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if r := reviewOf(t, s.get("/api/plugins/fetch_url")); r.Plugin.State != plugin.Ready || r.Pending == nil {
		t.Errorf("the version that serves was stopped: %+v", r.Plugin)
	}
	if r := reviewOf(t, say(r.Pending.Digest, `,"stop":true`)); r.Plugin.State != plugin.Pending {
		t.Errorf("%+v", r.Plugin)
	}
	if r := reviewOf(t, say(r.Pending.Digest, two)); r.Plugin.State != plugin.Ready {
		t.Errorf("granted after the approval: %+v", r.Plugin)
	}
	asks("one.example", "two.example", "three.example", "four.example")
	r = reviewOf(t, s.get("/api/plugins/fetch_url"))
	before := granted["fetch_url"].Hosts
	if a := say(r.Pending.Digest, `,"grants":[{"kind":"host","what":"three.example"}]`); a.code(t) != "stops_serving" || !slices.Equal(granted["fetch_url"].Hosts, before) {
		t.Errorf("a grant without its approval: %d %s, %v", a.status, a.body, granted)
	}
	asks("*.example.com")
	r = reviewOf(t, s.get("/api/plugins/fetch_url"))
	if r := reviewOf(t, say(r.Pending.Digest, `,"grants":[{"kind":"host","what":"*.example.com","only":"api.example.com"}]`)); r.Plugin.State != plugin.Ready || !slices.Contains(granted["fetch_url"].Hosts, plugin.HostGrant{Host: "api.example.com"}) {
		t.Errorf("a part of what it asks for: %+v, %v", r.Plugin, granted)
	}
	asks("one.example", "two.example")
	r = reviewOf(t, s.get("/api/plugins/fetch_url"))
	granted = map[string]plugin.Grant{}
	if a := say(r.Pending.Digest, two); a.status != 409 || a.code(t) != "config" || !strings.Contains(a.body, "cannot be written") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A guest that may reach this machine cannot approve plugins: it has no token.
func TestNoGuestApproves(t *testing.T) {
	s, dir := pinnedServer(t, []string{"fetch_url", "read_file"}, func(c *host.Config) {
		c.Grants = map[string]plugin.Grant{"fetch_url": {Hosts: []plugin.HostGrant{{Host: "http://127.0.0.1:*"}, {Host: "127.0.0.1:*"}}}}
		c.Approvals.Network, c.Approvals.Default = approval.Allow, approval.Allow
	})
	manifest := filepath.Join(dir, "fetch_url", "plugin.toml")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte(strings.NewReplacer(`"http://*"`, `"http://127.0.0.1:*"`, `"*"`, `"127.0.0.1:*"`).Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	r := reviewOf(t, s.get("/api/plugins/fetch_url"))
	reviewOf(t, s.post("/api/plugins/fetch_url/approve", fmt.Sprintf(`{"digest":%q}`, r.Pending.Digest)))
	for _, path := range []string{"/healthz", "/api/plugins", "/api/plugins/read_file", "/api/settings"} {
		var got api.ToolCallResult
		if err := json.Unmarshal([]byte(s.post("/api/tools/fetch_url/call", fmt.Sprintf(`{"arguments":{"url":%q}}`, s.url+path)).body), &got); err != nil {
			t.Fatal(err)
		}
		said := got.Text
		if got.Error != nil {
			said = got.Error.Msg
		}
		switch open := path == "/healthz"; {
		case open && !strings.Contains(said, `"status": "ok"`) && !strings.Contains(said, `"status":"ok"`):
			t.Errorf("the guest should reach the daemon at all: %s", said)
		case !open && (got.OK || !strings.Contains(said, "status 401")):
			t.Errorf("%s: %s", path, said)
		}
	}
	if r := reviewOf(t, s.get("/api/plugins/read_file")); r.Serving != nil {
		t.Errorf("%+v", r.Plugin)
	}
}

// TestReloadTakesAGrantBack has a person take a grant out of the configuration
// while the daemon runs.
func TestReloadTakesAGrantBack(t *testing.T) {
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "a.txt"), []byte("good morning"), 0o600); err != nil {
		t.Fatal(err)
	}
	given := map[string]plugin.Grant{"read_file": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: work, Mode: "ro"}}}}
	s := serverWith(t, replay.New(), func(c *host.Config) {
		c.Folders = []plugin.Folder{{Path: guesttest.Shipped(t, "read_file"), Trust: plugin.TrustGranted}}
		c.Grants = given
	})
	read := func() answer { return s.post("/api/tools/read_file/call", `{"arguments":{"file_path":"a.txt"}}`) }
	now, fault := given, error(nil)
	s.daemon.plugins.Read = func() (map[string]plugin.Grant, error) { return now, fault }
	reload := func() string { return s.post("/api/plugins/reload", "").body }
	if got := reload(); !strings.Contains(got, `"changed":[]`) || !strings.Contains(read().body, "good morning") {
		t.Errorf("the same grants: %s", got)
	}
	now, fault = nil, fmt.Errorf("tools.toml:7:1: unknown key")
	if a := s.post("/api/plugins/reload", ""); a.status != 409 || a.code(t) != "config" || !strings.Contains(a.body, "tools.toml:7:1: unknown key") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := read(); !strings.Contains(a.body, "good morning") {
		t.Errorf("a file with a fault took the grant away: %s", a.body)
	}
	fault = nil
	if got := reload(); !strings.Contains(got, `"waiting":["read_file"]`) {
		t.Errorf("%s", got)
	}
	if a := read(); a.status != 404 || strings.Contains(a.body, "good morning") {
		t.Errorf("%d %s", a.status, a.body)
	}
	now = map[string]plugin.Grant{"read_file": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: t.TempDir(), Mode: "ro"}}}}
	reload()
	now = given
	if got := reload(); !strings.Contains(got, `"changed":["read_file"]`) || !strings.Contains(read().body, "good morning") {
		t.Errorf("another folder is no difference: %s", got)
	}
}

// TestLogOfAPlugin: a plugin has the last lines that the log has of it, and no others.
func TestLogOfAPlugin(t *testing.T) {
	s, _ := pinnedServer(t, []string{"calculator"}, nil)
	lines := func() []api.LogLine {
		return decoded[api.PluginLog](t, s.get("/api/plugins/calculator/log")).Lines
	}
	if got := lines(); got == nil || len(got) != 0 {
		t.Errorf("without a book: %v", got)
	}
	book := &plugins.Logbook{}
	s.daemon.plugins.Book = book
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "weir", Level: hclog.Error, Output: io.Discard})
	log.RegisterSink(book)
	log.Error("of weir")
	log.Named("plugin.other").Error("of another plugin")
	for n := range 150 {
		log.Named("host").Named("plugin.calculator").Info(fmt.Sprint("line ", n), "from", "stdout")
	}
	log.Named("plugin.calculator").Warn(strings.Repeat("堰", 1000))
	got := lines()
	if len(got) != 100 || got[0].Text != "line 51 from=stdout" || got[0].Level != "info" || got[0].At.IsZero() {
		t.Fatalf("%d lines, %+v", len(got), got[0])
	}
	if last := got[99]; last.Text != strings.Repeat("堰", 166) || last.Level != "warn" {
		t.Errorf("%+v", last)
	}
	if a := s.get("/api/plugins/nobody/log"); a.code(t) != "unknown_plugin" {
		t.Errorf("%s", a.body)
	}
}
