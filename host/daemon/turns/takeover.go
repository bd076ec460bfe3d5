package turns

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// maxOwners is how many daemons may die with a turn before none takes it over any more.
const maxOwners = 4

// Continue goes on with a turn of a daemon that is gone. It is as Ask; events that the
// daemon had added last may come twice.
func (s *Service) Continue(ctx context.Context, r store.Run, emit func(name string, data any)) (end api.ChatEnd, err error) {
	defer s.recovered(&end, &err)
	if r.Stored {
		var o outcome
		if err := json.Unmarshal(r.Outcome, &o); err != nil {
			return api.ChatEnd{}, err
		}
		if o.Failed != nil {
			return o.End, o.Failed
		}
		return o.End, nil
	}
	if r.Fence > maxOwners {
		return api.ChatEnd{}, api.Problemf(http.StatusInternalServerError, "internal", "ask in another way", "%d daemons ended while they answered this question", r.Fence-1)
	}
	ask := Question{Turn: r.Turn}
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
	t.run = &lasting{Run: &r, t: t, keep: s.Leases}
	leave, err := s.admit(ctx, t)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer leave()
	return t.answer(agent.OnePatience(ctx), nil)
}

// GiveUp stores how far a turn came whose daemon is gone, and whose client went with it.
func (s *Service) GiveUp(ctx context.Context, r store.Run) error {
	t := &turn{s: s, scope: r.Scope, calls: &Calls{}, told: map[string]bool{}}
	t.run = &lasting{Run: &r, t: t}
	r.Resumed = false
	history, err := t.goOn(ctx)
	if err != nil {
		return errors.Join(err, s.Store.EndRun(t.run.fenced(ctx), r.Turn))
	}
	pending := agent.Message{Role: agent.RoleResults, Turn: lastTurn(history), At: s.Now()}
	for _, c := range agent.Pending(history) {
		fail := tool.Errorf(tool.Cancelled, "", "the call was not begun")
		if r.Begun[c.ID] {
			fail = script.UnknownOutcome(c.Tool)
		}
		pending.Results = append(pending.Results, agent.NewResultEntry(tool.Result{CallID: c.ID, Tool: c.Tool, Err: fail}, tool.En))
	}
	if len(pending.Results) > 0 {
		history = append(history, pending)
	}
	remarkFailure(history, errGone())
	change := store.Turn{From: lastSeq(t.stored), Messages: t.rows(history[len(t.stored)-1:]), Calls: t.calls.Rows, Run: &r}
	return s.Store.Finish(t.run.fenced(ctx), r.Scope, change)
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
