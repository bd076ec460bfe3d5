package turns

import (
	"context"
	"errors"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// GiveUpAll gives up the turns that earlier daemons have not ended, in SQLite. A turn that cannot be given up remains for the next start.
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
	l := &lasting{Run: &r, keep: s.Leases}
	err := s.giveUp(ctx, l, errGone())
	if err != nil && !errors.Is(err, archive.ErrUnreachable) && !errors.Is(err, archive.ErrFull) {
		err = errors.Join(err, s.Store.EndRun(s.Store.Fenced(ctx, r.Turn, r.Fence), r.Turn))
	}
	return err
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
	t := s.leftBy(l)
	t.ask.Conversation = r.Scope.Conversation
	l.t, l.before = t, nil
	history, err := t.reached(ctx)
	if err != nil {
		return err
	}
	from := agent.Question(history) // not the last one if results of the client's own tools came
	locale := s.Setup.Locale(r.Scope.Principal, history[from].Text)
	history = agent.Apply(history, l.before)
	pending := agent.Message{Role: agent.RoleResults, Turn: lastTurn(history), Locale: locale, At: s.Now()}
	for _, c := range agent.Pending(history) {
		fail := tool.Errorf(tool.Cancelled, "", "weir was stopped before there was a result")
		if r.Begun[c.ID] || s.Leases == nil && !s.repeats(c.Tool) {
			fail = script.UnknownOutcome(c.Tool)
		} else if _, known := s.Host.Tool(c.Tool); known && !s.repeats(c.Tool) {
			fail = tool.Errorf(tool.Cancelled, "", "the call was not begun")
		}
		pending.Results = append(pending.Results, agent.NewResultEntry(tool.Result{CallID: c.ID, Tool: c.Tool, Err: msg.ToolError(locale, fail)}, locale))
	}
	if len(pending.Results) > 0 {
		history = append(history, pending)
	} else if reply, ok := l.brokenOff(lastTurn(history)); ok {
		reply.Locale = locale
		history = append(history, reply)
	}
	remarkFailure(history, why)
	change := store.Turn{From: t.stored[from].Seq, Last: lastRow(t.stored).Seq, Run: l.run(why)}
	if !r.Unseen || len(r.Begun) > 0 { // else it is taken back: its client asks again
		change.Messages, change.Calls = t.rows(history[from:]), t.calls.Rows
	}
	return s.Store.Finish(l.fenced(ctx), r.Scope, change)
}
