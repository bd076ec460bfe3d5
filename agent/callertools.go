package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Resume continues the turn at the end of history, which waits for results of the
// caller's tools. answers are matched to the calls by CallID. A call
// without an answer gets a result that says so; an answer to no call of the history's
// last turn is ignored. Messages of an earlier Resume after the last results of the
// same turn are removed. Everything else is as for Run.
//
// An answer with a Ref is cut to the limits in force and folds at the turn's end, as
// any result; an answer without one is shown whole.
func (l *Loop) Resume(ctx context.Context, history []Message, answers []tool.Result) (Turn, error) {
	return l.turn(ctx, 0, func(r *run) phase { return r.resume(history, answers) })
}

// Pending returns the calls at the end of history that have no result yet. It
// returns nil if history does not end with calls.
func Pending(history []Message) []tool.Call {
	answered := map[string]bool{}
	for _, m := range slices.Backward(history) {
		switch {
		case m.Role == RoleResults:
			for _, e := range m.Results {
				answered[e.CallID] = true
			}
		case m.Role == RoleAssistant && len(m.Calls) > 0:
			return slices.DeleteFunc(slices.Clone(m.Calls), func(c tool.Call) bool { return answered[c.ID] })
		case m.Role == RoleUser:
			return nil
		}
	}
	return nil
}

// NewResultEntry returns a result of the caller's own tool as it is stored in a
// history.
func NewResultEntry(r tool.Result, l tool.Locale) ResultEntry {
	return ResultEntry{CallID: r.CallID, Tool: r.Tool, Text: prompt.Fence(limit.Render(r, l)), Chars: r.Shown.TotalChars, Ref: r.Ref, Err: r.Err != nil}
}

// resume opens the rest of a turn.
func (r *run) resume(history []Message, answers []tool.Result) phase {
	for n := len(history); n > 0; n-- {
		m := history[n-1]
		if m.Role != RoleNote && (m.Role != RoleAssistant || len(m.Calls) > 0) {
			break
		}
		history = history[:n-1]
	}
	r.reopen(history)
	r.round.reply = &reply{}
	for _, c := range Pending(history) {
		o := outcome{call: c}
		if i := slices.IndexFunc(answers, func(a tool.Result) bool { return a.CallID == c.ID }); i >= 0 {
			o.result = answers[i]
			o.result.CallID, o.result.Tool = c.ID, c.Tool
			o.unlimited = o.result.Ref == nil && !o.result.Unkept
		} else {
			o.refused = &tool.Error{Code: tool.Cancelled, Msg: prompt.For(r.locale).NoResult}
		}
		r.round.outcomes = append(r.round.outcomes, o)
	}
	if len(r.round.outcomes) == 0 { // they were given before, and the model has not answered
		return phaseAsk
	}
	return phaseFit
}

// reopen sets up the turn at the end of history.
func (r *run) reopen(history []Message) {
	for i, m := range history {
		r.turn = max(r.turn, m.Turn)
		if m.Role == RoleUser {
			r.memory.question = i
		}
	}
	question := ""
	if len(history) > 0 {
		question = history[r.memory.question].Text
	}
	r.setUp(history, r.memory.question, question)
	if n := len(history); n > 0 {
		for _, m := range slices.Backward(history[r.memory.question:]) {
			if m.Role == RoleAssistant {
				r.goOnWith(m.Model)
				break
			}
		}
	}
	r.emitStart()
}

// closePending answers calls of the turn before that have no results.
func (r *run) closePending() {
	calls := Pending(r.msgs)
	if len(calls) == 0 {
		return
	}
	m := Message{Role: RoleResults, Turn: r.turn - 1, Locale: r.locale, At: r.cfg.Now()}
	for _, c := range calls {
		m.Results = append(m.Results, ResultEntry{CallID: c.ID, Tool: c.Tool, Text: prompt.For(r.locale).NoResult, Err: true})
	}
	r.add(m)
}

// isCaller reports whether a tool is one of the caller's.
func (r *run) isCaller(name string) bool { return prompt.HasTool(r.cfg.Caller, name) }

// splitCallerCalls moves the calls of the caller's tools to the pending ones. It
// returns the calls that run here, and what is wrong with them by index. A call of
// the caller's with invalid arguments is answered here too.
func (r *run) splitCallerCalls(calls []tool.Call) (own []tool.Call, bad map[int]*tool.Error) {
	for i, c := range calls {
		problem := r.round.reply.bad[i]
		if problem == nil && r.isCaller(c.Tool) {
			r.round.pending = append(r.round.pending, c)
			continue
		}
		if problem != nil {
			if bad == nil {
				bad = map[int]*tool.Error{}
			}
			bad[len(own)] = problem
		}
		own = append(own, c)
	}
	return own, bad
}

// suspend ends the run with pending calls of the caller's tools.
func (r *run) suspend() phase {
	r.ending.reason = ReasonToolCalls
	r.ending.answer = strings.TrimSpace(r.round.reply.text.String())
	return phaseEnd
}

// hasOnlyCall reports whether a reply has the one call that Config.OneCall allows.
func (r *run) hasOnlyCall(p *reply) bool { return r.cfg.OneCall && len(p.calls) > 0 }

// owesCall reports whether the next reply has to call a tool.
func (r *run) owesCall() bool {
	return r.cfg.Choice.Must && !r.choice.called && len(r.specs) > 0
}

// askForCall adds a note that the reply has to call a tool, if the provider has no
// parameter for that.
func (r *run) askForCall() {
	if r.owesCall() && r.ending.final == "" && !r.choice.sent && (r.mode == ModePrompt || r.choice.refused) {
		r.choice.sent = true
		r.add(note(r.callRequest(), r.turn, r.locale))
	}
}

// insistOnCall rejects a reply that had to call a tool and did not.
func (r *run) insistOnCall() phase {
	if text := strings.TrimSpace(r.round.reply.text.String()); text != "" {
		r.add(r.assistant(text))
	}
	r.choice.sent = true
	r.add(note(r.callRequest(), r.turn, r.locale))
	return phaseAsk
}

func (r *run) callRequest() string {
	if name := r.cfg.Choice.Tool; name != "" {
		return prompt.For(r.locale).MustCallOne + name
	}
	return prompt.For(r.locale).MustCall
}

// dropChoice treats an error as the provider's refusal of Config.Choice, once, and
// not as a refusal of all tools.
func (r *run) dropChoice(err error) bool {
	if !r.owesCall() || r.choice.refused || !IsModelCode(err, ModelBadRequest) {
		return false
	}
	r.choice.refused = true
	return true
}
