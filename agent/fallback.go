package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/weirhost/weir/sdk/tool"
)

// An Alternative is a model that answers if the one before it cannot, with what of a Config
// depends on the model.
type Alternative struct {
	Name  string // the operator's
	Model Model
	// Window and Estimator are those of a Config with this model.
	Window    int
	Estimator *Estimator
	// Mode returns Mode and NativeTools of a Config with this model. It may ask the provider,
	// within the context. Nil: those of the Config.
	Mode func(context.Context) (Mode, *bool)
}

// ModelSwitched says that another model answers from now on, since the one before failed
// and nothing of an answer had come. It takes the place of what TurnStart said.
type ModelSwitched struct {
	From, To string
	Err      error // of From
	Mode     Mode
	Window   int // tokens; 0: unknown
	Limit    int // characters of one result
	Why      tool.Text
}

// ModelPassed says that an Alternative was not asked, and why.
type ModelPassed struct {
	Model string
	Why   tool.Text
}

func (ModelSwitched) event() {}
func (ModelPassed) event()   {}

// answering is which model the turn asks, and which others it may.
type answering struct {
	model Model
	name  string        // the Alternative's; empty: the Loop's own model
	next  []Alternative // not asked yet, in order
	// told says that a piece of an answer or of a thought has reached the observer: no
	// other model may answer in its place.
	told   bool
	passed []ModelPassed
	// failed are the errors of the models before, and before their usage.
	failed []error
	before []ModelUsage
}

// A ModelUsage is the part of a turn's usage that is of one model.
type ModelUsage struct {
	Model string `json:"model"` // the operator's name
	Usage Usage  `json:"usage"`
}

// mayFallBack reports whether another model can answer if the next request fails.
func (r *run) mayFallBack() bool { return !r.answering.told && len(r.answering.next) > 0 }

// fallBack makes the next model that has room for the turn the one that is asked, if the
// error is one after which another may answer. It returns false if there is none.
func (r *run) fallBack(err error) bool {
	if !r.mayFallBack() || len(r.round.reply.calls) > 0 || r.ctx.Err() != nil || !Yields(err) {
		return false
	}
	a := &r.answering
	from, usage, searched := cmp.Or(r.modelName(), nameIn(err)), r.usageOfModel(), r.searches()
	for len(a.next) > 0 && r.ctx.Err() == nil {
		to := a.next[0]
		a.next = a.next[1:]
		if why := r.change(to); !why.IsZero() {
			a.passed = append(a.passed, ModelPassed{to.Name, why})
			r.emit(a.passed[len(a.passed)-1])
			continue
		}
		r.forgetSealed()
		r.choice.refused, r.budget.nativeFailures, r.budget.refused = false, 0, 0
		a.failed = append(a.failed, err)
		if usage != (Usage{}) {
			a.before = append(a.before, ModelUsage{from, usage})
		}
		r.emit(ModelSwitched{From: from, To: to.Name, Err: err, Mode: r.mode, Window: r.window, Limit: r.limit, Why: r.why})
		r.emitTools()
		if !searched { // else the question has its note
			r.noteTools()
		}
		return true
	}
	return false
}

// Yields reports whether another model may answer after an error: its model cannot answer
// for now. What is wrong with a key, a name or a request is for the operator to correct, and
// another model would hide it for good.
func Yields(err error) bool {
	var me *ModelError
	if !errors.As(err, &me) {
		return false
	}
	switch me.Code {
	case ModelRateLimited, ModelOverloaded, ModelCut:
		return true
	case ModelUnreachable:
		return me.Status == 0 // else a server has answered that the address is wrong
	}
	return false
}

// change makes an Alternative the model of the rest of the turn. It returns why it cannot
// be: what the turn has come to must fit the model's window. Earlier turns may be left out,
// as they are from any turn with that window.
func (r *run) change(to Alternative) (why tool.Text) {
	cfg, setup, memory := r.cfg, r.setup, r.memory
	model, name := r.answering.model, r.answering.name
	r.adopt(to)
	if r.window <= 0 || r.promptTokens() <= int(float64(r.window)*fullShare) {
		return tool.Text{}
	}
	why = tool.Textf("the question with its results needs about %d tokens, and the window has %d", r.promptTokens(), r.window)
	r.cfg, r.setup, r.memory, r.answering.model, r.answering.name = cfg, setup, memory, model, name
	return why
}

// adopt decides again what the turn runs with, for another model.
func (r *run) adopt(to Alternative) {
	r.answering.model, r.answering.name = to.Model, to.Name
	r.cfg.Window, r.cfg.Estimator = to.Window, to.Estimator
	if r.cfg.Estimator == nil {
		r.cfg.Estimator = new(Estimator)
	}
	if to.Mode != nil {
		r.cfg.Mode, r.cfg.NativeTools = to.Mode(r.ctx)
		r.cfg.Mode = cmp.Or(r.cfg.Mode, ModeAuto)
	}
	earlier := r.msgs[:r.memory.question]
	r.setup = r.decide(earlier, r.msgs[r.memory.question].Text)
	r.forget(r.memory.question)
	r.memory.tokens = nil
}

// forgetSealed removes what only the provider before can read.
func (r *run) forgetSealed() {
	for i := r.memory.question; i < len(r.msgs); i++ {
		if r.msgs[i].Sealed != nil {
			r.msgs[i].Sealed = nil
			r.changed(i)
		}
	}
}

// goOnWith makes the Alternative of that name the model of a turn that it has begun to
// answer. Without one of that name, the turn begins with the Loop's own model again.
func (r *run) goOnWith(name string) {
	i := slices.IndexFunc(r.answering.next, func(a Alternative) bool { return a.Name == name })
	if i < 0 {
		return
	}
	to := r.answering.next[i]
	r.answering.next = r.answering.next[i+1:]
	r.adopt(to)
}

// modelName is the operator's name of the model that is asked.
func (r *run) modelName() string {
	if r.answering.name != "" {
		return r.answering.name
	}
	return r.info.Name
}

// nameIn returns the name of the model that failed.
func nameIn(err error) string {
	if me, ok := errors.AsType[*ModelError](err); ok {
		return me.Model
	}
	return ""
}

// usageOfModel is what of the turn's usage is the present model's.
func (r *run) usageOfModel() Usage {
	u := r.budget.usage
	for _, b := range r.answering.before {
		u = u.Without(b.Usage)
	}
	return u
}

// allFailed adds to the error of the last model those of the models before it, and which
// were not asked.
func (r *run) allFailed(err error) error {
	me, ok := errors.AsType[*ModelError](err)
	if !ok || len(r.answering.failed)+len(r.answering.passed) == 0 {
		return err
	}
	all := *me
	all.MsgText, all.HintText = me.Texts()
	for _, before := range slices.Backward(r.answering.failed) {
		if b, ok := errors.AsType[*ModelError](before); ok {
			msg, _ := b.Texts()
			all.MsgText = tool.Textf("%s; before it, model %s: %s", all.MsgText, b.Model, msg)
		}
	}
	for _, p := range r.answering.passed {
		all.MsgText = tool.Textf("%s; model %s was not asked: %s", all.MsgText, p.Model, p.Why)
	}
	all.Msg = all.MsgText.String()
	all.Err = err
	return &all
}
