package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// bench is a session without a host behind it, for tests of time alone.
func bench(t *testing.T, a Approvals, ap Approver) (*Session, *bound) {
	t.Helper()
	set, err := Live{Approvals: a}.ready()
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{cfg: Config{Now: time.Now}, log: hclog.NewNullLogger()}
	h.live.Store(set)
	b := &bound{info: plugin.ToolInfo{Spec: tool.Spec{Name: "write_note"}}, effect: plugin.EffectChanges, identity: "x"}
	return &Session{h: h, principal: "me", conversation: "c1", approver: ap}, b
}

// An unanswered request is refused when its time is up, and neither a second
// before nor after.
func TestApprovalTimeout(t *testing.T) {
	for _, tt := range []struct {
		timeout, answered time.Duration // answered 0: never
		allowed           bool
		waited            time.Duration
		told              string
	}{
		{0, 0, false, 5 * time.Minute, "5m"},
		{0, 5*time.Minute - time.Second, true, 5*time.Minute - time.Second, ""},
		{0, 5*time.Minute + time.Second, false, 5 * time.Minute, "5m"},
		{10 * time.Second, 0, false, 10 * time.Second, "10s"},
		{90 * time.Minute, time.Hour, true, time.Hour, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, b := bench(t, Approvals{Timeout: tt.timeout}, played(func(ctx context.Context, r ApprovalRequest) (ApprovalAnswer, error) {
				if d := time.Until(r.Expires); d != tt.waited && tt.answered == 0 {
					t.Errorf("it expires in %s", d)
				}
				answer := make(<-chan time.Time)
				if tt.answered > 0 {
					answer = time.After(tt.answered)
				}
				select {
				case <-answer:
					return ApprovalAnswer{Verdict: Once}, nil
				case <-ctx.Done():
					return ApprovalAnswer{}, ctx.Err()
				}
			}))
			a, fail := s.consent(t.Context(), b, tool.Call{}, nil, json.RawMessage(`{}`))
			if a == nil || a.Allowed != tt.allowed || a.Waited != tt.waited || (fail == nil) != tt.allowed {
				t.Errorf("%+v: %+v, %v", tt, a, fail)
			}
			if fail != nil && (a.By != "timeout" || !strings.Contains(fail.Msg, "within "+tt.told)) {
				t.Errorf("%+v: %+v, %v", tt, a, fail)
			}
		})
	}
}

// Whatever is remembered has a bound, and forgetting errs on the safe side.
func TestConsentsAreBounded(t *testing.T) {
	var c consents
	key := func(i int) consent { return consent{"p", fmt.Sprint(i)} }
	for i := range maxConsents + 10 {
		c.give(key(i))
	}
	if c.given(key(9)) || !c.given(key(10)) || !c.given(key(maxConsents+9)) || len(c.allowed) != maxConsents || len(c.order) != maxConsents {
		t.Errorf("%d of %d are held", len(c.allowed), maxConsents)
	}
	place := func(i int) string { return fmt.Sprint(i) }
	for i := range maxConversations {
		c.note(place(i), i%2 == 0)
	}
	c.note("one more", false) // the unmarked go
	if private, known := c.read(place(1)); private || known {
		t.Error("an unmarked conversation is still known")
	}
	if private, _ := c.read(place(2)); !private {
		t.Error("a mark was forgotten")
	}
	for i := range maxConversations {
		c.note("m"+place(i), true)
	}
	if private, known := c.read("never seen"); !private || !known || len(c.private) > maxConversations {
		t.Errorf("with all places taken an unknown conversation is private %v, known %v", private, known)
	}
	c.note(place(2), false)
	if private, _ := c.read(place(2)); !private {
		t.Error("a mark was taken back")
	}
}
