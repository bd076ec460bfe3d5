package script

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// cancelling are the Callers of a process whose scripts are cancelled at a moment.
type cancelling struct {
	*process
	ended func(ctx context.Context)              // before the answer is archived
	calls func(ctx context.Context, c tool.Call) // before a call
}

// Open implements Callers.
func (c cancelling) Open(s Script, a approval.Approver, begin func(context.Context, tool.Call) error) (Caller, error) {
	caller, err := c.process.Open(s, a, begin)
	caller.Session = cancelled{caller.Session, c}
	return caller, err
}

// cancelled is the Session of cancelling.
type cancelled struct {
	Session
	c cancelling
}

func (s cancelled) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	s.c.calls(ctx, c)
	return s.Session.Call(ctx, c)
}

func (s cancelled) IngestAs(ctx context.Context, spec tool.Spec, c tool.Call, whole []byte, note string) (tool.Result, error) {
	s.c.ended(ctx)
	return s.Session.IngestAs(ctx, spec, c, whole, note)
}

// A script that ends well while it is cancelled is not said to be cancelled.
func TestCancelComesTooLate(t *testing.T) {
	p := boot(t, t.TempDir(), 0, Options{})
	defer p.close(t)
	said := make(chan error, 1)
	var id string
	started := make(chan struct{})
	p.callers = cancelling{p, func(ctx context.Context) {
		<-started
		go func() { said <- p.Cancel(t.Context(), "me", id) }()
		<-ctx.Done() // the script ends well nevertheless
	}, func(context.Context, tool.Call) {}}
	var err error
	if id, err = p.Start(t.Context(), Script{Source: "return 1", Scope: mine, CallID: "c"}); err != nil {
		t.Fatal(err)
	}
	close(started)
	err = <-said
	s, gone := p.Get(t.Context(), "me", id)
	if s.State != journal.Done || !errors.Is(err, ErrNotFound) || gone != nil {
		t.Errorf("the script is %s, and cancelling it says: %v %v", s.State, err, gone)
	}
}

// A script that is put away while it is cancelled is cancelled.
func TestCancelWhilePutAway(t *testing.T) {
	p := boot(t, t.TempDir(), 0, Options{})
	defer p.close(t)
	said, started := make(chan error, 1), make(chan struct{})
	var id string
	var of context.Context
	p.callers = cancelling{p, nil, func(ctx context.Context, c tool.Call) {
		if c.Tool == "ask" {
			of = ctx
		}
	}}
	p.at = func(point string) error {
		if point == "after save" {
			<-started
			go func() { said <- p.Cancel(t.Context(), "me", id) }()
			<-of.Done()
		}
		return nil
	}
	var err error
	if id, err = p.Start(t.Context(), Script{Source: "await tools.ask({})", Scope: mine, CallID: "c"}); err != nil {
		t.Fatal(err)
	}
	close(started)
	if err := <-said; err != nil {
		t.Error(err)
	}
	if s, err := p.Get(t.Context(), "me", id); err != nil || s.State != journal.Cancelled {
		t.Errorf("the script is %s, %v", s.State, err)
	}
}

// TestDecidedAndNotYetRunning: between a person's answer and the moment in which the script
// goes on, it counts as one that runs.
func TestDecidedAndNotYetRunning(t *testing.T) {
	p := boot(t, t.TempDir(), 0, Options{Patience: -1})
	defer p.close(t)
	s, err := p.goOnce(t, "await tools.ask({n: 1}); return 'end'")
	if err != nil || s.State != journal.Waiting {
		t.Fatal(err, s.State)
	}
	if !p.Disown(s.ID) {
		t.Error("a script that waits cannot be disowned")
	}
	decided := 0
	p.at = func(point string) error {
		if point != "after decide" {
			return nil
		}
		decided++
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if now, err := p.Wait(ctx, "me", s.ID, 0); err == nil {
			t.Errorf("who waits for the script gets one that is %s", now.State)
		}
		if p.Disown(s.ID) {
			t.Error("the script is disowned")
		}
		return nil
	}
	now, err := p.Get(t.Context(), "me", s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Decide(t.Context(), "me", s.ID, now.Verdicts(approval.Answer{Verdict: approval.Once})); err != nil {
		t.Fatal(err)
	}
	if now, err = p.Wait(t.Context(), "me", s.ID, 0); err != nil || now.State != journal.Done || decided != 1 {
		t.Errorf("%v %s, %d", err, now.State, decided)
	}
}
