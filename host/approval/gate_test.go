package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// An approverFunc is an Approver that a test plays.
type approverFunc func(context.Context, Request) (Answer, error)

func (f approverFunc) Approve(ctx context.Context, r Request) (Answer, error) { return f(ctx, r) }

// writer is a tool that can change something.
var writer = Subject{Tool: "write_note", Effect: plugin.EffectChanges, Identity: "x"}

// newGate returns the gate of one session.
func newGate(t testing.TB, p Policy, a Approver) *Gate {
	t.Helper()
	rules, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return &Gate{Rules: rules, Memory: &Memory{}, Approver: a, Principal: "me", Conversation: "c1", Now: time.Now, Log: hclog.NewNullLogger()}
}

// A request without an answer is refused when its time is up, and neither a second
// before nor after.
func TestTimeout(t *testing.T) {
	for _, tt := range []struct {
		timeout, answered time.Duration // answered 0: never
		allowed           bool
		waited            time.Duration
		message           string
	}{
		{0, 0, false, 5 * time.Minute, "5m"},
		{0, 5*time.Minute - time.Second, true, 5*time.Minute - time.Second, ""},
		{0, 5*time.Minute + time.Second, false, 5 * time.Minute, "5m"},
		{10 * time.Second, 0, false, 10 * time.Second, "10s"},
		{90 * time.Minute, time.Hour, true, time.Hour, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, Policy{Timeout: tt.timeout}, approverFunc(func(ctx context.Context, r Request) (Answer, error) {
				if want := time.Now().Add(tt.waited); !r.Expires.Equal(want) && tt.answered == 0 {
					t.Errorf("it expires at %s, not at %s", r.Expires, want)
				}
				answer := make(<-chan time.Time)
				if tt.answered > 0 {
					answer = time.After(tt.answered)
				}
				select {
				case <-answer:
					return Answer{Verdict: Once}, nil
				case <-ctx.Done():
					return Answer{}, ctx.Err()
				}
			}))
			a, fail := g.Authorize(t.Context(), writer, Call{Input: json.RawMessage(`{}`)})
			if a == nil || a.Allowed != tt.allowed || a.Waited != tt.waited || (fail == nil) != tt.allowed {
				t.Errorf("%+v: %+v, %v", tt, a, fail)
			}
			if fail != nil && (a.By != "timeout" || !strings.Contains(fail.Msg, "within "+tt.message)) {
				t.Errorf("%+v: %+v, %v", tt, a, fail)
			}
		})
	}
}

// The memory has bounds. When it is full it asks again, and treats unknown
// conversations as private.
func TestMemoryIsBounded(t *testing.T) {
	var m Memory
	key := func(i int) answerKey { return answerKey{"p", fmt.Sprint(i)} }
	for i := range maxAnswers + 10 {
		m.allow(t.Context(), key(i))
	}
	if m.isAllowed(t.Context(), key(9)) || !m.isAllowed(t.Context(), key(10)) || !m.isAllowed(t.Context(), key(maxAnswers+9)) || len(m.allowed) != maxAnswers || len(m.order) != maxAnswers {
		t.Errorf("%d of %d are remembered", len(m.allowed), maxAnswers)
	}
	scope := func(i int) string { return fmt.Sprint(i) }
	for i := range maxScopes {
		m.MarkPrivate(scope(i), i%2 == 0)
	}
	m.MarkPrivate("one more", false) // those that are not private are dropped
	if private, known := m.IsPrivate(scope(1)); private || known {
		t.Error("a conversation that is not private is still known")
	}
	if private, _ := m.IsPrivate(scope(2)); !private {
		t.Error("a mark was forgotten")
	}
	for i := range maxScopes {
		m.MarkPrivate("m"+scope(i), true)
	}
	if private, known := m.IsPrivate("never seen"); !private || !known || len(m.private) > maxScopes {
		t.Errorf("with a full memory an unknown conversation is private %v, known %v", private, known)
	}
	m.MarkPrivate(scope(2), false)
	if private, _ := m.IsPrivate(scope(2)); !private {
		t.Error("a mark was removed")
	}
}

// What the person and the model read is complete in both languages.
func TestTextsInBothLanguages(t *testing.T) {
	s := Subject{
		Tool: "post", Effect: plugin.EffectNetwork, AnyHost: true, Hosts: []string{"a.org", "*"}, ReadsFolders: true, WritableFolders: []string{"/a", "/b"},
	}
	for l, want := range map[tool.Locale]string{
		tool.En: "it can change files in /a, /b; it can send data to a.org, *, and read a granted folder itself",
		tool.Zh: "它可以更改 /a、/b 中的文件；它可以向 a.org、* 发送数据，而且它自己可以读取授权文件夹",
	} {
		var got Request
		g := newGate(t, Policy{}, approverFunc(func(_ context.Context, r Request) (Answer, error) {
			got = r
			return Answer{}, ErrNoPerson
		}))
		g.Locale = l
		a, fail := g.Authorize(t.Context(), s, Call{Input: json.RawMessage(`{}`)})
		if got.Why != want || a.By != "nobody" || fail == nil || !strings.Contains(fail.MsgText.String(), want) {
			t.Errorf("%s: %q, %+v, %v", l, got.Why, a, fail)
		}
	}
}

// failing are Answers that cannot be written while away is true.
type failing struct {
	away  bool
	marks map[string]bool
}

func (f *failing) Remembers(_ context.Context, scope, digest string) (bool, error) {
	return f.marks[scope+digest], nil
}

func (f *failing) Remember(_ context.Context, scope, digest string) error {
	if f.away {
		return errors.New("away")
	}
	f.marks[scope+digest] = true
	return nil
}

func (f *failing) Forget(context.Context, string, bool) error { return nil }

// A scope that becomes private while the database is away is private here at once, and
// everywhere with the next call that reads private text.
func TestPrivateWhileTheStoreIsAway(t *testing.T) {
	shared := &failing{away: true, marks: map[string]bool{}}
	var m, other Memory
	m.Share(shared)
	other.Share(shared)
	m.MarkPrivate("s", true)
	if private, known := m.IsPrivate("s"); !private || !known {
		t.Error("what was read is forgotten")
	}
	shared.away = false
	m.MarkPrivate("s", true)
	if private, known := other.IsPrivate("s"); !private || !known {
		t.Error("another process does not know of it")
	}
	if private, known := other.IsPrivate("t"); private || known {
		t.Error("a scope counts as private")
	}
}
