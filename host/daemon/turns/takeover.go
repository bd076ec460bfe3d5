package turns

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
)

// maxOwners is how many daemons may die with a turn before none takes it over any more.
const maxOwners = 4

// Continue goes on with a turn of a daemon that is gone. It is as Ask, of whose Question ask has
// the Closing and the Flush.
func (s *Service) Continue(ctx context.Context, r store.Run, ask Question, emit func(name string, data any)) (end api.ChatEnd, err error) {
	defer s.recovered(&end, &err)
	l := &lasting{Run: &r, keep: s.Leases}
	if r.Stored {
		return s.sayEnd(ctx, l, emit)
	}
	end, err = s.goOn(ctx, l, ask, emit)
	if err == nil || l.begun || errors.Is(err, ErrLeft) {
		return end, err
	}
	// The agent did not get it.
	l.t = &turn{s: s, report: report{end: api.ChatEnd{Conversation: r.Scope.Conversation}}}
	if s.Admission.Closed() && ctx.Err() == nil {
		err = errors.Join(err, archive.ErrUnreachable)
	}
	if l.left(ctx, err) {
		return api.ChatEnd{}, ErrLeft
	}
	if err := s.giveUp(context.WithoutCancel(ctx), l, err); err != nil && l.left(ctx, err) {
		return api.ChatEnd{}, ErrLeft
	}
	return l.t.end, err
}

// sayEnd tells the client of a turn that is stored what it has not got.
func (s *Service) sayEnd(ctx context.Context, l *lasting, emit func(name string, data any)) (api.ChatEnd, error) {
	l.t = s.leftBy(l)
	l.t.emit, l.t.stream = emit, &Stream{Emit: emit}
	var o outcome
	err := json.Unmarshal(l.Outcome, &o)
	if err == nil {
		err = l.t.steps()
	}
	if err == nil {
		l.sent += o.End.Answer
		l.t.end = o.End
		err = l.t.announce(ctx)
	}
	switch {
	case l.left(ctx, err):
		return api.ChatEnd{}, ErrLeft
	case err == nil && o.Failed != nil:
		return o.End, o.Failed
	}
	return o.End, err
}

func (s *Service) goOn(ctx context.Context, l *lasting, ask Question, emit func(name string, data any)) (api.ChatEnd, error) {
	r := l.Run
	if r.Fence > maxOwners {
		return api.ChatEnd{}, api.Problemf(http.StatusInternalServerError, "internal", "ask in another way", "%d daemons ended while they answered this question", r.Fence-1)
	}
	ask.Turn = r.Turn
	if err := json.Unmarshal(r.Ask, &ask.Ask); err != nil {
		return api.ChatEnd{}, err
	}
	if ask.Conversation = r.Scope.Conversation; len(r.Steps) > 0 {
		ask.LoadUUIDs = nil // they are in the steps
	}
	t, err := s.newTurn(ctx, r.Scope.Principal, ask, nil, emit)
	if err != nil {
		return api.ChatEnd{}, err
	}
	t.run, l.t = l, t
	request, err := s.Meter.GoOn(ctx, s.Setup.Account(r.Scope.Principal, t.locale()))
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer request.End()
	leave, err := s.admit(ctx, t)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer leave()
	return t.goOn(agent.OnePatience(ctx))
}

// admit waits until one more turn may run.
func (s *Service) admit(ctx context.Context, t *turn) (leave func(), err error) {
	for {
		leave, err = s.Admission.Enter(t.scope)
		if err == nil || s.Admission.Closed() {
			return leave, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
