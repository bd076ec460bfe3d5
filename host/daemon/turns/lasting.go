package turns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// ErrLeft is the error of a turn that goes on in another process: its client reads the rest
// of its events there. As the cause of a context's end it leaves a turn whose events are kept.
var ErrLeft = errors.New("the turn goes on in another daemon")

// While the database is away, a step is tried again: results that no step has are lost.
const (
	retryEvery = 200 * time.Millisecond
	retryFor   = 10 * time.Second
)

// waitFor is how long a step waits for the results of its calls.
const waitFor = 50 * time.Millisecond

// atEnd returns what a turn keeps that is stored at its end alone: no steps.
func (t *turn) atEnd() *lasting {
	l := &lasting{Run: &store.Run{Turn: t.scope.Conversation, Scope: t.scope}, t: t}
	l.failed.Store(true)
	return l
}

// lasts returns what a turn keeps.
func (t *turn) lasts() (*lasting, error) {
	if t.s.Leases == nil {
		return &lasting{Run: &store.Run{Turn: t.scope.Conversation, Scope: t.scope}, t: t}, nil
	}
	ask, err := json.Marshal(t.ask.Ask)
	if err != nil {
		return nil, err
	}
	turn := cmp.Or(t.ask.Turn, uuid.NewString())
	return &lasting{Run: &store.Run{Turn: turn, Scope: t.scope, Fence: 1, Ask: ask, Resumed: t.ask.Resume && t.ask.Turn != ""}, t: t, keep: t.s.Leases}, nil
}

// leftBy returns a turn that another daemon has left. What it had stored is not read yet.
func (s *Service) leftBy(l *lasting) *turn {
	return &turn{s: s, scope: l.Scope, run: l, kept: kept{calls: &Calls{}}}
}

// hold returns the context of the turn's own work: it ends when another daemon has the turn,
// or when the client asks another one to end it. Its writes are fenced.
func (l *lasting) hold(ctx context.Context) (context.Context, func()) {
	if !l.shared() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	release := l.keep.Hold(l.Turn, func(err error) { cancel(err) }, func() { cancel(context.Canceled) })
	return ctx, func() {
		release()
		cancel(nil)
	}
}

// fenced returns a context whose writes are the turn's.
func (l *lasting) fenced(ctx context.Context) context.Context {
	if !l.shared() {
		return ctx
	}
	return l.t.s.Store.Fenced(ctx, l.Turn, l.Fence)
}

// run returns the Run that the turn's end is stored with.
func (l *lasting) run(err error) *store.Run {
	l.pieces.end() // the end has them
	l.storing.Lock()
	l.waits = nil // as above
	l.storing.Unlock()
	if !l.Resumed { // no client will read it
		return l.Run
	}
	end := outcome{End: l.t.end}
	if err != nil && !errors.Is(err, context.Canceled) {
		end.Failed = api.AsProblem(err)
	}
	l.Outcome, _ = json.Marshal(end) // plain data
	return l.Run
}

// An outcome is what the last events of a turn say.
type outcome struct {
	End    api.ChatEnd  `json:"end"`
	Failed *api.Problem `json:"failed,omitempty"`
}

// close ends a turn whose end could not be stored.
func (l *lasting) close(ctx context.Context) {
	if !l.shared() || l.ended || l.Resumed { // whose stream ends it
		return
	}
	if err := l.t.s.Store.EndRun(l.fenced(context.WithoutCancel(ctx)), l.Turn); err != nil && !errors.Is(err, store.ErrFenced) {
		l.t.s.Logger.Warn("a turn could not be ended in the database", "error", err) // the Keeper ends it
	}
}

// left reports whether the turn goes on in another process, unless it is complete: it has
// lost it, or the daemon stops before its end, or has lost the database.
func (l *lasting) left(ctx context.Context, err error) bool {
	if err == nil || !l.shared() {
		return false
	}
	cause := context.Cause(ctx)
	if l.Resumed && (cause == errStopped || cause == ErrLeft || errors.Is(err, archive.ErrUnreachable)) {
		if err := l.t.s.Store.LeaveRun(l.fenced(context.WithoutCancel(ctx)), l.Turn); err != nil {
			l.t.s.Logger.Warn("a turn could not be left for another daemon", "error", err) // which takes it over when this one is gone
		}
		return true
	}
	return errors.Is(err, store.ErrFenced) || cause == store.ErrFenced
}

// holdBack returns an emit that keeps results back until a step has them: another daemon
// might make the call again otherwise, whose result the client has.
func (l *lasting) holdBack(emit func(string, any)) func(string, any) {
	return func(name string, data any) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.holds || len(l.back) > 0 || name == api.EventResult && !l.failed.Load() {
			l.back = append(l.back, func() { emit(name, data) })
		} else {
			emit(name, data)
		}
	}
}

// show emits what holdBack has kept.
func (l *lasting) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.back {
		f()
	}
	l.back, l.holds = nil, false
}

// checkpoint stores how far the turn is. When all calls that are about to run can be made twice,
// it is stored with their results, unless they take long: until then, nothing that follows is
// shown.
func (l *lasting) checkpoint(ctx context.Context, c agent.Checkpoint) error {
	if l.failed.Load() {
		l.show()
		return nil
	}
	l.storing.Lock()
	defer l.storing.Unlock()
	l.pieces.take() // the step has them
	if w := l.waits; w != nil {
		w.timer.Stop()
		if c.From >= w.From {
			c.From, c.Added = w.From, slices.Concat(w.Added[:c.From-w.From], c.Added)
		}
	}
	t := l.t
	s := &step{Checkpoint: c, Calls: t.calls.Rows[l.calls:]}
	if l.shared() { // another daemon tells the client
		s.Sent, s.Results = t.stream.Sent(), t.end.Results[l.results:]
	}
	l.waits = nil
	due := agent.Pending(c.Added)
	if len(due) == 0 || slices.ContainsFunc(due, func(c tool.Call) bool { return !t.s.repeats(c.Tool) }) {
		return l.store(ctx, s)
	}
	s.Calls = slices.Clone(s.Calls) // the turn's end may change them
	l.mu.Lock()
	l.waits, l.holds = s, true
	l.mu.Unlock()
	l.later(ctx, s)
	return nil
}

// later stores a step that still waits in a moment.
func (l *lasting) later(ctx context.Context, s *step) {
	s.timer = time.AfterFunc(waitFor, func() {
		l.storing.Lock()
		defer l.storing.Unlock()
		defer l.t.s.recovered(new(api.ChatEnd), new(error))
		if l.waits != s || ctx.Err() != nil {
			return
		}
		if err := l.store(ctx, s); err != nil && !errors.Is(err, store.ErrFenced) {
			l.later(ctx, s)
		}
	})
}

// store stores a step, and shows what waits for it.
func (l *lasting) store(ctx context.Context, s *step) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(retryEvery) {
		err = l.t.s.Store.Step(ctx, l.Turn, len(l.Steps)+1, body)
		if !l.shared() || !errors.Is(err, archive.ErrUnreachable) || ctx.Err() != nil || time.Since(began) > retryFor {
			break
		}
	}
	if err != nil {
		return l.without(err)
	}
	l.Steps, l.calls, l.results, l.waits = append(l.Steps, nil), l.calls+len(s.Calls), l.results+len(s.Results), nil
	l.show()
	return nil
}

// began stores that a call begins, unless it can be made twice. In SQLite it does not: the call
// begins also if that cannot be stored, so its outcome is unknown in any case.
func (l *lasting) began(ctx context.Context, c tool.Call) error {
	if !l.shared() || l.t.s.repeats(c.Tool) {
		return nil
	}
	if f := l.t.ask.Flush; f != nil && !f() { // a client without an event would ask again, and the call be made twice
		return archive.ErrUnreachable
	}
	return l.t.s.Store.BeginCall(ctx, l.Turn, c.ID)
}

// without lets a turn go on that cannot be stored before its end, unless daemons share the database:
// another one might make its calls again. It has no steps any more, as the next ones build on
// the one that is missing.
func (l *lasting) without(err error) error {
	if err == nil || l.shared() {
		return err
	}
	if l.failed.CompareAndSwap(false, true) {
		l.t.s.Logger.Warn("how far a turn is could not be stored", "conversation", l.Scope.Conversation, "error", err)
	}
	l.show()
	return nil
}

// repeats reports whether a call of a tool does not matter when it is made twice.
func (s *Service) repeats(name string) bool {
	if tool.IsBuiltIn(name) && name != tool.RunScript {
		return true
	}
	info, ok := s.Host.Tool(name)
	return ok && (info.Effect == plugin.EffectNone || script.RepeatOf(info.Spec.Hints) != script.Once)
}

// lost returns the error of a call that has begun on a daemon that is gone.
func (l *lasting) lost(c tool.Call) *tool.Error {
	if !l.Begun[c.ID] {
		return nil
	}
	return msg.ToolError(l.t.prof.Agent.Locale, script.UnknownOutcome(c.Tool))
}
