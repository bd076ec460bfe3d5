package host

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// What changes while the host runs holds from the next call on; what cannot be
// meant changes nothing.
func TestApply(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	shown := func() int {
		n, _ := limit.Count(limit.Render(call(t, s, "long", `{"Lines":2000,"Width":30}`), tool.En))
		return n
	}
	before := shown()
	set := h.cfg.Settings
	set.Tools = map[string]ToolConfig{"long": {Limits: tool.Limits{MaxChars: 600}}, "crash": {Disabled: new(true)}}
	change, err := h.Apply(t.Context(), set)
	if err != nil || !slices.Equal(change.Changed, []string{"probe"}) {
		t.Fatalf("%+v, %v", change, err)
	}
	if now := shown(); now > 600 || before <= 600 {
		t.Errorf("shown %d characters before and %d now", before, now)
	}
	if r := try(t, s, "crash", "{}"); r.Err == nil || r.Err.Code != tool.UnknownTool {
		t.Errorf("a tool that was taken out: %+v", r.Err)
	}
	for name, wrong := range map[string]func(*Settings){
		"ceiling":    func(l *Settings) { l.CeilingChars = 5 },
		"max_chars":  func(l *Settings) { l.Tools = map[string]ToolConfig{"long": {Limits: tool.Limits{MaxChars: 5}}} },
		"approvals.": func(l *Settings) { l.Approvals.Default = "perhaps" },
		"mode": func(l *Settings) {
			l.Grants = map[string]plugin.Grant{"probe": {Paths: []plugin.PathGrant{{Mode: "x"}}}}
		},
	} {
		bad := h.cfg.Settings
		wrong(&bad)
		if _, err := h.Apply(t.Context(), bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if now := shown(); now > 600 {
			t.Errorf("%s: after a refusal %d characters are shown", name, now)
		}
	}
}

// People are asked again when the rules have changed, and not when they have not.
func TestApplyForgetsConsents(t *testing.T) {
	h, _ := desk(t, nil)
	asked := 0
	s := h.Session("me", "c1").Asking(played(func(context.Context, approval.Request) (approval.Answer, error) {
		asked++
		return approval.Answer{Verdict: approval.Always, By: ""}, nil
	}))
	call(t, s, "write_note", noteA)
	same := h.cfg.Settings
	if _, err := h.Apply(t.Context(), same); err != nil {
		t.Fatal(err)
	}
	call(t, s, "write_note", noteA)
	if asked != 1 {
		t.Errorf("asked %d times under the same rules", asked)
	}
	same.Approvals.Rules = []approval.Rule{{Tool: "other", Action: approval.Deny}}
	if _, err := h.Apply(t.Context(), same); err != nil {
		t.Fatal(err)
	}
	if call(t, s, "write_note", noteA); asked != 2 {
		t.Errorf("asked %d times after the rules changed", asked)
	}
	same.Approvals.Default = approval.Deny
	if _, err := h.Apply(t.Context(), same); err != nil {
		t.Fatal(err)
	}
	if r := try(t, s, "write_note", noteA); r.Err == nil || r.Err.Code != tool.Denied || asked != 2 {
		t.Errorf("%+v, asked %d times", r.Err, asked)
	}
}

// Calls and changes at once: every call runs under one of the settings.
func TestApplyWhileCallsRun(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	call(t, h.Session("me", "c"), "long", `{"Lines":300,"Width":20}`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				r, err := h.Session("me", "c").Call(t.Context(), tool.Call{ID: "x", Tool: "long", Args: []byte(`{"Lines":300,"Width":20}`), Turn: 1})
				if err != nil || r.Err != nil {
					t.Errorf("%v %v", r.Err, err)
				}
			}
		})
	}
	for i := range 20 {
		set := h.cfg.Settings
		set.Tools = map[string]ToolConfig{"long": {Limits: tool.Limits{MaxChars: 400 + 100*(i%3)}}}
		if _, err := h.Apply(t.Context(), set); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
