package offer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// stored runs a script that is stored: where its calls wait for a person, the person of
// the caller is asked about all of them, and where there is none, it goes on later.
func (t *Tools) stored(ctx context.Context, by Caller, s script.Script) (tool.Result, error) {
	if _, err := t.Runner(ctx); err != nil {
		return tool.Result{}, err
	}
	open := func(a approval.Approver, begin func(context.Context, tool.Call) error) script.Caller {
		return script.Caller{Session: by.Open(a, begin), Tools: s.Tools, Repeats: t.Runs.Repeats, Called: by.Called}
	}
	id, err := t.asked(ctx, by, s)
	var release func()
	switch {
	case err != nil:
		return tool.Result{}, err
	case id != "":
		release = t.Runs.Adopt(ctx, id, open)
	default:
		id, release, err = t.Runs.StartFor(ctx, s, open)
	}
	if errors.Is(err, journal.ErrTooMany) {
		fail := tool.Errorf(tool.TooLarge, "tell the person to answer or cancel those that `weir scripts list` lists", "too many scripts wait")
		return tool.Result{CallID: s.CallID, Tool: tool.RunScript, Err: msg.ToolError(by.Locale, fail)}, nil
	} else if err != nil {
		return tool.Result{}, err
	}
	defer release()
	return t.follow(ctx, by, s, id)
}

// asked returns the script of an earlier call that waits for a person's answer, which the
// same call brings; empty: there is none.
func (t *Tools) asked(ctx context.Context, by Caller, s script.Script) (string, error) {
	if !by.Repeats {
		return "", nil
	}
	list, err := t.Runs.List(ctx, by.Scope.Principal)
	for _, one := range list {
		if one.State == journal.Waiting && sameCall(one.Script, s) {
			return one.ID, err
		}
	}
	return "", err
}

// sameCall reports whether two scripts are of the same call: the tool, its text and its
// arguments, in one conversation.
func sameCall(a, b script.Script) bool {
	return a.Scope == b.Scope && a.As.Name == b.As.Name && a.Source == b.Source && compact(a.Args) == compact(b.Args)
}

// compact returns JSON without the white space that storing it takes away; null is none.
func compact(text json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil || out.String() == "null" {
		return ""
	}
	return out.String()
}

// follow waits for a script and asks the person, until it ends or no person answers.
func (t *Tools) follow(ctx context.Context, by Caller, s script.Script, id string) (tool.Result, error) {
	principal := by.Scope.Principal
	for {
		status, err := t.wait(ctx, by, id)
		if err != nil {
			if ctx.Err() != nil { // the caller has gone while it ran
				err = errors.Join(ctx.Err(), t.Runs.Cancel(context.WithoutCancel(ctx), principal, id))
			}
			return tool.Result{}, err
		}
		if by.Leave != nil && !status.State.Ended() {
			by.Leave(id)
			return inTheWords(status, s), nil
		}
		if status.State != journal.Waiting || by.Ask == nil {
			if !status.State.Ended() && !t.Runs.Disown(id) {
				continue // it was answered elsewhere, and runs in the name of this caller
			}
			return inTheWords(status, s), nil
		}
		request, err := status.Request(time.Now())
		if err != nil {
			return tool.Result{}, err
		}
		answer, moved, err := t.ask(ctx, by, status, request)
		switch {
		case ctx.Err() != nil:
			return tool.Result{}, ctx.Err()
		case moved: // it was answered elsewhere
			continue
		case err != nil && t.Runs.Disown(id):
			return inTheWords(status, s), nil
		case err != nil:
			continue
		}
		if err := t.Runs.Decide(ctx, principal, id, status.Verdicts(answer)); err != nil && !errors.Is(err, script.ErrNotFound) {
			return tool.Result{}, err // ErrNotFound: it was answered elsewhere meanwhile
		}
	}
}

// wait waits for a script as long as its caller does.
func (t *Tools) wait(ctx context.Context, by Caller, id string) (script.Status, error) {
	if by.Leave == nil {
		return t.Runs.Wait(ctx, by.Scope.Principal, id, 0)
	}
	some, cancel := context.WithTimeout(ctx, by.Patience)
	defer cancel()
	status, err := t.Runs.Wait(some, by.Scope.Principal, id, 0)
	if err != nil && some.Err() != nil && ctx.Err() == nil {
		return t.Runs.Get(ctx, by.Scope.Principal, id)
	}
	return status, err
}

// ask asks the person, until the card is no longer what it was; then moved is true.
func (t *Tools) ask(ctx context.Context, by Caller, card script.Status, r approval.Request) (_ approval.Answer, moved bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, r.Expires)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	elsewhere := make(chan struct{})
	watch.Go(func() {
		if t.Runs.Moved(ctx, by.Scope.Principal, card) == nil {
			close(elsewhere)
			cancel()
		}
	})
	answer, err := by.Ask.Approve(ctx, r)
	select {
	case <-elsewhere:
		return answer, err != nil, err
	default:
		return answer, false, err
	}
}

// inTheWords returns what a model reads of a script, as the result of the call that asked.
func inTheWords(status script.Status, s script.Script) tool.Result {
	r := status.Result()
	r.CallID, r.Err = s.CallID, msg.ToolError(s.Locale, r.Err)
	return r
}
