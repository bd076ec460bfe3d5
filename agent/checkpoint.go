package agent

import (
	"context"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// A Checkpoint is how far a turn is, so that another process can go on with it: see
// Loop.Continue. It is plain data, which JSON keeps, and does not change as the turn goes on.
type Checkpoint struct {
	// Added are the messages since the Checkpoint before that are new or changed. From is the
	// place of the first one, where 0 is that of the question. The last
	// one has calls that are about to run, or those before it have the results of such calls.
	From  int       `json:"from,omitempty"`
	Added []Message `json:"added,omitempty"`
	// Refused says why calls of the last message do not run, and Confirm the ids by which
	// the model confirms those that are quotations, by the ids of the calls.
	Refused map[string]*tool.Error `json:"refused,omitempty"`
	Confirm map[string]string      `json:"confirm,omitempty"`
	// Usage is that of the whole turn so far.
	Usage Usage `json:"usage"`
	// Rest is what else the turn's next requests depend on.
	Rest Rest `json:"rest"`
}

// Rest is the part of a Checkpoint that concerns this package alone.
type Rest struct {
	Model          string            `json:"model,omitempty"`  // that answers; empty: the Loop's own
	Before         []ModelUsage      `json:"before,omitempty"` // of the models before it
	Mode           Mode              `json:"mode"`
	Elapsed        time.Duration     `json:"elapsed"` // without waits for a person
	Tokens         int               `json:"tokens"`
	Stats          Stats             `json:"stats"`
	SameCalls      map[string]int    `json:"same_calls,omitempty"`
	NativeFailures int               `json:"native_failures,omitempty"`
	Thrashing      map[string]bool   `json:"thrashing,omitempty"`
	LastID         int               `json:"last_id,omitempty"`
	Malformed      []parse.Malformed `json:"malformed,omitempty"` // of the reply whose calls run
	PlanOpen       bool              `json:"plan_open,omitempty"`
	Plan           []string          `json:"plan,omitempty"`
	Done           int               `json:"done,omitempty"` // steps of Plan
	Called         bool              `json:"called,omitempty"`
	Asked          bool              `json:"asked,omitempty"`     // to call, in a note
	NoChoice       bool              `json:"no_choice,omitempty"` // the provider refused Config.Choice
	Final          Reason            `json:"final,omitempty"`
	Insisted       bool              `json:"insisted,omitempty"`
}

// checkpoint passes on how far the turn is.
func (r *run) checkpoint() error {
	if r.cfg.Checkpoint == nil || len(r.msgs) == r.memory.saved {
		return nil
	}
	b, p := &r.budget, r.round.reply
	c := Checkpoint{From: r.memory.saved - r.memory.question, Added: slices.Clone(r.msgs[r.memory.saved:]), Confirm: p.confirm, Usage: b.usage, Rest: Rest{
		Model: r.answering.name, Before: slices.Clone(r.answering.before), Mode: r.mode, Elapsed: time.Since(b.began) - b.clock.waited(), Tokens: b.tokens, Stats: b.stats, SameCalls: maps.Clone(b.sameCalls), NativeFailures: b.nativeFailures,
		Thrashing: maps.Clone(r.memory.thrashing), LastID: r.ids.last, Malformed: p.malformed, PlanOpen: r.plan.open, Plan: r.plan.steps, Done: r.plan.done,
		Called: r.choice.called, Asked: r.choice.sent, NoChoice: r.choice.refused, Final: r.ending.final, Insisted: r.ending.insisted,
	}}
	for i := range c.Added {
		c.Added[i].Results = slices.Clone(c.Added[i].Results)
	}
	for i, call := range p.calls {
		if e := p.bad[i]; e != nil {
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

// changed says that the message i is not as the Checkpoints have it.
func (r *run) changed(i int) { r.memory.saved = max(min(r.memory.saved, i), r.memory.question) }

// Apply returns the messages of a turn under way: history ends with its question, or with the calls
// of the client's own tools that it goes on from, and steps are all its Checkpoints.
func Apply(history []Message, steps []Checkpoint) []Message {
	question := Question(history)
	history = slices.Clone(history)
	for _, s := range steps {
		history = append(history[:question+s.From], s.Added...)
	}
	return history
}

// Question returns the place of the last question, -1 if there is none.
func Question(history []Message) int {
	for i, m := range slices.Backward(history) {
		if m.Role == RoleUser {
			return i
		}
	}
	return -1
}

// Continue goes on with a turn whose process ended: history ends with its question, and steps
// are all its Checkpoints. The calls of the last one
// without results run, unless lost returns what is known of one: its error is the result then.
// Everything else is as for Run, and the next request is the one that would have been made.
func (l *Loop) Continue(ctx context.Context, history []Message, steps []Checkpoint, lost func(tool.Call) *tool.Error) (Turn, error) {
	question := len(history) - 1
	if len(steps) == 0 {
		return l.turn(ctx, 0, func(r *run) phase {
			return r.begin(history[:question], history[question].Text, history[question].Typed)
		})
	}
	return l.turn(ctx, steps[len(steps)-1].Rest.Elapsed, func(r *run) phase { return r.goOn(history, steps, lost) })
}

func (r *run) goOn(history []Message, steps []Checkpoint, lost func(tool.Call) *tool.Error) phase {
	question := len(history) - 1
	r.place(history[:question], history[question].Text, history[question].Typed)
	r.msgs[r.memory.question].At = history[question].At
	last := steps[len(steps)-1]
	rest, begun := last.Rest, r.msgs
	r.goOnWith(rest.Model)
	r.answering.before = rest.Before
	if r.mode != rest.Mode {
		r.mode = rest.Mode
		r.writeSystem()
	}
	for i := range steps { // a text that has folded is foreign still
		r.msgs = Apply(begun, steps[:i+1])
		r.quotes.next = r.memory.question + steps[i].From
		r.readForeign()
	}
	r.quotes.next = 0
	r.memory.saved, r.ids.used, r.ids.last = len(r.msgs), usedIDs(r.msgs), rest.LastID
	r.memory.thrashing = rest.Thrashing
	r.budget.usage, r.budget.tokens, r.budget.stats, r.budget.nativeFailures = last.Usage, rest.Tokens, rest.Stats, rest.NativeFailures
	maps.Copy(r.budget.sameCalls, rest.SameCalls)
	r.plan = plan{rest.PlanOpen, rest.Plan, rest.Done}
	r.choice = choiceState{rest.Called, rest.Asked, rest.NoChoice}
	r.ending.final, r.ending.insisted = rest.Final, rest.Insisted
	r.emitStart()
	for _, m := range r.msgs[r.memory.question:] {
		if seen := utf8.RuneCountInString(m.Text) - m.Unseen; m.Role == RoleAssistant && seen > 0 {
			r.shown = shown{end: string([]rune(m.Text)[max(0, seen-2):seen]), apart: true}
		}
	}
	due := Pending(r.msgs)
	p := &reply{calls: due, raw: make([]string, len(due)), confirm: last.Confirm, malformed: rest.Malformed}
	r.round.reply = p
	if len(due) == 0 {
		return phaseAsk
	}
	end := r.msgs[len(r.msgs)-1]
	p.native = end.Native
	p.text.WriteString(end.Text)
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
