package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

var mine = archive.Scope{Principal: "me", Conversation: "c1"}

// A desk has the tools over an archive with one result of 1,040 lines of 50 characters.
type desk struct {
	*testing.T
	tools   Tools
	archive *archive.SQLite
	id      string // of the result
	log     strings.Builder
}

func newDesk(t *testing.T, change ...func(*archive.Config)) *desk {
	t.Helper()
	cfg := archive.Config{Path: filepath.Join(t.TempDir(), "archive.db")}
	for _, f := range change {
		f(&cfg)
	}
	a, err := archive.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{T: t, archive: a}
	d.tools = Tools{Store: a, Log: hclog.New(&hclog.LoggerOptions{Output: &d.log})}
	d.id = d.put(archive.Entry{Scope: mine, Tool: "bare", Input: json.RawMessage(`{"Lines":1040}`), Full: wholeOf(1040)})
	return d
}

// wholeOf returns n lines of 50 characters.
func wholeOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%-49s\n", fmt.Sprint("line ", i+1, " "))
	}
	return b.String()
}

func (d *desk) put(e archive.Entry) string {
	d.Helper()
	e, err := d.archive.Put(d.Context(), e)
	if err != nil {
		d.Fatal(err)
	}
	return e.UUID
}

// ask calls a tool in mine; %q in args is the id of the result.
func (d *desk) ask(name, args string) tool.Result {
	return d.answer(Request{Scope: mine, Locale: tool.En, Call: tool.Call{Tool: name, Args: json.RawMessage(strings.ReplaceAll(args, "%q", `"`+d.id+`"`))}})
}

func (d *desk) answer(r Request) tool.Result {
	if r.Repeats == nil {
		r.Repeats = &Repeats{}
	}
	return d.tools.Answer(d.Context(), r)
}

func hasChinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

func TestLoadSelectsAPart(t *testing.T) {
	d := newDesk(t)
	for _, tt := range []struct {
		args     string
		text     string // in what is loaded
		chars    int    // of everything selected; 0: any number
		selected string // the selectors that go on
	}{
		{`"lines":"600-600"`, "line 600 ", 50, `{"lines":"600-600"}`},
		{`"lines":600`, "line 600 ", 50, `{"lines":"600-600"}`}, // as models write it
		{`"lines":"1039-"`, "line 1039 ", 100, `{"lines":"1039-"}`},
		{`"grep":"^line 77 "`, "77:line 77 ", 0, `{"grep":"^line 77 "}`},
		{`"tail":1`, "line 1040 ", 50, `{"tail":1}`},
		{`"offset":51950`, "line 1040 ", 52000, ``},
	} {
		r := d.ask(tool.LoadHistory, `{"uuid":%q,`+tt.args+`}`)
		if r.Err != nil || r.Load == nil || r.Load.UUID != d.id || !r.Ephemeral || r.Ref != nil || !strings.Contains(r.Whole(), tt.text) {
			t.Errorf("%s: %v, %.60q, %+v", tt.args, r.Err, r.Whole(), r.Load)
			continue
		}
		if tt.chars > 0 && r.Load.Chars != tt.chars || string(r.Load.Args) != tt.selected {
			t.Errorf("%s: %+v %s", tt.args, r.Load, r.Load.Args)
		}
	}
}

// The second page follows the first, and an agent with more room can show all of it.
func TestLoadIsPaged(t *testing.T) {
	d := newDesk(t)
	r := d.ask(tool.LoadHistory, `{"uuid":%q}`)
	if n, _ := limit.Count(limit.Render(r, tool.En)); n > LoadChars || n < LoadChars*9/10 || r.Shown.By != tool.LayerLoad {
		t.Errorf("the first page has %d characters by %q", n, r.Shown.By)
	}
	if len(r.Whole()) != 52000 {
		t.Errorf("the whole has %d characters", len(r.Whole()))
	}
	shown, _ := limit.Count(r.Shown.Text)
	next := d.ask(tool.LoadHistory, fmt.Sprintf(`{"uuid":%%q,"offset":%d}`, shown))
	if r.Shown.Text+next.Whole() != r.Whole() || next.Load.Offset != shown {
		t.Error("the second page does not follow the first")
	}
}

func TestLoadSaysThatNoLineMatches(t *testing.T) {
	d := newDesk(t)
	for l, want := range map[tool.Locale]string{tool.En: "No line", tool.Zh: "没有一行"} {
		r := d.answer(Request{Scope: mine, Locale: l, Call: tool.Call{Tool: tool.LoadHistory, Args: json.RawMessage(`{"uuid":"` + d.id + `","grep":"herring"}`)}})
		if r.Err != nil || !strings.Contains(r.Shown.Text, want) || !strings.Contains(r.Shown.Text, `"herring"`) {
			t.Errorf("%v %+v", r.Err, r.Shown)
		}
	}
}

// A result that has been removed names the call to make again, without arguments that are
// long.
func TestLoadOfARemovedResult(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := newDesk(t, func(c *archive.Config) { c.MaxAge, c.Now = time.Hour, func() time.Time { return now } })
	long := d.put(archive.Entry{Scope: mine, Tool: "wordy", Input: json.RawMessage(`{"a":"` + strings.Repeat("x", 600) + `"}`), Full: "x"})
	now = now.Add(2 * time.Hour)
	if _, err := d.archive.Prune(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{d.id: `make the call again: bare({"Lines":1040})`, long: "make the call of wordy again"} {
		e := d.ask(tool.LoadHistory, `{"uuid":"`+id+`"}`).Err
		if e == nil || e.Code != tool.Expired || e.Hint != want || !strings.Contains(e.Msg, id) {
			t.Errorf("%+v", e)
		}
	}
}

// What another user or conversation has is refused as what nobody has.
func TestLoadOfOthersIsMissing(t *testing.T) {
	d := newDesk(t)
	const missing = "0198c2f4-6c1e-7d3a-9b52-1f0a4e8d7c66"
	want := d.ask(tool.LoadHistory, `{"uuid":"`+missing+`"}`).Err
	if want == nil || want.Code != tool.BadArgs || !strings.Contains(want.Msg, missing) || !strings.Contains(want.Hint, tool.SearchHistory) {
		t.Fatalf("a missing one: %v", want)
	}
	for _, sc := range []archive.Scope{{Principal: "me", Conversation: "c2"}, {Principal: "you", Conversation: "c1"}} {
		got := d.answer(Request{Scope: sc, Call: tool.Call{Tool: tool.LoadHistory, Args: json.RawMessage(`{"uuid":"` + d.id + `"}`)}}).Err
		if got == nil || got.Code != want.Code || strings.Replace(got.Msg, d.id, missing, 1) != want.Msg || got.Hint != want.Hint {
			t.Errorf("%+v: %v", sc, got)
		}
	}
}

// A part can be loaded twice in a turn, however it is written. Calls outside of turns are
// not counted.
func TestRepeatedLoads(t *testing.T) {
	d := newDesk(t)
	repeats := &Repeats{}
	load := func(turn int, args string) *tool.Error {
		return d.answer(Request{Scope: mine, Repeats: repeats, Call: tool.Call{Tool: tool.LoadHistory, Turn: turn, Args: json.RawMessage(strings.ReplaceAll(args, "%q", `"`+d.id+`"`))}}).Err
	}
	same := []string{`{"uuid":%q,"lines":"5-6"}`, `{"lines":"5-6", "uuid":%q}`, `{"uuid":%q,"lines":[5,6]}`} // one part, written thrice
	for i, args := range same {
		if e := load(4, args); (e != nil && e.Code == tool.Denied) != (i == 2) {
			t.Errorf("load %d: %v", i+1, e)
		}
	}
	if e := load(4, `{"uuid":%q,"lines":"5-7"}`); e != nil {
		t.Errorf("another part: %v", e)
	}
	if e := load(5, same[0]); e != nil {
		t.Errorf("another turn: %v", e)
	}
	for range 4 {
		if e := load(0, same[0]); e != nil {
			t.Errorf("a call outside of any turn: %v", e)
		}
	}
}

// For how many turns a load stays is what its argument says, within bounds.
func TestKeepTurns(t *testing.T) {
	d := newDesk(t)
	for args, want := range map[string]int{ // -1: refused
		``: 0, `,"keep_turns":3`: 3, `,"keep_turns":"10"`: 10, `,"Keep_Turns":2,"lines":"5-6"`: 2, `,"keep_turns":""`: 0, `,"keep_turns":null`: 0,
		`,"keep_turns":0`: -1, `,"keep_turns":11`: -1, `,"keep_turns":-1`: -1, `,"keep_turns":1.5`: -1, `,"keep_turns":[3]`: -1, `,"keep_turns":"for ever"`: -1,
	} {
		r := d.ask(tool.LoadHistory, `{"uuid":%q`+args+`}`)
		if want >= 0 && (r.Err != nil || r.Load.KeepTurns != want) {
			t.Errorf("%s: %v, %+v", args, r.Err, r.Load)
		}
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			e := msg.ToolError(l, r.Err)
			if want < 0 && (e == nil || e.Code != tool.BadArgs || !strings.Contains(e.Msg, "keep_turns") || hasChinese(e.Msg) != (l == tool.Zh)) {
				t.Errorf("%s: %v", args, e)
			}
		}
	}
}

func TestSearch(t *testing.T) {
	d := newDesk(t)
	r := d.ask(tool.SearchHistory, `{"query":"line 42"}`)
	if r.Err != nil || !strings.Contains(r.Whole(), d.id) || !strings.Contains(r.Whole(), "\n42: line 42\n") || !r.Ephemeral || r.Ref != nil {
		t.Errorf("%+v: %s", r, r.Whole())
	}
	none := Request{Scope: mine, Locale: tool.Zh, Call: tool.Call{Tool: tool.SearchHistory, Args: json.RawMessage(`{"query":"herring"}`)}}
	if r := d.answer(none); !strings.Contains(r.Whole(), "没有找到") || !strings.Contains(r.Whole(), `"herring"`) || strings.Contains(r.Whole(), "所有会话") {
		t.Errorf("nothing found: %s", r.Whole())
	}
	none.Across = true
	if r := d.answer(none); !strings.Contains(r.Whole(), "所有会话") {
		t.Errorf("nothing found in all conversations: %s", r.Whole())
	}
}

// What a search does not take is refused, never passed over, in both languages.
func TestArgumentsOfASearch(t *testing.T) {
	d := newDesk(t)
	for _, tt := range []struct{ args, en, zh string }{
		{`{"query":"a","tool":"grep"}`, `"tool" is not an argument`, `"tool" 不是该工具的参数`},
		{`{"qeury":"a"}`, `perhaps "query" is meant`, `也许是 "query"`},
		{`{"query":5}`, `must be a string`, `必须是字符串`},
		{`{}`, `"query" is missing`, `缺少 "query"`},
		{`{"query":" "}`, `"query" is missing`, `缺少 "query"`},
		{`[]`, `"query" is missing`, `缺少 "query"`},
	} {
		for l, want := range map[tool.Locale]string{tool.En: tt.en, tool.Zh: tt.zh} {
			e := msg.ToolError(l, d.answer(Request{Scope: mine, Locale: l, Call: tool.Call{Tool: tool.SearchHistory, Args: json.RawMessage(tt.args)}}).Err)
			if e == nil || e.Code != tool.BadArgs || !strings.Contains(e.Msg, want) || e.Hint == "" {
				t.Errorf("%s (%s): %+v", tt.args, l, e)
			}
		}
	}
	if e := d.ask(tool.LoadHistory, `{"uuid":%q,"linse":"1-2"}`).Err; e == nil || e.Code != tool.BadArgs || !strings.Contains(e.Msg, "linse") {
		t.Errorf("a misspelt selector: %v", e)
	}
}

// What is near in meaning comes after what has the words, unless it is far or was found by
// its words. Where the model fails, the search goes by words alone.
func TestSearchByMeaning(t *testing.T) {
	d := newDesk(t)
	boat, far := archive.Entry{UUID: "b0a7", Tool: "boats", Summary: "a vessel"}, archive.Entry{UUID: "fa4", Tool: "far"}
	var fails error
	d.tools.Near = func(_ context.Context, sc archive.Scope, text string, _ int) ([]archive.Near, error) {
		if sc != mine || text != "line 42" {
			t.Errorf("asked for %q in %+v", text, sc)
		}
		found := archive.Entry{UUID: d.id, Tool: "bare"}
		return []archive.Near{{Entry: found, Score: 0.9}, {Entry: boat, First: 3, Last: 7, Score: 0.6}, {Entry: far, Score: 0.1}}, fails
	}
	got := d.ask(tool.SearchHistory, `{"query":"line 42"}`).Whole()
	if !strings.Contains(got, "uuid=b0a7 boats") || !strings.Contains(got, `lines="3-7" (0.60) a vessel`) || strings.Contains(got, "fa4") || strings.Count(got, "uuid="+d.id) != 1 {
		t.Error(got)
	}
	fails = errors.New("no model")
	if got := d.ask(tool.SearchHistory, `{"query":"line 42"}`).Whole(); strings.Contains(got, "b0a7") || !strings.Contains(got, d.id) || !strings.Contains(d.log.String(), "no model") {
		t.Errorf("%s\n%s", got, d.log.String())
	}
}

// An error of the store is logged, and the model reads nothing of it.
func TestAnArchiveThatCannotBeRead(t *testing.T) {
	d := newDesk(t)
	e := d.tools.Error(t.Context(), mine, errors.New("disk I/O error"), d.id, archive.Entry{})
	if e.Code != tool.Failed || strings.Contains(e.Msg+e.Hint, "I/O") || !strings.Contains(d.log.String(), "disk I/O error") {
		t.Errorf("%+v; the log: %s", e, d.log.String())
	}
	gone, end := context.WithCancel(t.Context())
	end()
	if e := d.tools.Error(gone, mine, errors.New("x"), d.id, archive.Entry{}); e.Code != tool.Cancelled {
		t.Errorf("%+v", e)
	}
}

func TestSpecs(t *testing.T) {
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		for _, spec := range append(Specs(l, false), Specs(l, true)...) {
			var schema struct {
				Type       string
				Properties map[string]struct{ Description string }
			}
			if err := json.Unmarshal(spec.Params, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 {
				t.Errorf("%s: %v", spec.Name, err)
			}
			if len(spec.Description) > 1024 || len(spec.DescriptionZh) > 1024 || !hasChinese(spec.DescriptionZh) || hasChinese(spec.Description) {
				t.Errorf("%s: descriptions of %d and %d bytes", spec.Name, len(spec.Description), len(spec.DescriptionZh))
			}
			for name, p := range schema.Properties {
				if hasChinese(p.Description) != (l == tool.Zh) {
					t.Errorf("%s in %s: %s: %s", spec.Name, l, name, p.Description)
				}
			}
		}
		if once := string(LoadOnce(l)); !json.Valid([]byte(once)) || strings.Contains(once, "keep_turns") {
			t.Error(once)
		}
	}
	for _, word := range []string{"之前", "刚才", "上次说的", "只在确实需要历史详情时调用"} {
		if zh := Specs(tool.Zh, false)[0].Describe(tool.Zh); !strings.Contains(zh, word) {
			t.Errorf("the description of %s lacks %q", tool.LoadHistory, word)
		}
	}
}
