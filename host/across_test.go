package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/sdk/tool"
)

// A caller without conversations reads what any of the user's has archived, and
// no other user's.
func TestAcrossConversations(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	kept := call(t, h.Session("me", "a talk"), "long", `{"Lines":100,"Width":50}`)
	load := fmt.Sprintf(`{"uuid":%q,"lines":"1-1"}`, kept.Ref.UUID)
	if r := try(t, h.Session("me", "elsewhere"), tool.LoadHistory, load); r.Err == nil {
		t.Error("another conversation reads it")
	}
	across := h.Session("me", "elsewhere").AcrossConversations()
	call(t, across, tool.LoadHistory, load)
	if r := call(t, across, tool.SearchHistory, `{"query":"line 77"}`); !strings.Contains(r.Whole(), kept.Ref.UUID) {
		t.Errorf("the search finds %s", r.Whole())
	}
	call(t, across, "kept", fmt.Sprintf(`{"text":"@result:%s"}`, kept.Ref.UUID))
	if r := try(t, h.Session("you", "a talk").AcrossConversations(), tool.LoadHistory, load); r.Err == nil {
		t.Error("another user reads it")
	}
}

// Whoever reads across conversations holds what any of them has read.
func TestPrivateTextAcrossConversations(t *testing.T) {
	h, server, _ := web(t, everywhere, nil)
	page := fmt.Sprintf(`{"url":%q}`, server)
	across := h.Session("me", "mcp").AcrossConversations()
	if r := try(t, across, "fetch", page); r.Approval != nil {
		t.Errorf("before anything was read: %+v", r.Approval)
	}
	call(t, h.Session("me", "a talk"), "read_note", `{"path":"secret.txt"}`)
	if r := try(t, across, "fetch", page); r.Approval == nil {
		t.Error("a conversation's secret can be carried away from another one")
	}
	if r := try(t, h.Session("me", "another talk"), "fetch", page); r.Approval != nil {
		t.Errorf("a conversation that cannot read it: %+v", r.Approval)
	}
}

func TestMayAsk(t *testing.T) {
	h, _, _ := web(t, everywhere, func(c *Config) {
		c.Approvals.Rules = []approval.Rule{{Tool: "load_*", Action: approval.Ask}}
	})
	s := h.Session("me", "c1")
	for name, want := range map[string]bool{"fetch": true, "nothing": false, tool.LoadHistory: false} {
		if s.MayAsk(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if s.ByPerson().MayAsk("fetch") {
		t.Error("a person is asked about their own call")
	}
}

func TestReporting(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	var mu sync.Mutex
	var seen []Progress
	s := h.Session("me", "c1").Reporting(func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, p)
	})
	c := tool.Call{ID: "a", Tool: "steps", Args: json.RawMessage(`{}`)}
	if r, err := s.Call(t.Context(), c); err != nil || r.Err != nil {
		t.Fatal(r.Err, err)
	}
	want := []Progress{{Call: c, Done: 1, Total: 2, Msg: "one"}, {Call: c, Done: 2, Total: 2, Msg: "two"}}
	if !slices.EqualFunc(seen, want, func(a, b Progress) bool {
		return a.Call.ID == b.Call.ID && a.Call.Tool == b.Call.Tool && a.Done == b.Done && a.Total == b.Total && a.Msg == b.Msg
	}) {
		t.Errorf("%+v", seen)
	}
}
