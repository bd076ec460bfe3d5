package agent

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/internal/prompt"
)

// A plan is the model's numbered steps, and how many are done.
type plan struct {
	open  bool // the plan was asked for and has not come yet
	steps []string
	done  int
}

// stepLine is one line of a plan; stepNow is how a model says where it is.
var (
	stepLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*(?:[-*#]+\s*)?(?:\*\*)?(?:Step|步骤|第)?\s*(\d{1,2})\s*步?\s*[.、:：)）]\s*(.+)$`)
	})
	stepNow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(?:step|步骤|第)\s*(\d{1,2})`) })
)

// openPlan asks for a plan.
func (r *run) openPlan() {
	r.plan.open = true
	most := ""
	if n := r.cfg.MaxPlanningSteps; n > 0 {
		most = fmt.Sprintf(prompt.For(r.locale).PlanMost, n)
	}
	r.add(note(fmt.Sprintf(prompt.For(r.locale).Plan, most), r.turn, r.locale))
}

// readPlan reads a plan from a reply. A reply without steps is an answer.
func (r *run) readPlan(text string) bool {
	r.plan.open = false
	for _, m := range stepLine().FindAllStringSubmatch(text, -1) {
		if n := r.cfg.MaxPlanningSteps; n < 0 || len(r.plan.steps) < n {
			r.plan.steps = append(r.plan.steps, prompt.OneLine(m[2]))
		}
	}
	if len(r.plan.steps) == 0 {
		return false
	}
	r.round.reply.held = false
	r.addReasoning(r.round.reply, text)
	m := r.assistant(strings.TrimSpace(text))
	m.Unseen = utf8.RuneCountInString(m.Text)
	r.add(m)
	r.add(note(prompt.For(r.locale).PlanGo, r.turn, r.locale))
	r.emit(PlanReady{Steps: r.plan.steps})
	return true
}

// advance records the step that a reply names. A reply that names none is the next
// step.
func (p *plan) advance(text string) {
	p.open = false
	if len(p.steps) == 0 {
		return
	}
	at := p.done + 1
	if m := stepNow().FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n >= 1 {
			at = n
		}
	}
	p.done = min(max(p.done, at), len(p.steps))
}

// state returns the progress for the model; empty without a plan.
func (p *plan) state(w *prompt.Texts) string {
	switch {
	case len(p.steps) == 0:
		return ""
	case p.done >= len(p.steps):
		return fmt.Sprintf(w.PlanDone, len(p.steps))
	}
	return fmt.Sprintf(w.PlanState, p.done, len(p.steps), p.done+1, p.steps[p.done])
}

// withholdsText reports whether a reply is shown only when its kind is known: it may
// be a plan, or a draft that is to be checked.
func (r *run) withholdsText() bool {
	return r.plan.open || r.draft.text != "" || r.owesCall() && r.ending.final == "" || r.cfg.EnableReflection && r.ending.final == "" && r.hasResults() || r.withholdsRounds()
}

func (r *run) hasResults() bool {
	return lastResults(r.msgs) > r.memory.question && lastResults(r.msgs) < len(r.msgs)
}

// needsCheck reports whether the reply is a draft to be checked.
func (r *run) needsCheck() bool {
	return r.cfg.EnableReflection && r.ending.final == "" && r.draft.text == "" && r.hasResults()
}

// startCheck asks the model to check the draft against the results, once.
func (r *run) startCheck() phase {
	r.draft.text, r.draft.at = r.round.reply.text.String(), len(r.msgs)
	r.add(r.assistant(r.draft.text))
	r.add(note(prompt.For(r.locale).Reflect, r.turn, r.locale))
	return phaseAsk
}

// endCheck accepts the result of the check: the draft, or its correction.
func (r *run) endCheck() phase {
	text := strings.TrimSpace(r.round.reply.text.String())
	verdict := strings.ToUpper(strings.Trim(text, "\"'`*.。!！ \n"))
	if text == "" || verdict == "OK" || verdict == "OKAY" || r.round.reply.ignored || r.round.reply.finish == FinishLength {
		return r.accept(r.draft.text)
	}
	return r.accept(text)
}
