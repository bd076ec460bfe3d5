package host

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// What a session has left out it finds and loads, and that is not archived again. The
// tools alone are tested in package history.
func TestLoadBringsBackWhatWasLeftOut(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	whole := call(t, s, "bare", `{"Lines":1040,"Width":50}`) // 52,000 characters under 8,000
	if strings.Contains(whole.Shown.Text, "line 600 ") {
		t.Fatal("line 600 was meant to be left out")
	}
	id := whole.Ref.UUID
	if r := call(t, s, tool.SearchHistory, `{"query":"line 600"}`); !strings.Contains(r.Whole(), id) {
		t.Errorf("the search finds %s", r.Whole())
	}
	r := call(t, s, tool.LoadHistory, fmt.Sprintf(`{"uuid":%q,"lines":"600-600"}`, id))
	if !strings.HasPrefix(r.Whole(), "line 600 ") || r.Load == nil || r.Load.UUID != id || !r.Ephemeral || r.Ref != nil {
		t.Errorf("%.60q, %+v", r.Whole(), r.Load)
	}
	list, err := h.Archive().List(t.Context(), s.scope(), archive.Filter{})
	if err != nil || len(list) != 1 || list[0].Loads != 1 {
		t.Errorf("loads must not be archived again: %d entries, %v", len(list), err)
	}
}

// The loads of a turn are counted by session, whatever its language.
func TestASessionCountsItsLoads(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	args := json.RawMessage(fmt.Sprintf(`{"uuid":%q,"lines":"5-6"}`, call(t, s, "bare", `{"Lines":100,"Width":50}`).Ref.UUID))
	for i, s := range []*Session{s, s.In(tool.Zh), s, h.Session("me", "c1")} {
		r, err := s.Call(t.Context(), tool.Call{Tool: tool.LoadHistory, Args: args, Turn: 4})
		if refused := r.Err != nil && r.Err.Code == tool.Denied; err != nil || refused != (i == 2) {
			t.Errorf("load %d: %v, %v", i+1, r.Err, err)
		}
	}
}

func TestLoadOfOthersAnswersLikeMissing(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	id := call(t, h.Session("me", "c1"), "bare", `{"Lines":100,"Width":50}`).Ref.UUID
	args := fmt.Sprintf(`{"uuid":%q}`, id)
	missing := "0198c2f4-6c1e-7d3a-9b52-1f0a4e8d7c66"
	want := try(t, h.Session("me", "c1"), tool.LoadHistory, fmt.Sprintf(`{"uuid":%q}`, missing)).Err
	if want == nil || want.Code != tool.BadArgs || !strings.Contains(want.Msg, missing) || !strings.Contains(want.Hint, tool.SearchHistory) {
		t.Fatalf("a missing one: %v", want)
	}
	for _, s := range []*Session{h.Session("me", "c2"), h.Session("you", "c1")} {
		got := try(t, s, tool.LoadHistory, args).Err
		if got == nil || got.Code != want.Code || strings.Replace(got.Msg, id, missing, 1) != want.Msg || got.Hint != want.Hint {
			t.Errorf("%s/%s: %v", s.principal, s.conversation, got)
		}
		if r := try(t, s, "kept", fmt.Sprintf(`{"a":"@result:%s"}`, id)); r.Err == nil || r.Err.Code != tool.BadArgs {
			t.Errorf("%s/%s passed it on: %q", s.principal, s.conversation, r.Whole())
		}
		if r := call(t, s, tool.SearchHistory, `{"query":"line"}`); strings.Contains(r.Whole(), id) {
			t.Errorf("%s/%s found it: %s", s.principal, s.conversation, r.Whole())
		}
	}
	call(t, h.Session("me", "c1"), tool.LoadHistory, args)
}

func TestResultsArePassedOnByName(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	r := call(t, s, "bare", `{"Lines":100,"Width":50}`)
	got := call(t, s, "write", fmt.Sprintf(`{"Text":"@result:%s"}`, r.Ref.UUID))
	var out struct{ Text string }
	if err := json.Unmarshal([]byte(got.Whole()), &out); err != nil || out.Text != r.Whole() {
		t.Errorf("the tool got %d characters: %v", len(out.Text), err)
	}
	doc := call(t, s, "kept", `{"items":[{"name":"eel"}]}`)
	got = call(t, s, "write", fmt.Sprintf(`{"Text":"@result:%s#/items/0/name"}`, doc.Ref.UUID))
	if !strings.Contains(got.Whole(), "eel") || strings.Contains(got.Whole(), "items") {
		t.Errorf("a part: %s", got.Whole())
	}
	for _, text := range []string{"see @result:" + r.Ref.UUID, "@result:", "@result:x y", "@results:" + r.Ref.UUID} {
		args, _ := json.Marshal(map[string]string{"Text": text})
		if got := call(t, s, "write", string(args)); !strings.Contains(got.Whole(), text) {
			t.Errorf("%q is not a whole argument and stays: %s", text, got.Whole())
		}
	}
	if got := try(t, s, "write", fmt.Sprintf(`{"Text":"@result:%s#/nowhere"}`, doc.Ref.UUID)); got.Err == nil || got.Err.Code != tool.BadArgs {
		t.Errorf("a part that does not exist: %v", got.Err)
	}
	if got := try(t, s, "long", fmt.Sprintf(`{"Lines":"@result:%s"}`, doc.Ref.UUID)); got.Err == nil || !strings.Contains(got.Err.Msg, "whole number") {
		t.Errorf("what is put in is checked against the schema: %v", got.Err)
	}
}

// A reference of 45 bytes can mean 8 MiB: the texts of all of them are bounded, and
// so is their number. The host reads no more than the bound.
func TestReferencesAreBounded(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	big, err := s.Ingest(t.Context(), tool.Call{Tool: "elsewhere"}, []byte(strings.Repeat("a line of the text\n", 380_000)))
	if err != nil || big.Ref == nil {
		t.Fatal(err, big.Err)
	}
	for _, tt := range []struct {
		n    int
		want string
	}{{2, ""}, {4, "more than 16MiB together"}, {5000, "more than 16MiB together"}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := try(t, s, "kept", `{"a":[`+strings.TrimSuffix(strings.Repeat(`"@result:`+big.Ref.UUID+`",`, tt.n), ",")+`]}`)
		runtime.ReadMemStats(&after)
		refused := r.Err != nil && r.Err.Code == tool.TooLarge && strings.Contains(r.Err.Msg, tt.want)
		if refused != (tt.want != "") {
			t.Errorf("%d references: %v", tt.n, r.Err)
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; refused && mib > 64 {
			t.Errorf("%d references took %d MiB", tt.n, mib)
		}
	}
	var items, refs []string
	for i := range maxReferences + 1 {
		items = append(items, fmt.Sprint(i))
	}
	list := call(t, s, "kept", `{"items":[`+strings.Join(items, ",")+`]}`).Ref.UUID
	for _, i := range items {
		refs = append(refs, fmt.Sprintf(`"@result:%s#/items/%s"`, list, i))
	}
	for n, fits := range map[int]bool{maxReferences: true, maxReferences + 1: false} {
		if r := try(t, s, "kept", `{"a":[`+strings.Join(refs[:n], ",")+`]}`); fits != (r.Err == nil) {
			t.Errorf("%d references: %v", n, r.Err)
		}
	}
}

func TestWriteBackGuard(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	r := call(t, s, "bare", `{"Lines":1000,"Width":50}`)
	foreign := "0198c2f4-6c1e-7d3a-9b52-1f0a4e8d7c66"
	tests := []struct {
		name, text string
		denied     bool
	}{
		{"a cut text with its notice", limit.Render(r, tool.En), true},
		{"the same in Chinese", limit.Render(r, tool.Zh), true},
		{"an English placeholder", "📎 [Tool result archived: " + r.Ref.UUID + "]\ntool: bare", true},
		{"a Chinese placeholder", "📎 [工具结果存档: " + r.Ref.UUID + "]\n━━━", true},
		{"a notice without an id", "a\n[28,110 of 35,870 characters (612 of 801 lines) left out by the tool's limit of 8,000. The rest was not kept]", true},
		{"the line of an identical result", "[Identical to the result of 2026-01-02 03:04:05 (uuid " + r.Ref.UUID + "), shown above.", true},
		{"the same in Chinese", "[结果相同: 与上文 2026-01-02 03:04:05 的结果一致（uuid " + r.Ref.UUID + "）。", true},
		{"a cut text that holds many other ids", strings.Repeat(foreign+"\n", 50) + limit.Render(r, tool.En), true},
		{"a notice without an id, in a text with other ids", foreign + "\n[28,110 of 35,870 characters (612 of 801 lines) left out by the tool's limit of 8,000. The rest was not kept]", true},
		{"more foreign placeholders than are looked up", strings.Repeat("[Tool result archived: "+foreign+"]\n", maxOwnMarks+1), true},
		{"somebody else's placeholders, as in a manual", strings.Repeat("[Tool result archived: "+foreign+"]\n", 20), false},
		{"somebody else's placeholder, as in a manual", "📎 [Tool result archived: " + foreign + "]", false},
		{"plain text", "line 1\nline 2", false},
		{"an id in prose", "the run " + r.Ref.UUID + " is done", false},
		{"a call in prose", `use load_tool_history(uuid="…")`, false},
	}
	for _, tt := range tests {
		args, err := json.Marshal(map[string]string{"Text": tt.text})
		if err != nil {
			t.Fatal(err)
		}
		got := try(t, s, "write", string(args))
		if denied := got.Err != nil && got.Err.Code == tool.Denied; denied != tt.denied {
			t.Errorf("%s: %v", tt.name, got.Err)
		}
		if got := try(t, s, "kept", string(args)); got.Err != nil {
			t.Errorf("%s: a tool that only reads may have it: %v", tt.name, got.Err)
		}
	}
}

func TestWholeOfAnArchiveInUserScope(t *testing.T) {
	h := open(t, drop(t, "probe"), func(c *Config) { c.Archive.UserScope = true })
	id := call(t, h.Session("me", "c1"), "bare", `{"Lines":100,"Width":50}`).Ref.UUID
	args := fmt.Sprintf(`{"uuid":%q,"head":1}`, id)
	call(t, h.Session("me", "c2"), tool.LoadHistory, args)
	if r := try(t, h.Session("you", "c1"), tool.LoadHistory, args); r.Err == nil {
		t.Error("another principal's archive was read")
	}
}

func TestArchiveSurvivesTheHost(t *testing.T) {
	dir, path := drop(t, "probe"), filepath.Join(t.TempDir(), "archive.db")
	cfg := Config{Settings: Settings{Folders: []plugin.Folder{{Path: dir}}, Archive: archive.Config{Path: path, URL: pgtest.URL(t, path)}}, CacheDir: guesttest.Cache(t)}
	h, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	id := call(t, h.Session("me", "c1"), "bare", `{"Lines":100,"Width":50}`).Ref.UUID
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = open(t, dir, func(c *Config) { c.Archive.Path = path })
	if r := call(t, h.Session("me", "c1"), tool.LoadHistory, fmt.Sprintf(`{"uuid":%q,"lines":"7-7"}`, id)); !strings.HasPrefix(r.Whole(), "line 7 ") {
		t.Errorf("%q", r.Whole())
	}
}

// What a search or a tool does not take is refused, never passed over: the call
// would run without it, and no error would show that.
func TestUnknownArgumentsAreRefused(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	for _, tt := range []struct{ tool, args, en, zh, why string }{
		{tool.SearchHistory, `{"qeury":"a"}`, `perhaps "query" is meant`, `也许是 "query"`, "a misspelt name"},
		{"long", `{"Liens":9000}`, `"Liens" is not an argument of this tool (perhaps "Lines" is meant)`, `"Liens" 不是该工具的参数（也许是 "Lines"）`, "a plugin's tool"},
	} {
		for l, want := range map[tool.Locale]string{tool.En: tt.en, tool.Zh: tt.zh} {
			r := try(t, h.Session("me", "c1").In(l), tt.tool, tt.args)
			if r.Err == nil || r.Err.Code != tool.BadArgs || !strings.Contains(r.Err.Msg, want) || r.Err.Hint == "" {
				t.Errorf("%s (%s): %v", tt.why, l, r.Err)
			}
		}
	}
}
