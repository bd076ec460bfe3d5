package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func keep(t *testing.T, s *Session, name, whole string) tool.Result {
	t.Helper()
	r, err := s.Ingest(t.Context(), tool.Call{ID: "k1", Tool: name, Args: json.RawMessage(`{"q":"x"}`)}, []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestIngestGoesTheWayOfEveryResult(t *testing.T) {
	h := open(t, drop(t, "probe"), func(cfg *Config) {
		cfg.Defaults = tool.Limits{MaxChars: 5000}
		cfg.CeilingChars = 6000
		cfg.Tools = map[string]ToolConfig{"theirs": {Limits: tool.Limits{MaxChars: 3000}}, "greedy": {Limits: tool.Limits{MaxChars: 90000}}}
	})
	s := h.Session("me", "c1")
	long := strings.Repeat("one line of text\n", 3000)
	for _, row := range []struct {
		tool, whole string
		limit       int // 0: shown whole
		by          tool.Layer
		kept        bool
		why         string
	}{
		{"unknown", long, 5000, tool.LayerDefault, true, "a tool that nobody declared has the defaults"},
		{"long", long, 2000, tool.LayerTool, true, "a tool of this host has its own limit"},
		{"theirs", long, 3000, tool.LayerOperator, true, "the operator may limit tools that are elsewhere"},
		{"greedy", long, 6000, tool.LayerCeiling, true, "nothing passes the ceiling"},
		{"unknown", strings.Repeat("x", 1000), 0, tool.LayerNone, false, "1,000 characters are not over 1,000"},
		{"unknown", strings.Repeat("长", 1001), 0, tool.LayerNone, true, "1,001 are, and are shown whole"},
		{"unkept", long, 400, tool.LayerTool, false, "a tool that says never is not kept"},
		{"unknown", "", 0, tool.LayerNone, false, "nothing is nothing"},
	} {
		r := keep(t, s, row.tool, row.whole)
		if r.Err != nil || r.Shown.By != row.by || r.Shown.Limit != row.limit || (r.Ref != nil) != row.kept {
			t.Errorf("%s: limit %d by %q, ref %v, error %v", row.why, r.Shown.Limit, r.Shown.By, r.Ref, r.Err)
		}
		if chars, _ := limit.Count(limit.Render(r, tool.En)); row.limit > 0 && chars > row.limit {
			t.Errorf("%s: rendered in %d characters", row.why, chars)
		}
		if r.Ref == nil {
			continue
		}
		e, err := h.Archive().Get(t.Context(), s.scope(), r.Ref.UUID)
		if err != nil || e.Full != row.whole || e.Tool != row.tool || string(e.Input) != `{"q":"x"}` || e.CallID != "k1" {
			t.Errorf("%s: archived %d characters of %s(%s) as %q: %v", row.why, e.Chars, e.Tool, e.Input, e.CallID, err)
		}
	}
}

// What was kept is normalised, and a session of the same conversation loads it.
func TestKeptResultsAreLoadedBack(t *testing.T) {
	h := open(t, t.TempDir(), nil)
	s := h.Session("me", "c1")
	raw := strings.Repeat("\x1b[31mred\x1b[0m \xff\r\n", 400)
	r := keep(t, s, "shell", raw)
	want := limit.Normalise([]byte(raw))
	if r.Ref == nil || r.Whole() != want || strings.Contains(r.Whole(), "\x1b") {
		t.Fatalf("ref %v, whole %.80q", r.Ref, r.Whole())
	}
	if got, err := h.Archive().(*archive.SQLite).Raw(t.Context(), s.scope(), r.Ref.UUID); err != nil || string(got) != raw {
		t.Errorf("the raw bytes are %.40q: %v", got, err)
	}
	l := call(t, h.Session("me", "c1"), "load_tool_history", `{"uuid":"`+r.Ref.UUID+`","lines":"2-2"}`)
	if l.Err != nil || l.Whole() != "red \uFFFD\n" {
		t.Errorf("loaded %q: %v", l.Whole(), l.Err)
	}
	l, err := h.Session("you", "c1").Call(t.Context(), tool.Call{Tool: "load_tool_history", Args: json.RawMessage(`{"uuid":"` + r.Ref.UUID + `"}`)})
	if err != nil || l.Err == nil || l.Err.Code != tool.BadArgs {
		t.Errorf("another principal: %v, %v", l.Err, err)
	}
}

func TestIngestRefuses(t *testing.T) {
	h := open(t, t.TempDir(), nil)
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		s := h.Session("me", "c1").In(l)
		for _, row := range []struct {
			tool, whole string
			code        tool.Code
		}{
			{"", "text", tool.BadArgs},
			{"  ", "text", tool.BadArgs},
			{"two\nlines", "text", tool.BadArgs},
			{strings.Repeat("n", 81), "text", tool.BadArgs},
			{"load_tool_history", "text", tool.Denied},
			{"search_tool_history", "text", tool.Denied},
		} {
			r := keep(t, s, row.tool, row.whole)
			if r.Err == nil || r.Err.Code != row.code || r.Err.Msg == "" || r.Err.Hint == "" || r.Ref != nil {
				t.Errorf("%s %.20q: %v, ref %v", l, row.tool, r.Err, r.Ref)
			}
		}
	}
	if list, err := h.Archive().List(t.Context(), archive.Scope{Principal: "me", Conversation: "c1"}, archive.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("%d were archived all the same: %v", len(list), err)
	}
}

func TestIngestKeepsTheBeginning(t *testing.T) {
	s := open(t, t.TempDir(), nil).Session("me", "c1")
	for name, whole := range map[string]string{
		"big": strings.Repeat("x", tool.MaxWhole+1),
		"bad": strings.Repeat("a\xff", tool.MaxWhole/2), // three bytes each when normalised
	} {
		if r := keep(t, s, name, whole); r.Err != nil || !r.Incomplete || r.Ref == nil || !strings.Contains(r.Whole()[tool.MaxWhole-2:], "only its first 8MiB were kept") {
			t.Errorf("%s: %v, incomplete %v, ref %v", name, r.Err, r.Incomplete, r.Ref)
		}
	}
}

func TestIngestStops(t *testing.T) {
	h := open(t, t.TempDir(), nil)
	s := h.Session("me", "c1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Ingest(ctx, tool.Call{Tool: "x"}, []byte("text")); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ingest(t.Context(), tool.Call{Tool: "x"}, []byte("text")); !errors.Is(err, ErrClosed) {
		t.Errorf("on a closed host: %v", err)
	}
}

// A caller that goes away between a tool's end and the archive loses nothing,
// and the log has no error.
func TestKeptForACallerWhoWent(t *testing.T) {
	var log guesttest.LogBook
	h := open(t, t.TempDir(), func(c *Config) { c.Logger = log.Logger() })
	s := h.Session("me", "c1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	whole := strings.Repeat("a line of the result\n", 500)
	if _, err := s.Ingest(ctx, tool.Call{Tool: "x"}, []byte(whole)); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller is told: %v", err)
	}
	list, err := h.Archive().List(t.Context(), s.scope(), archive.Filter{})
	if err != nil || len(list) != 1 || list[0].Chars != len(whole) {
		t.Errorf("the archive holds %+v: %v", list, err)
	}
	if strings.Contains(log.String(), "[ERROR]") {
		t.Errorf("logged:\n%s", log.String())
	}
}
