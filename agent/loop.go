package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// A Loop answers questions with one model and one toolbox. Between turns it stores
// only what its Estimator learnt. It is safe for concurrent use if the Model, the
// Toolbox and the Observer are.
type Loop struct {
	cfg   Config
	model Model
	tools Toolbox
	obs   Observer
}

// New returns a Loop. tb may be nil if tools are disabled; obs may be nil.
func New(cfg Config, m Model, tb Toolbox, obs Observer) (*Loop, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("an agent needs a model")
	}
	if cfg.EnableToolCalling && tb == nil {
		return nil, errors.New("an agent that calls tools needs a toolbox")
	}
	if obs == nil {
		obs = ObserverFunc(func(Event) {})
	}
	return &Loop{cfg: cfg.resolve(), model: m, tools: tb, obs: obs}, nil
}

// Run answers one question. history is the Messages of the turn before, or nil; it
// is not modified. The error is a *ModelError, the Toolbox's error or the cause of
// ctx. The Turn then holds what happened until the error and must be stored too.
func (l *Loop) Run(ctx context.Context, history []Message, question string) (Turn, error) {
	return l.turn(ctx, 0, func(r *run) phase { return r.begin(history, question, l.cfg.Typed) })
}

// turn runs one turn, which open begins, or the rest of one that has taken some time.
func (l *Loop) turn(ctx context.Context, took time.Duration, open func(*run) phase) (Turn, error) {
	start, left := time.Now().Add(-took), l.cfg.TimeBudget
	if left > 0 {
		left = max(left-took, 1)
	}
	ctx, clock, end := newClock(ctx, left)
	defer end()
	r := &run{l: l, cfg: l.cfg, ctx: ctx, answering: answering{model: l.model, next: l.cfg.Fallback}, budget: budget{began: start, clock: clock, sameCalls: map[string]int{}}}
	err := r.run(open(r))
	return r.finish(err)
}

// A phase is one state of the turn's machine. It does its work and names the
// next; phaseEnd has none.
type phase int

const (
	phaseAsk   phase = iota // make room, ask the model, read its reply
	phaseParse              // decide what the reply means
	phaseCall               // record the group of calls
	phaseMake               // run it
	phaseFit                // bring the results into the window
	phaseEnd
)

func (r *run) run(p phase) error {
	for p != phaseEnd {
		var err error
		switch p {
		case phaseAsk:
			p, err = r.ask()
		case phaseParse:
			p, err = r.parse()
		case phaseCall:
			p = r.callPhase()
		case phaseMake:
			p, err = r.makePhase()
		case phaseFit:
			if p = r.fitPhase(); p != phaseEnd {
				err = r.checkpoint()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask checks the budgets, makes room and streams one reply.
func (r *run) ask() (phase, error) {
	r.checkBudgets()
	roomy := r.makeRoom()
	if r.draft.text != "" && (r.ending.final != "" || !roomy) {
		r.ending.final = "" // nothing is left for the check, but the draft is an answer
		return r.accept(r.draft.text), nil
	}
	if !roomy {
		r.ending.reason = ReasonWindow
		return phaseEnd, r.windowError()
	}
	r.askForCall()
	sent := r.promptTokens()
	r.emit(Budget{Tokens: sent, Window: r.window})
	r.budget.stats.Rounds++
	parts, began := r.parts(sent), time.Now()
	r.round.reply = r.stream(r.request())
	used := r.used(sent)
	r.budget.usage = r.budget.usage.Add(used)
	r.cfg.Estimator.Calibrate(sent, r.round.reply.usage.Prompt)
	r.emit(RoundEnd{Round: r.budget.stats.Rounds, Sent: parts, Usage: used, First: r.round.reply.first, Elapsed: time.Since(began), Calls: len(r.round.reply.calls), Err: r.round.reply.err, Raw: r.round.reply.whole.String()})
	r.budget.tokens += r.cost(sent)
	return phaseParse, nil
}

// request returns the next request to the model.
func (r *run) request() Request {
	req := Request{
		System: r.system, Messages: chatMessages(r.sent(), r.mode, r.declared()), Window: r.window,
		MaxTokens: max(0, r.cfg.MaxTokens), Stop: r.cfg.Stop, Sampling: r.cfg.Sampling,
	}
	switch {
	case r.mode == ModeNative && len(r.specs) > 0:
		req.Tools, req.NoCalls, req.OneCall = r.nativeTools().Tools, r.ending.final != "", r.cfg.OneCall
		if r.owesCall() && !r.choice.refused && !req.NoCalls {
			req.Choice = r.cfg.Choice
		}
		req.Format = r.cfg.Format
	case r.ending.final != "" || len(r.specs) == 0:
		req.Format = r.cfg.Format // a call in text is not JSON
	}
	return req
}

// used returns the provider's count for the last request; an estimate if reading
// ended before the count.
func (r *run) used(sent int) Usage {
	u := r.round.reply.usage
	if !r.round.reply.left || u.Prompt+u.Completion > 0 {
		return u
	}
	return Usage{Prompt: sent, Completion: r.cost(sent) - sent, Estimated: true}
}

// cost returns the tokens of the last request, reported or else estimated.
func (r *run) cost(sent int) int {
	p := r.round.reply
	if u := p.usage; u.Prompt+u.Completion > 0 {
		return u.Prompt + u.Completion
	}
	if p.err != nil && p.first == 0 { // no provider counts a request that it did not answer
		return 0
	}
	said := p.text.String() + p.reasoning.String()
	for _, c := range p.calls {
		said += prompt.CallText(c)
	}
	return sent + r.cfg.Estimator.Tokens(said)
}

// windowError is the error of a request that does not fit the window.
func (r *run) windowError() error {
	return NewModelError(ModelWindow, r.info.Name,
		tool.Textf("the next request needs about %d tokens and the window has %d", r.promptTokens(), r.window),
		tool.Textf("ask something shorter, begin a new conversation, or use a model with a larger window"))
}

// checkBudgets ends the turn's tool calling when tokens or time run out.
func (r *run) checkBudgets() {
	if r.ending.final != "" {
		return
	}
	w := prompt.For(r.locale)
	switch {
	case r.cfg.TokenBudget > 0 && r.budget.tokens >= r.cfg.TokenBudget:
		r.endWith(ReasonTokens, w.TokensUsedUp)
	case r.cfg.TimeBudget > 0 && time.Since(r.budget.began)-r.budget.clock.waited() > r.cfg.TimeBudget*4/5:
		r.endWith(ReasonTime, w.TimeUsedUp)
	}
}

// endWith makes the next request the last one. A note gives the model the reason and
// asks for an answer from what it has.
func (r *run) endWith(reason Reason, why string) {
	if r.ending.final != "" {
		return
	}
	r.ending.final = reason
	if r.draft.text == "" {
		r.add(note(why+prompt.For(r.locale).AnswerNow, r.turn, r.locale))
	}
}

// parse decides what a reply means.
func (r *run) parse() (phase, error) {
	p := r.round.reply
	switch {
	case p.err != nil:
		return r.handleError(p.err)
	case r.draft.text != "":
		return r.endCheck(), nil
	case r.ending.final == "" && len(p.calls) > 0:
		r.flushText(p)
		return phaseCall, nil
	case r.ending.final == "" && len(p.malformed) > 0:
		return r.correct(), nil
	case r.owesCall() && r.ending.final == "" && r.mayCorrect():
		return r.insistOnCall(), nil
	case p.empty() && p.finish == FinishLength && r.ending.final == "": // it would be cut again
		r.ending.reason = ReasonLength
		return r.accept(""), nil
	case p.empty() && r.ending.final == "":
		return r.handleEmpty(), nil
	case (len(p.late) > 0 || p.isSilent() || p.onlyCalls()) && !r.ending.insisted: // the last one, and no answer
		if r.ending.insisted = true; len(p.late) > 0 {
			return r.refuseLate(), nil
		}
		w := prompt.For(r.locale)
		why := w.NoText
		if !p.isSilent() {
			r.flushText(p)
			r.add(r.assistant(p.text.String()))
			why = w.TooLate
		}
		r.add(note(why+w.AnswerInText, r.turn, r.locale))
		return phaseAsk, nil
	case p.finish == FinishLength && r.ending.final == "":
		r.ending.reason = ReasonLength
		return r.accept(p.text.String()), nil
	case r.plan.open && r.ending.final == "" && r.readPlan(p.text.String()):
		return phaseAsk, nil
	case r.needsCheck():
		return r.startCheck(), nil
	case r.isWrong(p):
		return r.askForFormat(), nil
	}
	return r.accept(p.text.String()), nil
}

// accept takes text as the answer.
func (r *run) accept(text string) phase {
	if r.ending.reason == "" {
		r.ending.reason = ReasonAnswer
		if r.ending.final != "" && (r.ending.final != ReasonNoAnswer || strings.TrimSpace(text) == "") {
			r.ending.reason = r.ending.final
		}
	}
	r.ending.answer = text
	if r.ending.fault = r.fault(text); !r.ending.fault.IsZero() && r.ending.reason != ReasonLength {
		r.ending.reason = ReasonFormat
	}
	if r.draft.text != "" { // the check's own messages are not kept
		m := r.msgs[r.draft.at]
		m.Text, m.Sources = text, r.sourcesFor(text)
		r.msgs = append(r.msgs[:r.draft.at], m)
		if r.ending.reason != ReasonFormat {
			r.show(text)
		}
		return phaseEnd
	}
	if r.round.reply.onlyCalls() {
		r.ending.answer = ""
	}
	if r.ending.reason != ReasonFormat {
		r.showHeld(r.round.reply)
	}
	if strings.TrimSpace(text) != "" {
		m := r.assistant(text)
		m.Sources = r.sourcesFor(text)
		r.add(m)
	} else {
		r.ending.thought = r.round.reply.reasoning.String()
	}
	return phaseEnd
}

// assistant is the model's last reply as a message.
func (r *run) assistant(text string) Message {
	return Message{Role: RoleAssistant, Text: text, Reasoning: r.round.reply.reasoning.String(), Turn: r.turn,
		Model: r.modelName(), Locale: r.locale, At: r.cfg.Now()}
}

// handleError handles an error of the model. After some errors the model is asked in
// another way; the others end the turn with what there is.
func (r *run) handleError(err error) (phase, error) {
	p := r.round.reply
	if r.draft.text != "" { // the check failed, the draft is
		return r.accept(r.draft.text), r.ctx.Err()
	}
	if p.empty() && r.ctx.Err() == nil {
		if r.mode == ModeNative && !r.refusesCallers(err) && (r.leaveOut(err) || r.dropChoice(err) || r.countNativeFailure(err)) {
			return phaseAsk, nil
		}
		if IsModelCode(err, ModelWindow) && r.foldOldest(0, lastResults(r.msgs)) {
			return phaseAsk, nil
		}
	}
	if r.fallBack(err) {
		return phaseAsk, nil
	}
	r.flushText(p)
	r.ending.answer = p.text.String()
	if m := r.assistant(r.ending.answer); r.ending.answer != "" || len(p.calls) > 0 {
		// Calls of a reply that broke off do not run: more might have followed.
		m.Calls, m.Native, m.Sources = p.calls, p.native, r.sourcesFor(r.ending.answer)
		r.add(m)
	}
	r.ending.reason = ReasonModel
	if IsModelCode(err, ModelWindow) {
		r.ending.reason = ReasonWindow
	}
	return phaseEnd, r.allFailed(r.explainRefusal(err))
}

// mayCorrect counts a correction and reports whether it is allowed.
func (r *run) mayCorrect() bool {
	if r.budget.stats.Corrections >= r.cfg.MaxCorrections {
		return false
	}
	r.budget.stats.Corrections++
	return true
}

// finish folds results and closes the turn.
func (r *run) finish(err error) (Turn, error) {
	if r.ending.reason != ReasonToolCalls {
		r.cancelUnanswered()
	}
	if err != nil {
		switch {
		case context.Cause(r.ctx) == errTimeBudget && r.ctx.Err() != nil:
			r.ending.reason, err = ReasonTime, nil
		case r.ctx.Err() != nil:
			r.ending.reason, err = ReasonCancelled, r.ctx.Err()
		case r.ending.reason == "":
			r.ending.reason = ReasonToolbox
		}
	}
	r.holdTurn()
	from, folded := r.quotes.marked, Folded{}
	if r.ending.reason != ReasonToolCalls { // which is not the turn's end
		for i := range r.msgs {
			r.msgs[i].Sealed = nil // the provider wanted it for this turn's calls
		}
		first := 0
		first, folded = foldTurn(r.msgs, r.turn, r.cfg.ArchiveThreshold)
		from = min(from, first)
	}
	if folded.SavedChars > 0 {
		folded.PromptChars = promptChars(r.system, r.msgs[r.memory.first:])
		r.emit(folded)
	}
	r.budget.stats.Elapsed = time.Since(r.budget.began)
	r.emit(TurnEnd{Reason: r.ending.reason, Usage: r.budget.usage, Before: r.answering.before, Rounds: r.budget.stats.Rounds, Calls: r.budget.stats.Calls,
		ProducedChars: r.budget.stats.ProducedChars, ShownChars: r.budget.stats.ShownChars, KeptChars: r.budget.stats.KeptChars, Elapsed: r.budget.stats.Elapsed, Faults: r.budget.stats.Faults})
	return Turn{Messages: r.msgs, From: min(r.memory.history, from), Answer: r.ending.answer, Sources: r.answered(), Reasoning: r.reasoning(),
		Reason: r.ending.reason, Fault: r.ending.fault, Pending: r.round.pending, Usage: r.budget.usage, Stats: r.budget.stats}, err
}
