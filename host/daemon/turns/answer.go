package turns

import (
	"context"
	"errors"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
)

// answer answers a question. The turn is admitted. history are the messages that the client
// of /v1 has brought.
func (t *turn) answer(ctx context.Context, history []agent.Message) (api.ChatEnd, error) {
	ctx, release := t.hold(ctx)
	defer release()
	if err := t.unmoved(ctx); err != nil {
		return api.ChatEnd{}, err
	}
	session := t.session()
	history, err := t.put(ctx, session, history)
	if err != nil {
		return api.ChatEnd{}, notBegun(ctx, err, errGone())
	}
	defer t.run.close(ctx)
	ctx, loop, err := t.begin(ctx, session, history)
	if err != nil {
		return api.ChatEnd{}, err
	}
	out, err := loop.Run(ctx, history, t.ask.Message)
	return t.finish(ctx, out, len(history), err)
}

// resume goes on with a turn that waits for results of the client's own tools, which it brings.
func (t *turn) resume(ctx context.Context, history []agent.Message) (api.ChatEnd, error) {
	ctx, release := t.hold(ctx)
	defer release()
	if err := t.unmoved(ctx); err != nil {
		return api.ChatEnd{}, err
	}
	session := t.session()
	history, given, err := t.take(ctx, session, history)
	if err != nil {
		return api.ChatEnd{}, notBegun(ctx, err, errGone())
	}
	defer t.run.close(ctx)
	ctx, loop, err := t.begin(ctx, session, history)
	if err != nil {
		return api.ChatEnd{}, err
	}
	out, err := loop.Resume(ctx, history, given)
	return t.finish(ctx, out, len(history), err)
}

// goOn goes on with a turn of a daemon that is gone.
func (t *turn) goOn(ctx context.Context) (api.ChatEnd, error) {
	ctx, release := t.hold(ctx)
	defer release()
	history, err := t.reached(ctx)
	if err != nil {
		return api.ChatEnd{}, notBegun(ctx, err, ErrLeft)
	}
	session, question := t.session(), len(history)-1
	refresh(ctx, session, history)
	defer t.run.close(ctx)
	ctx, loop, err := t.begin(ctx, session, history[:question])
	if err != nil {
		return api.ChatEnd{}, err
	}
	if err := t.announce(ctx); err != nil {
		return api.ChatEnd{}, err
	}
	t.run.begun = true
	out, err := loop.Continue(ctx, history, t.run.before, t.run.lost)
	return t.finish(ctx, out, question, err)
}

// hold returns the context of the turn's own work, which also ends when the daemon stops, or
// when another one has the turn.
func (t *turn) hold(ctx context.Context) (context.Context, func()) {
	ctx, stop := t.s.Admission.until(ctx)
	ctx, release := t.run.hold(ctx)
	return ctx, func() {
		release()
		stop()
	}
}

// notBegun returns the error of a turn that could not begin: lost, if another daemon has it.
func notBegun(ctx context.Context, err, lost error) error {
	if context.Cause(ctx) == store.ErrFenced {
		return lost
	}
	return err
}

// session returns the session in which the turn calls tools.
func (t *turn) session() *host.Session {
	session := t.s.Host.Session(host.Principal(t.scope.Principal), t.scope.Conversation)
	if person := t.person(); person != nil {
		session = session.Asking(person)
	}
	return session.Reporting(t.progress).InThread(t.ask.Thread)
}

// begin returns the loop that answers, with its context. before are the messages before the
// question, or before the results of the client's tools.
func (t *turn) begin(ctx context.Context, session *host.Session, before []agent.Message) (context.Context, *agent.Loop, error) {
	t.prof.Agent.Checkpoint, t.emit = t.run.checkpoint, t.run.holdBack(t.emit)
	if len(t.ask.Spoken) == 0 {
		t.ask.Spoken = Visible(before)
	}
	ctx = t.run.fenced(ctx)
	t.run.keepPieces(ctx)
	ctx, t.spans = t.s.Setup.State().Tracing.StartTurn(usage.WithSideUsage(ctx, &t.side), telemetry.TurnInfo{
		Peer: peerOf(t.model, t.ask.Model, t.scope.Conversation), Profile: t.ask.Profile, Question: t.ask.Message, Known: t.s.Known,
	})
	session = session.Beginning(t.run.began).Remembering(func() []host.ShortResult { return shortResults(before) })
	if t.clientsText(before) {
		session.MarkPrivate()
	}
	box := toolbox{session, t.prof.Allow, t.prof.Deny, t.spans, t.newScripted(), t.prof.Agent.Caller}
	t.observers = t.newObservers(box)
	t.prof.Agent.Mode, t.prof.Agent.NativeTools = t.modeOf(ctx, t.candidates.all[0])
	loop, err := agent.New(t.prof.Agent, watched{t.metered(t.model), t}, box, agent.ObserverFunc(t.observe))
	if err != nil {
		t.spans.End(t.end, err)
	}
	return ctx, loop, err
}

// finish stores what came of the turn, and returns what its last event says. had is how many
// messages were before it.
func (t *turn) finish(ctx context.Context, out agent.Turn, had int, failed error) (api.ChatEnd, error) {
	if t.run.left(ctx, failed) {
		return api.ChatEnd{}, ErrLeft
	}
	failed = cutOff(ctx, failed)
	if me, ok := errors.AsType[*agent.ModelError](failed); ok {
		t.s.Metrics.ModelFailed(t.ask.Model, "model_"+string(me.Code), "failed")
	}
	if failed == nil && len(out.Pending) == 0 && strings.TrimSpace(out.Answer) == "" {
		failed = api.NoAnswer(out.Reason, t.thought)
	}
	if failed == nil && out.Reason == agent.ReasonFormat {
		failed = api.WrongAnswer(out.Fault)
	}
	t.end.Answer, t.end.Sources, t.end.Reasoning = out.Answer, out.Sources, out.Reasoning
	for _, c := range out.Pending {
		t.end.Pending = append(t.end.Pending, api.ToolCallStart{ID: c.ID, Tool: c.Tool, Args: c.Args, Format: t.format[c.ID]})
	}
	remarkFailure(out.Messages, failed)
	// What happened is stored even when the client has gone.
	if err := t.store(context.WithoutCancel(ctx), out, had, failed); err != nil {
		if t.run.left(ctx, err) {
			return api.ChatEnd{}, ErrLeft
		}
		failed = t.notStored(err, failed)
	}
	t.run.show()
	t.spans.End(t.end, failed)
	return t.end, failed
}

// notStored adds to the error of a turn that it could not be stored.
func (t *turn) notStored(err, failed error) error {
	t.s.Logger.Error("the turn could not be stored", "conversation", t.scope.Conversation, "error", err)
	t.end.Unsaved = true
	switch {
	case errors.Is(err, archive.ErrUnreachable):
		return errors.Join(failed, archive.ErrUnreachable)
	case errors.Is(err, archive.ErrFull):
		return failed
	}
	return errors.Join(failed, archive.ErrFull)
}
