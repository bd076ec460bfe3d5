package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhost/weir/agent/internal/prompt"
)

// A Loop answers questions with one model and one toolbox. It keeps nothing
// between turns but what its Estimator learnt; it is safe for concurrent use if
// the Model, the Toolbox and the Observer are.
type Loop struct {
	cfg   Config
	model Model
	tools Toolbox
	obs   Observer
}

// New makes a Loop. tb may be nil when tools are off, obs may always be.
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

// Run answers one question. history is what the turns before returned as
// Messages, or nil; it is not changed. The error is a *ModelError, the
// Toolbox's, or what ended ctx; the Turn then holds what happened until then,
// and is to be stored as well.
func (l *Loop) Run(ctx context.Context, history []Message, question string) (Turn, error) {
	return l.turn(ctx, func(r *run) phase { return r.begin(history, question) })
}

// turn runs one turn, which open begins.
func (l *Loop) turn(ctx context.Context, open func(*run) phase) (Turn, error) {
	start := time.Now()
	ctx, clock, end := newClock(ctx, l.cfg.TimeBudget)
	defer end()
	r := &run{l: l, cfg: l.cfg, ctx: ctx, began: start, clock: clock, same: map[string]int{}}
	err := r.run(open(r))
	return r.finish(err)
}

// A phase is one state of the turn's machine. It does its work and names the
// next; phaseEnd has none.
type phase int

const (
	phaseAsk   phase = iota // make room, ask the model, read its reply
	phaseParse              // decide what the reply means
	phaseCall               // run the group of calls
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
			p, err = r.callPhase()
		case phaseFit:
			p = r.fitPhase()
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
	if r.draft != "" && (r.final != "" || !roomy) {
		r.final = "" // nothing is left for the check, but the draft is an answer
		return r.accept(r.draft), nil
	}
	if !roomy {
		r.reason = ReasonWindow
		return phaseEnd, r.tooLong()
	}
	r.tellChoice()
	sent := r.promptTokens()
	r.emit(Budget{Tokens: sent, Window: r.window, SystemChars: r.systemChars,
		TooLong: r.window > 0 && r.systemTokens() > r.window-r.reserve})
	r.stats.Rounds++
	parts, began := r.parts(sent), time.Now()
	r.reply = r.stream(r.request())
	used := r.used(sent)
	r.usage = r.usage.Add(used)
	r.cfg.Estimator.Calibrate(sent, r.reply.usage.Prompt)
	r.emit(RoundEnd{Round: r.stats.Rounds, Sent: parts, Usage: used, First: r.reply.first, Elapsed: time.Since(began), Calls: len(r.reply.calls), Err: r.reply.err})
	r.spent += r.cost(sent)
	return phaseParse, nil
}

// request is what the model is asked now.
func (r *run) request() Request {
	req := Request{
		System: r.system, Messages: chatMessages(r.msgs[r.memory:], r.mode), Window: r.window,
		MaxTokens: max(0, r.cfg.MaxTokens), Stop: r.cfg.Stop, Sampling: r.cfg.Sampling,
	}
	switch {
	case r.mode == ModeNative && len(r.specs) > 0:
		req.Tools, req.NoCalls, req.OneCall = r.nativeTools().Tools, r.final != "", r.cfg.OneCall
		if r.owesCall() && !r.choiceRefused && !req.NoCalls {
			req.Choice = r.cfg.Choice
		}
		req.Format = r.cfg.Format
	case r.final != "" || len(r.specs) == 0:
		req.Format = r.cfg.Format // a call in text is not JSON
	}
	return req
}

// used is what the provider counted of the last request; of a reply that was
// left before its count came, an estimate.
func (r *run) used(sent int) Usage {
	u := r.reply.usage
	if !r.reply.left || u.Prompt+u.Completion > 0 {
		return u
	}
	return Usage{Prompt: sent, Completion: r.cost(sent) - sent, Estimated: true}
}

// cost is what the last request took in tokens, reported or else estimated.
func (r *run) cost(sent int) int {
	p := r.reply
	if u := p.usage; u.Prompt+u.Completion > 0 {
		return u.Prompt + u.Completion
	}
	said := p.text.String() + p.reasoning.String()
	for _, c := range p.calls {
		said += prompt.CallText(c)
	}
	return sent + r.cfg.Estimator.Tokens(said)
}

// tooLong is the error of a question that fits no window.
func (r *run) tooLong() error {
	return &ModelError{Code: ModelWindow, Model: r.info.Name,
		Msg:  fmt.Sprintf("the next request needs about %d tokens and the window has %d", r.promptTokens(), r.window),
		Hint: "ask something shorter, begin a new conversation, or use a model with a larger window"}
}

// checkBudgets ends the turn's tool calling when tokens or time run out.
func (r *run) checkBudgets() {
	if r.final != "" {
		return
	}
	w := prompt.For(r.locale)
	switch {
	case r.cfg.TokenBudget > 0 && r.spent >= r.cfg.TokenBudget:
		r.endBy(ReasonTokens, w.TokensUsedUp)
	case r.cfg.TimeBudget > 0 && time.Since(r.began)-r.clock.idled() > r.cfg.TimeBudget*4/5:
		r.endBy(ReasonTime, w.TimeUsedUp)
	}
}

// endBy makes the next request the last: the model is told why, and to answer
// from what it has.
func (r *run) endBy(reason Reason, why string) {
	if r.final != "" {
		return
	}
	r.final = reason
	if r.draft == "" {
		r.add(note(why+prompt.For(r.locale).AnswerNow, r.turn, r.locale))
	}
}

// parse decides what a reply means.
func (r *run) parse() (phase, error) {
	p := r.reply
	switch {
	case p.err != nil:
		return r.failed(p.err)
	case r.draft != "":
		return r.checked(), nil
	case r.final == "" && len(p.calls) > 0:
		r.show(p)
		return phaseCall, nil
	case r.final == "" && len(p.malformed) > 0:
		return r.correct(), nil
	case r.owesCall() && r.final == "" && r.mayCorrect():
		return r.insistOnCall(), nil
	case p.empty() && r.final == "":
		return r.silent(), nil
	case p.empty() && !r.insisted:
		r.insisted = true
		r.add(note(prompt.For(r.locale).AnswerNow, r.turn, r.locale))
		return phaseAsk, nil
	case p.finish == FinishLength && r.final == "":
		r.reason = ReasonLength
		return r.accept(p.text.String()), nil
	case r.plan.open && r.final == "" && r.takePlan(p.text.String()):
		return phaseAsk, nil
	case r.reflects():
		return r.reflect(), nil
	}
	return r.accept(p.text.String()), nil
}

// accept takes text as the answer.
func (r *run) accept(text string) phase {
	if r.reason == "" {
		r.reason = ReasonAnswer
		if r.final != "" && (r.final != ReasonNoAnswer || strings.TrimSpace(text) == "") {
			r.reason = r.final
		}
	}
	r.answer = text
	if r.draft != "" { // the check's own messages are not kept
		m := r.msgs[r.draftAt]
		m.Text = text
		r.msgs = append(r.msgs[:r.draftAt], m)
		r.emit(TextDelta{text})
		return phaseEnd
	}
	r.show(r.reply)
	if strings.TrimSpace(text) != "" {
		r.add(r.assistant(text))
	}
	return phaseEnd
}

// assistant is the model's last reply as a message.
func (r *run) assistant(text string) Message {
	return Message{Role: RoleAssistant, Text: text, Reasoning: r.reply.reasoning.String(), Turn: r.turn,
		Model: r.info.Name, Locale: r.locale, At: r.cfg.Now()}
}

// failed handles an error of the model. Some are answered by asking in another
// way; all others end the turn with what there is.
func (r *run) failed(err error) (phase, error) {
	p := r.reply
	if r.draft != "" { // the check failed, the draft stands
		return r.accept(r.draft), r.ctx.Err()
	}
	if p.empty() && r.ctx.Err() == nil {
		if r.mode == ModeNative && r.forgetChoice(err) {
			return phaseAsk, nil
		}
		if r.mode == ModeNative && r.blameTools(err) {
			return phaseAsk, nil
		}
		if IsModelCode(err, ModelWindow) && r.foldOldest(0, lastResults(r.msgs)) {
			return phaseAsk, nil
		}
	}
	r.show(p)
	r.answer = p.text.String()
	if m := r.assistant(r.answer); r.answer != "" || len(p.calls) > 0 {
		// Calls of a reply that broke off do not run: more might have followed.
		m.Calls, m.Native = p.calls, p.native
		r.add(m)
	}
	r.reason = ReasonModel
	if IsModelCode(err, ModelWindow) {
		r.reason = ReasonWindow
	}
	return phaseEnd, err
}

// silent handles a reply without any text.
func (r *run) silent() phase {
	if r.mode == ModeNative {
		r.blameTools(errEmptyReply)
		return phaseAsk
	}
	if !r.mayCorrect() {
		r.endBy(ReasonNoAnswer, "")
		return phaseAsk
	}
	r.add(note(prompt.For(r.locale).EmptyReply, r.turn, r.locale))
	return phaseAsk
}

// mayCorrect counts a correction and says whether one more is allowed.
func (r *run) mayCorrect() bool {
	if r.stats.Corrections >= r.cfg.MaxCorrections {
		return false
	}
	r.stats.Corrections++
	return true
}

// finish folds what is due and closes the turn.
func (r *run) finish(err error) (Turn, error) {
	if r.reason != ReasonToolCalls {
		r.answerDangling()
	}
	if err != nil {
		switch {
		case context.Cause(r.ctx) == errTimeBudget && r.ctx.Err() != nil:
			r.reason, err = ReasonTime, nil
		case r.ctx.Err() != nil:
			r.reason, err = ReasonCancelled, r.ctx.Err()
		case r.reason == "":
			r.reason = ReasonToolbox
		}
	}
	from, folded := len(r.msgs), Folded{}
	if r.reason != ReasonToolCalls { // which is not the turn's end
		for i := range r.msgs {
			r.msgs[i].Sealed = nil // the provider wanted it for this turn's calls
		}
		from, folded = foldTurn(r.msgs, r.turn, r.cfg.ArchiveThreshold)
	}
	if folded.SavedChars > 0 {
		folded.PromptChars = promptChars(r.system, r.msgs[r.memory:])
		r.emit(folded)
	}
	r.stats.Elapsed = time.Since(r.began)
	r.emit(TurnEnd{Reason: r.reason, Usage: r.usage, Rounds: r.stats.Rounds, Calls: r.stats.Calls,
		ProducedChars: r.stats.ProducedChars, ShownChars: r.stats.ShownChars, KeptChars: r.stats.KeptChars, Elapsed: r.stats.Elapsed, Faults: r.stats.Faults})
	return Turn{Messages: r.msgs, From: min(r.old, from), Answer: r.answer, Reasoning: r.reasoning(),
		Reason: r.reason, Pending: r.pending, Usage: r.usage, Stats: r.stats}, err
}
