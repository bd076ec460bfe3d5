package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/sdk/tool"
)

// A Checkpoint is how far a turn is, so that another process can go on with it: see
// Loop.Continue. It is plain data, which JSON keeps.
type Checkpoint struct {
	// Added are the messages since the Checkpoint before, or since the question. The last
	// one has calls that are about to run, or those before it have the results of such calls.
	Added []Message `json:"added,omitempty"`
	// Refused says why calls of the last message do not run, and Confirm the ids by which
	// the model confirms those that are quotations, by the ids of the calls.
	Refused map[string]*tool.Error `json:"refused,omitempty"`
	Confirm map[string]string      `json:"confirm,omitempty"`
	// Usage is that of the whole turn so far.
	Usage Usage `json:"usage"`
}

// checkpoint passes on how far the turn is.
func (r *run) checkpoint() error {
	if r.cfg.Checkpoint == nil || len(r.msgs) == r.memory.saved {
		return nil
	}
	c := Checkpoint{Added: slices.Clone(r.msgs[r.memory.saved:]), Confirm: r.round.reply.confirm, Usage: r.budget.usage}
	for i, call := range r.round.reply.calls {
		if e := r.round.reply.bad[i]; e != nil {
			if c.Refused == nil {
				c.Refused = map[string]*tool.Error{}
			}
			c.Refused[call.ID] = e
		}
	}
	if err := r.cfg.Checkpoint(r.ctx, c); err != nil {
		return err
	}
	r.memory.saved = len(r.msgs)
	return nil
}

// Continue goes on with a turn whose process ended: history ends with its question, or with
// what the Added of all its Checkpoints have, of which last is the last one. Its calls
// without results run, unless lost returns what is known of one: its error is the result then.
// Everything else is as for Run.
func (l *Loop) Continue(ctx context.Context, history []Message, last Checkpoint, lost func(tool.Call) *tool.Error) (Turn, error) {
	if end := history[len(history)-1]; end.Role == RoleUser {
		return l.Run(ctx, history[:len(history)-1], end.Text)
	}
	return l.turn(ctx, func(r *run) phase { return r.goOn(history, last, lost) })
}

func (r *run) goOn(history []Message, last Checkpoint, lost func(tool.Call) *tool.Error) phase {
	r.reopen(history)
	r.memory.history = r.memory.question
	r.budget.usage = last.Usage
	due := Pending(history)
	for _, m := range history[r.memory.question:] {
		for _, c := range m.Calls {
			r.choice.called = true
			if !slices.ContainsFunc(due, func(d tool.Call) bool { return d.ID == c.ID }) {
				r.budget.stats.Calls++
				r.budget.sameCalls[quote.Call{Tool: c.Tool, Args: c.Args}.Key()]++
			}
		}
	}
	p := &reply{calls: due, raw: make([]string, len(due)), confirm: last.Confirm}
	r.round.reply = p
	if len(due) == 0 {
		if r.budget.stats.Calls >= r.cfg.MaxToolCalls {
			r.endWith(ReasonMaxCalls, fmt.Sprintf(prompt.For(r.locale).CallsUsedUp, r.cfg.MaxToolCalls))
		}
		return phaseAsk
	}
	p.native = history[len(history)-1].Native
	for i, c := range due {
		e := last.Refused[c.ID]
		if e == nil {
			e = lost(c)
		}
		if e != nil {
			p.refuse(i, e)
		}
	}
	return phaseMake
}
