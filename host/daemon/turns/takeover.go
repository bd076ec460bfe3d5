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
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
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
	l.t = &turn{s: s, end: api.ChatEnd{Conversation: r.Scope.Conversation}}
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
	l.t = &turn{s: s, scope: l.Scope, emit: emit, calls: &Calls{}, told: map[string]bool{}, run: l, stream: &Stream{Emit: emit}}
	var o outcome
	err := json.Unmarshal(l.Outcome, &o)
	if err == nil {
		err = l.t.steps()
	}
	if err == nil {
		*l.t.sent += o.End.Answer
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
	return t.answer(agent.OnePatience(ctx), nil)
}

// GiveUpAll gives up the turns that earlier daemons have not ended, where one daemon uses the
// database. A turn that cannot be given up remains for the next start.
func (s *Service) GiveUpAll(ctx context.Context) error {
	if s.Leases != nil {
		return nil
	}
	runs, err := s.Store.Unended(ctx)
	for _, r := range runs {
		if err := s.GiveUp(ctx, r); err != nil {
			s.Logger.Error("how far a turn came could not be stored", "conversation", r.Turn, "error", err)
		}
	}
	return err
}

// GiveUp stores how far a turn came whose daemon is gone, and whose client went with it.
func (s *Service) GiveUp(ctx context.Context, r store.Run) error {
	r.Resumed = false
	l := &lasting{Run: &r}
	err := s.giveUp(ctx, l, errGone())
	if err != nil && !errors.Is(err, archive.ErrUnreachable) && !errors.Is(err, archive.ErrFull) {
		err = errors.Join(err, s.Store.EndRun(s.Store.Fenced(ctx, r.Turn, r.Fence), r.Turn))
	}
	return err
}

// Ask runs one turn and stores it. A question that names no conversation continues the
// one whose messages equal those that the client sent before the question, and begins a
// new one where there is none, or where it is answering somebody else. history are the
// messages of a client of /v1, for a conversation that is not stored yet.
//
// emit receives the events, one at a time. A problem before the turn begins is returned
// before the first event. A panic becomes an error, so that the stream has an end, and a
// turn that runs outside of a request does not end the daemon.
func (s *Service) Ask(ctx context.Context, principal string, ask Question, history []agent.Message, emit func(name string, data any)) (end api.ChatEnd, err error) {
	defer s.recovered(&end, &err)
	done, err := s.Begin(ctx, principal, ask.Message)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer done()
	if ask.Conversation == "" {
		ask.Mark = MarkOf(ask.Spoken)
		for _, id := range s.matching(ctx, principal, ask.Mark) {
			ask.Conversation = id
			end, err := s.answer(ctx, principal, ask, history, emit)
			var p *api.Problem
			if !errors.As(err, &p) || p.Code != api.CodeBusy {
				return end, err
			}
		}
		ask.Conversation, ask.Mark = "", ""
	}
	end, err = s.answer(ctx, principal, ask, history, emit)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == api.CodeBusy && s.freed(ctx, ask.Conversation) {
		return s.answer(ctx, principal, ask, history, emit)
	}
	return end, err
}

// freed gives up the turn that keeps a conversation busy, if its daemon is dead and no other one
// lives that would go on with it, as for a command after a crash. It reports whether it did.
func (s *Service) freed(ctx context.Context, conversation string) bool {
	if s.Leases == nil || conversation == "" {
		return false
	}
	runs, err := s.Store.Claim(ctx, s.Leases.ID(), 1, conversation)
	for _, r := range runs {
		err = errors.Join(err, s.GiveUp(ctx, r))
	}
	if err != nil {
		s.Logger.Warn("a turn of a daemon that is gone could not be given up", "conversation", conversation, "error", err)
	}
	return err == nil && len(runs) > 0
}

// giveUp stores how far a turn came that ended by an error.
func (s *Service) giveUp(ctx context.Context, l *lasting, why error) error {
	r := l.Run
	t := &turn{s: s, scope: r.Scope, calls: &Calls{}, told: map[string]bool{}, run: l}
	t.ask.Conversation = r.Scope.Conversation
	l.t, l.before = t, nil
	history, err := t.goOn(ctx)
	if err != nil {
		return err
	}
	from := agent.Question(history) // not the last one if results of the client's own tools came
	locale := s.Setup.Locale(r.Scope.Principal, history[from].Text)
	history = agent.Apply(history, l.before)
	pending := agent.Message{Role: agent.RoleResults, Turn: lastTurn(history), Locale: locale, At: s.Now()}
	for _, c := range agent.Pending(history) {
		fail := tool.Errorf(tool.Cancelled, "", "weir was stopped before there was a result")
		if _, known := s.Host.Tool(c.Tool); r.Begun[c.ID] {
			fail = script.UnknownOutcome(c.Tool)
		} else if known && !s.repeats(c.Tool) {
			fail = tool.Errorf(tool.Cancelled, "", "the call was not begun")
		}
		pending.Results = append(pending.Results, agent.NewResultEntry(tool.Result{CallID: c.ID, Tool: c.Tool, Err: msg.ToolError(locale, fail)}, locale))
	}
	if len(pending.Results) > 0 {
		history = append(history, pending)
	}
	remarkFailure(history, why)
	unnamed := t.unrefer(history)
	return s.Store.Finish(l.fenced(ctx), r.Scope, store.Turn{From: t.stored[from].Seq, Last: lastSeq(t.stored), Messages: t.rows(history[from:]), Orphans: unnamed, Calls: t.calls.Rows, Run: l.run(why)})
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
