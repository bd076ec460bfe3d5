package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Resume goes on with the turn in which history ends, which waits for results of
// the caller's tools: they are the answers, matched by their CallID. A call
// without an answer is told to have none; an answer to no call of the history's
// last turn is left out. What an earlier Resume of the same turn came to behind
// its last results is taken back. Everything else is as for Run.
//
// An answer with a Ref is cut to the limits in force, as any result is, and folds
// at the turn's end; one without is read as it is.
func (l *Loop) Resume(ctx context.Context, history []Message, answers []tool.Result) (Turn, error) {
	return l.turn(ctx, func(r *run) phase { return r.resume(history, answers) })
}

// Pending returns the calls in which history ends that have no result yet; nil:
// it does not end in calls.
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

// Told writes a result of the caller's own tool as it stands in a history.
func Told(r tool.Result, l tool.Locale) ResultEntry {
	return ResultEntry{CallID: r.CallID, Tool: r.Tool, Text: fence(limit.Render(r, l)), Chars: r.Shown.TotalChars, Ref: r.Ref, Err: r.Err != nil}
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
	for i, m := range history {
		r.turn = max(r.turn, m.Turn)
		if m.Role == RoleUser {
			r.start = i
		}
	}
	question := ""
	if len(history) > 0 {
		question = history[r.start].Text
	}
	r.setUp(history, r.start, question)
	r.tellStart()
	r.reply = &reply{}
	for _, c := range Pending(history) {
		o := outcome{call: c}
		if i := slices.IndexFunc(answers, func(a tool.Result) bool { return a.CallID == c.ID }); i >= 0 {
			o.result = answers[i]
			o.result.CallID, o.result.Tool = c.ID, c.Tool
			o.asGiven = o.result.Ref == nil && !o.result.Unkept
		} else {
			o.refused = &tool.Error{Code: tool.Cancelled, Msg: prompt.For(r.locale).NoResult}
		}
		r.out = append(r.out, o)
	}
	if len(r.out) == 0 { // they were given before, and the model has not answered
		return phaseAsk
	}
	return phaseFit
}

// closePending answers calls of the turn before that nobody gave results of.
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

// passOn splits off the calls of the caller's tools and keeps them as pending.
// It returns those that are made here, and what is wrong with them by index. A
// call of the caller's that nobody could make is answered here too.
func (r *run) passOn(calls []tool.Call) (own []tool.Call, bad map[int]*tool.Error) {
	for i, c := range calls {
		problem := r.reply.bad[i]
		if problem == nil && r.isCaller(c.Tool) {
			r.pending = append(r.pending, c)
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

// await ends the run with calls of the caller's tools.
func (r *run) await() phase {
	r.reason = ReasonToolCalls
	r.answer = strings.TrimSpace(r.reply.text.String())
	return phaseEnd
}

// hasItsCall says that a reply has the one call that it may have.
func (r *run) hasItsCall(p *reply) bool { return r.cfg.OneCall && len(p.calls) > 0 }

// owesCall says that the reply has to call.
func (r *run) owesCall() bool {
	return r.cfg.Choice.Must && !r.hasCalled && len(r.specs) > 0
}

// tellChoice tells a model that it has to call, where no provider does.
func (r *run) tellChoice() {
	if r.owesCall() && r.final == "" && !r.choiceTold && (r.mode == ModePrompt || r.choiceRefused) {
		r.choiceTold = true
		r.add(note(r.choiceText(), r.turn, r.locale))
	}
}

// insistOnCall sends back a reply that had to call and did not.
func (r *run) insistOnCall() phase {
	if text := strings.TrimSpace(r.reply.text.String()); text != "" {
		r.add(r.assistant(text))
	}
	r.choiceTold = true
	r.add(note(r.choiceText(), r.turn, r.locale))
	return phaseAsk
}

func (r *run) choiceText() string {
	if name := r.cfg.Choice.Tool; name != "" {
		return prompt.For(r.locale).MustCallOne + name
	}
	return prompt.For(r.locale).MustCall
}

// forgetChoice takes an error for the provider's refusal of a choice, once, so
// that it is not taken for one of tools altogether.
func (r *run) forgetChoice(err error) bool {
	if !r.owesCall() || r.choiceRefused || !IsModelCode(err, ModelBadRequest) {
		return false
	}
	r.choiceRefused = true
	return true
}
