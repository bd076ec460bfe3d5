package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/tooluse"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

func TestCalls(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	start := c.at
	first := Call{Scope: mine, Turn: 1, CallID: "call_001", Tool: "grep_search", Model: "qwen3:8b", Format: "tool_call", Code: "ok", Layer: "tool",
		Produced: 214_332, Shown: 8000, UUID: someID, Duration: 1500 * time.Microsecond, Created: c.at}
	second := Call{Scope: Scope{Principal: "ann", Conversation: "c2"}, Tool: "read_file", Code: "bad_args", Created: c.at.Add(time.Minute)}
	third := Call{Scope: Scope{Principal: "bob", Conversation: "c1"}, Tool: "read_file"}
	c.forward(2 * time.Minute)
	if err := s.LogCalls(t.Context(), []Call{first, second, third}); err != nil {
		t.Fatal(err)
	}
	third.Created = c.at // filled in
	for name, row := range map[string]struct {
		sc    Scope
		since time.Time
		want  []Call
	}{
		"one conversation": {mine, time.Time{}, []Call{first}},
		"one person":       {Scope{Principal: "ann"}, time.Time{}, []Call{first, second}},
		"everyone":         {Scope{}, time.Time{}, []Call{first, second, third}},
		"since then":       {Scope{}, start.Add(time.Minute), []Call{second, third}},
		"since later":      {Scope{}, c.at.Add(time.Millisecond), nil},
		"nobody's":         {Scope{Conversation: "c1"}, time.Time{}, nil},
		"a newcomer":       {Scope{Principal: "eve"}, time.Time{}, nil},
	} {
		got, err := s.Calls(t.Context(), row.sc, row.since)
		if diff := cmp.Diff(row.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
	if err := s.LogCalls(t.Context(), nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

func TestStats(t *testing.T) {
	s := openTest(t)
	if st, err := s.Stats(t.Context()); err != nil || st.Tools == nil || len(st.Tools) > 0 || st.Archives != 0 || st.FileBytes == 0 {
		t.Errorf("of nothing: %+v, error %v", st, err)
	}
	loaded, kept, dropped := put(t, s, "abc"), put(t, s, "defg"), put(t, s, "h")
	for range 2 {
		if _, err := s.archive.Read(t.Context(), mine, loaded.UUID, archive.Part{}); err != nil {
			t.Fatal(err)
		}
	}
	use := func(name, uuid, layer, code, model, format string, produced, shown int) Call {
		return Call{Scope: mine, Tool: name, UUID: uuid, Layer: layer, Code: code, Model: model, Format: format, Produced: produced, Shown: shown, Duration: time.Millisecond}
	}
	if err := s.LogCalls(t.Context(), []Call{
		use("grep", loaded.UUID, "tool", "ok", "m1", "tool_call", 1000, 100),
		use("grep", kept.UUID, "round", "ok", "m1", "fence", 500, 50),
		use("grep", dropped.UUID, "", "ok", "m1", "tool_call", 10, 10),
		use("grep", "", "", "timed_out", "m1", "fence", 0, 40), // the error's own text is no negative saving
		use("calc", "", "", "", "m0", "native", 3, 3),
		use("grap", "", "", "malformed:unknown_tool", "m1", "fence", 0, 0), // a name the model made up is no tool
		use("", "", "", "malformed:bad_json", "m1", "fence", 0, 0),
		use("", "", "", "malformed:bad_json", "m1", "fence", 0, 0),
		use("", "", "", "malformed:truncated", "m2", "json", 0, 0),
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.archive.Drop(t.Context(), mine, dropped.UUID); err != nil {
		t.Fatal(err)
	}
	got, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got.FileBytes = 0
	want := Stats{
		Tools: []ToolStats{
			{Tool: "grep", Calls: 4, Failed: 1, Cut: 2, Archived: 2, LoadedBack: 1, Produced: 1510, Shown: 200, Saved: 1350, Duration: 4 * time.Millisecond},
			{Tool: "calc", Calls: 1, Produced: 3, Shown: 3, Duration: time.Millisecond},
		},
		Models: []ModelStats{
			{Model: "m0", Format: "native", Calls: 1, Outcomes: map[string]int{"ok": 1}},
			{Model: "m1", Format: "fence", Calls: 2, Failed: 1, Malformed: 3, Misused: 5,
				Outcomes: map[string]int{"ok": 1, "timed_out": 1, "malformed:unknown_tool": 1, "malformed:bad_json": 2}},
			{Model: "m1", Format: "tool_call", Calls: 2, Outcomes: map[string]int{"ok": 2}},
			{Model: "m2", Format: "json", Malformed: 1, Misused: 1, Outcomes: map[string]int{"malformed:truncated": 1}},
		},
		Archives: 2, TextBytes: 7, StoredBytes: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Similar calls are inserted together, by the statement for many; the calls between,
// before and after them one by one. All are read as they were written.
func TestManyCalls(t *testing.T) {
	s := openTest(t)
	at := time.UnixMilli(1_800_000_000_000).UTC()
	var uses []Call
	add := func(n int, like Call) {
		for range n {
			like.CallID, like.Produced, like.Shown = fmt.Sprint("call", len(uses)), len(uses), len(uses)/2
			like.Duration, like.Created = time.Duration(len(uses))*time.Microsecond, at.Add(time.Duration(len(uses))*time.Millisecond)
			uses = append(uses, like)
		}
	}
	echo := Call{Scope: mine, Turn: 1, Tool: "echo", Model: "m", Format: "mcp", Code: "ok"}
	cut, late := echo, echo
	cut.Layer, cut.UUID, cut.View = "tool", someID, `{"text":""}`
	late.Turn = 2
	add(1, late)
	add(2*callsPerStatement+3, echo)
	add(1, cut)
	add(callsPerStatement-1, echo)
	add(callsPerStatement, cut)
	add(callsPerStatement, late)
	if err := s.LogCalls(t.Context(), uses); err != nil {
		t.Fatal(err)
	}
	got, err := s.Calls(t.Context(), Scope{}, time.Time{})
	if diff := cmp.Diff(uses, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// A client that polls makes the same call thousands of times: what its result was cut to is
// stored once, and its calls take no place in the index of results. Each is read as it was.
func TestPoll(t *testing.T) {
	s := openTest(t)
	view := ViewOf(tool.View{Gaps: []tool.Gap{{At: 3078, Chars: 57_834, Lines: 714, First: 39, Last: 752}}, TotalChars: 65_536, TotalLines: 810, By: tool.LayerDefault, Limit: 8000, Unit: "characters"})
	at := time.UnixMilli(1_800_000_000_000).UTC()
	var uses []Call
	add := func(n int, like Call) {
		t.Helper()
		for range n {
			like.CallID, like.Created = fmt.Sprint("G5JXN2PQ4K7A-", len(uses)), at.Add(time.Duration(len(uses))*time.Millisecond)
			uses = append(uses, like)
		}
		for list := range slices.Chunk(uses[len(uses)-n:], 500) {
			if err := s.LogCalls(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
	}
	poll := Call{Scope: mine, Tool: "build_status", Format: "mcp", Code: "ok", Layer: "default", Produced: 65_536, Shown: 7702, UUID: someID, View: view, Duration: 900 * time.Microsecond}
	whole, elsewhere := poll, poll
	whole.View, whole.Layer, whole.Shown = "", "", 65_536
	elsewhere.Scope.Conversation = "c2"
	add(1, poll)
	add(4000, poll)
	add(1, whole)
	add(1000, whole)
	add(1, elsewhere)
	add(1, poll)
	add(1, poll)
	got, err := s.Calls(t.Context(), Scope{}, time.Time{})
	if !slices.Equal(uses, got) || err != nil {
		t.Errorf("error %v, %d calls of %d, or others", err, len(got), len(uses))
	}
	got, err = s.Calls(t.Context(), mine, uses[300].Created)
	if err != nil || len(got) != len(uses)-301 || got[0] != uses[300] {
		t.Errorf("from the 300th on: error %v, %d calls of %d", err, len(got), len(uses)-301)
	}
	if c, err := s.CallOf(t.Context(), mine.Principal, someID); err != nil || c != uses[len(uses)-2] {
		t.Errorf("the call of the result: error %v, %+v, want %+v", err, c, uses[len(uses)-2])
	}
	if n, err := s.db.FileBytes(t.Context()); err != nil || n > 1_000_000 && !pgtest.InPostgres() {
		t.Errorf("error %v, %d bytes", err, n)
	}
}

// The latest calls are those of one principal that succeeded, and are looked for among
// the newest of all only.
func TestLatestCalls(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	log := func(principal, conversation, tool, code string) Call {
		c.forward(time.Second)
		return Call{Scope: Scope{Principal: principal, Conversation: conversation}, Tool: tool, Code: code, Created: c.at}
	}
	calls := []Call{log("ann", "c1", "forgotten", "ok")}
	for range 60 {
		calls = append(calls, log("bob", "c9", "other", "ok"))
	}
	calls = append(calls, log("ann", "c1", "a", "ok"), log("ann", "c1", "b", "denied"), log("ann", "c2", "c", "ok"), log("ann", "c1", "d", "ok"))
	before := c.at.Add(time.Millisecond)
	calls = append(calls, log("ann", "c1", "later", "ok"))
	if err := s.LogCalls(t.Context(), calls); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int][]tooluse.Call{
		3: {{Conversation: "c1", Tool: "a"}, {Conversation: "c2", Tool: "c"}, {Conversation: "c1", Tool: "d"}},
		2: {{Conversation: "c2", Tool: "c"}, {Conversation: "c1", Tool: "d"}},
	} {
		if got, err := s.LatestCalls(t.Context(), "ann", before, n); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d: %v, %v", n, got, err)
		}
	}
	if got, err := s.LatestCalls(t.Context(), "eve", before, 100); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestRanToolsOfScripts: what a stored script has called counts although the log of calls,
// which is written later, does not have it: the script goes on with what it has read.
func TestRanToolsOfScripts(t *testing.T) {
	s := openTest(t)
	scripts, err := s.Scripts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, kept := range map[string]string{"a": `{"made": [{"tool": "read_file"}, {"tool": "nope", "fault": "unknown_tool"}, {"tool": "put", "fault": "denied"}]}`, "b": ""} {
		one := journal.Script{ID: id, Principal: mine.Principal, Conversation: mine.Conversation, Script: []byte("{}"), Kept: []byte(kept)}
		if err := scripts.Add(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	for sc, want := range map[Scope][]string{mine: {"read_file"}, {Principal: mine.Principal}: {"read_file"}, {Principal: mine.Principal, Conversation: "other"}: nil, {Principal: "eve"}: nil} {
		if got, err := s.RanTools(t.Context(), sc); err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %q %v", sc, got, err)
		}
	}
}

// TestRanToolsOfResults: a tool whose result is in the archive has run, although a crash
// kept its call from the log.
func TestRanToolsOfResults(t *testing.T) {
	s := openTest(t)
	putEntry(t, s, archive.Entry{Scope: mine, Tool: "read_file", Full: "text"})
	for sc, want := range map[Scope][]string{mine: {"read_file"}, {Principal: mine.Principal}: {"read_file"}, {Principal: mine.Principal, Conversation: "other"}: nil, {Principal: "eve"}: nil} {
		if got, err := s.RanTools(t.Context(), sc); err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %q %v", sc, got, err)
		}
	}
}

// TestRanToolsThatRefuse: a tool that fails with a code of calls that are refused before
// they run has run: after a restart, what it read counts.
func TestRanToolsThatRefuse(t *testing.T) {
	s := openTest(t)
	for _, code := range []tool.Code{tool.BadArgs, tool.Denied, tool.RateLimited} {
		before := tool.Result{Err: tool.Errorf(code, "", `no: "ran":true`), Approval: &tool.Approval{By: `"ran":true`}}
		after := tool.Result{Err: tool.Errorf(code, "", "the password is 1234"), Stats: tool.Stats{RawBytes: 90}}
		for name, r := range map[string]tool.Result{"before": before, "after": after} {
			c := Call{Scope: mine, Tool: name + string(code), Format: "mcp", Code: string(code), Extra: ExtraOf(r)}
			if err := s.LogCalls(t.Context(), []Call{c}); err != nil || c.Refused() != (name == "before") {
				t.Errorf("%s: refused %v, %v", c.Tool, c.Refused(), err)
			}
		}
	}
	if got, err := s.RanTools(t.Context(), mine); err != nil || !slices.Equal(got, []string{"afterbad_args", "afterdenied", "afterrate_limited"}) {
		t.Errorf("%q %v", got, err)
	}
}
