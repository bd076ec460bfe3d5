package agent

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent/internal/prompt"
)

// A plan is the numbered steps that a model set itself, and how far it is.
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

// takePlan reads a plan from a reply. A reply without steps is an answer.
func (r *run) takePlan(text string) bool {
	r.plan.open = false
	for _, m := range stepLine().FindAllStringSubmatch(text, -1) {
		if n := r.cfg.MaxPlanningSteps; n < 0 || len(r.plan.steps) < n {
			r.plan.steps = append(r.plan.steps, prompt.OneLine(m[2]))
		}
	}
	if len(r.plan.steps) == 0 {
		return false
	}
	r.reply.held = false
	r.think(r.reply, text)
	r.add(r.assistant(strings.TrimSpace(text)))
	r.add(note(prompt.For(r.locale).PlanGo, r.turn, r.locale))
	r.emit(Planned{Steps: r.plan.steps})
	return true
}

// heard notes which step a reply says it is at. A round that names none is
// taken as the next step.
func (p *plan) heard(text string) {
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

// state tells the model how far it is; empty without a plan.
func (p *plan) state(w *prompt.Texts) string {
	switch {
	case len(p.steps) == 0:
		return ""
	case p.done >= len(p.steps):
		return fmt.Sprintf(w.PlanDone, len(p.steps))
	}
	return fmt.Sprintf(w.PlanState, p.done, len(p.steps), p.done+1, p.steps[p.done])
}

// holds says whether a reply is shown only once it is known what it is: a plan
// or a draft that will be checked.
func (r *run) holds() bool {
	return r.plan.open || r.draft != "" || r.owesCall() && r.final == "" || r.cfg.EnableReflection && r.final == "" && r.hasResults()
}

func (r *run) hasResults() bool {
	return lastResults(r.msgs) > r.start && lastResults(r.msgs) < len(r.msgs)
}

// reflects says whether the reply is a draft to be checked.
func (r *run) reflects() bool {
	return r.cfg.EnableReflection && r.final == "" && r.draft == "" && r.hasResults()
}

// reflect has the draft checked against the results, once.
func (r *run) reflect() phase {
	r.draft, r.draftAt = r.reply.text.String(), len(r.msgs)
	r.add(r.assistant(r.draft))
	r.add(note(prompt.For(r.locale).Reflect, r.turn, r.locale))
	return phaseAsk
}

// checked takes what the check came to: the draft, or its correction.
func (r *run) checked() phase {
	text := strings.TrimSpace(r.reply.text.String())
	verdict := strings.ToUpper(strings.Trim(text, "\"'`*.。!！ \n"))
	if text == "" || verdict == "OK" || verdict == "OKAY" || r.reply.ignored || r.reply.finish == FinishLength {
		return r.accept(r.draft)
	}
	return r.accept(text)
}
