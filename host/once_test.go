package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func TestIdenticalResultsAreKeptOnce(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	first := call(t, s, "bare", `{"Lines":100,"Width":50}`)
	if first.Ref.Again {
		t.Fatal("the first is identical to nothing")
	}
	for _, row := range []struct {
		session    *Session
		tool, args string
		again      bool
		why        string
	}{
		{s, "bare", `{"Lines":100,"Width":50}`, true, "the same call, the same text"},
		{h.Session("me", "c1"), "bare", `{"Width":50, "Lines":100}`, true, "the order of the arguments does not matter, nor does the session"},
		{s, "bare", `{"Lines":101,"Width":50}`, false, "other arguments"},
		{s, "long", `{"Lines":100,"Width":50}`, false, "another tool"},
		{h.Session("me", "c2"), "bare", `{"Lines":100,"Width":50}`, false, "another conversation"},
		{h.Session("you", "c1"), "bare", `{"Lines":100,"Width":50}`, false, "another principal"},
	} {
		r := call(t, row.session, row.tool, row.args)
		if r.Ref.Again != row.again || (r.Ref.UUID == first.Ref.UUID) != row.again || row.again && !r.Ref.CreatedAt.Equal(first.Ref.CreatedAt) {
			t.Errorf("%s: %+v", row.why, r.Ref)
		}
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			text := limit.Render(r, l)
			if told := strings.Contains(text, "(uuid "+first.Ref.UUID) || strings.Contains(text, "（uuid "+first.Ref.UUID); told != row.again || !strings.Contains(text, "line 1 ") {
				t.Errorf("%s: told %v in %.160q", row.why, told, text)
			}
		}
	}
	list, err := h.Archive().List(t.Context(), s.scope(), archive.Filter{Limit: -1})
	if err != nil || len(list) != 3 {
		t.Errorf("%d rows for three different results: %v", len(list), err)
	}
}

// Of many identical calls at once one row stays, and everyone refers to it.
func TestIdenticalResultsAtOnce(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	var mu sync.Mutex
	ids := map[string]int{}
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			r, err := s.Call(t.Context(), tool.Call{Tool: "bare", Args: json.RawMessage(`{"Lines":60,"Width":50}`)})
			if err != nil || r.Ref == nil {
				t.Errorf("%v, %v", r.Ref, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[r.Ref.UUID]++
		})
	}
	wg.Wait()
	list, err := h.Archive().List(t.Context(), s.scope(), archive.Filter{})
	if err != nil || len(list) != 1 || ids[list[0].UUID] != 12 {
		t.Errorf("%d rows, referred to as %v: %v", len(list), ids, err)
	}
}

// A client without conversations that polls adds one row, and is not told of a result that
// another client may have read.
func TestPollsAreKeptOnce(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "mcp").AcrossConversations()
	first := call(t, s, "bare", `{"Lines":100,"Width":50}`)
	for range 3 {
		if r := call(t, s, "bare", `{"Lines":100,"Width":50}`); r.Ref.Again || r.Ref.UUID != first.Ref.UUID || !strings.Contains(limit.Render(r, tool.En), "line 1 ") {
			t.Errorf("%+v", r.Ref)
		}
	}
	list, err := h.Archive().List(t.Context(), s.scope(), archive.Filter{})
	if err != nil || len(list) != 1 || list[0].Summary == "" {
		t.Errorf("%+v: %v", list, err)
	}
}

// What went from the archive is not referred to.
func TestIdenticalToWhatIsGone(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	first := call(t, s, "bare", `{"Lines":100,"Width":50}`)
	if err := h.Archive().(*archive.SQLite).Drop(t.Context(), s.scope(), first.Ref.UUID); err != nil {
		t.Fatal(err)
	}
	r := call(t, s, "bare", `{"Lines":100,"Width":50}`)
	if r.Ref.Again || r.Ref.UUID == first.Ref.UUID {
		t.Errorf("%+v", r.Ref)
	}
	call(t, s, tool.LoadHistory, fmt.Sprintf(`{"uuid":%q}`, r.Ref.UUID))
}

// Two results with the same text and different parts are two.
func TestPartsAreNeverTakenForIdentical(t *testing.T) {
	h := open(t, t.TempDir(), nil)
	s := h.Session("me", "c1")
	e := archive.Entry{Scope: s.scope(), Tool: "shot", Input: json.RawMessage(`{}`), Full: "[part a: image/png, 1 bytes]", Parts: []tool.Blob{{MIME: "image/png", Data: []byte{1}}}}
	a, _, err := h.Archive().PutOnce(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	e.Parts = []tool.Blob{{MIME: "image/png", Data: []byte{2}}}
	b, again, err := h.Archive().PutOnce(t.Context(), e)
	if err != nil || again || a.UUID == b.UUID {
		t.Errorf("again %v, %v", again, err)
	}
}
