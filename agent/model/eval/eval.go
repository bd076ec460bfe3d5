package eval

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// Defaults of Options.
const (
	DefaultBound    = 2 * time.Minute
	DefaultTime     = 10 * time.Minute
	DefaultParallel = 4
	// tokensFactor is how much more than the estimate an evaluation may use: models think,
	// and correct themselves.
	tokensFactor = 4
)

// mostFailures is how many questions in a row may fail before the evaluation ends: the model
// cannot be reached.
const mostFailures = 3

// Options say how Run asks. The zero value has the defaults.
type Options struct {
	// Load is the tool that loads an archived result, as the model knows it.
	Load tool.Spec
	// Bound is the longest time of one question, Time of all; 0: the defaults.
	Bound, Time time.Duration
	// Tokens are the most of all questions, prompts included; 0: four times the estimate.
	// Questions under way when they are used up are answered.
	Tokens int
	// Parallel is how many questions are asked at the same time; 0: DefaultParallel.
	Parallel int
	// Tell is called with each question when it has begun, and when it has ended, from one
	// goroutine at a time; nil: no call.
	Tell func(q Question, mode agent.Mode, ended *Outcome)
}

// An Outcome is what became of one question in one mode.
type Outcome struct {
	Mode     agent.Mode `json:"mode"`
	Kind     Kind       `json:"kind"`
	Question string     `json:"question"`
	Right    bool       `json:"right"`
	// Malformed counts the calls that could not be read, or fitted no tool.
	Malformed int `json:"malformed"`
	// Failed says that the model did not answer; Why says that, or what is wrong.
	Failed bool      `json:"failed,omitempty"`
	Why    tool.Text `json:"why,omitzero"`
	Tokens int       `json:"tokens"`
	Millis int64     `json:"elapsed_ms"`

	err error
}

// A Row sums the outcomes of one mode.
type Row struct {
	Mode  agent.Mode `json:"mode"`
	Asked int        `json:"asked"`
	Right int        `json:"right"`
	Wrong int        `json:"wrong"`
	// Malformed counts the questions with a call that could not be read, or fitted no tool.
	// The model was corrected; they can be right.
	Malformed int `json:"malformed"`
	// Failed counts the questions that the model did not answer. They are not among Asked.
	Failed int `json:"failed"`
	Tokens int `json:"tokens"`
	// Millis is the mean time of a question.
	Millis int64 `json:"elapsed_ms"`
	// Refused is why the mode is not there; zero: it is.
	Refused tool.Text `json:"refused,omitzero"`
}

// A Report is what Run found out.
type Report struct {
	Rows     []Row     `json:"modes"`
	Outcomes []Outcome `json:"questions"`
	// Set is the mode to set; empty: none is good enough, or nothing was asked. Advice says so
	// in a sentence.
	Set    agent.Mode `json:"set"`
	Advice tool.Text  `json:"advice"`
	// Ended is why not all questions were asked; zero: all were.
	Ended tool.Text `json:"ended,omitzero"`
	// Err is the error with which the model failed for good; nil: it did not.
	Err error `json:"-"`
}

// Modes returns the modes in which a model can call tools.
func Modes(ctx context.Context, m agent.Model) []agent.Mode {
	if d, ok := agent.As[agent.Describer](m); ok {
		if info, err := d.Describe(ctx); err == nil && info.NativeTools != nil && !*info.NativeTools {
			return []agent.Mode{agent.ModePrompt}
		}
	}
	return []agent.Mode{agent.ModeNative, agent.ModePrompt}
}

// Run asks the questions in each of the modes. When ctx ends it returns what it has by then.
func Run(ctx context.Context, m agent.Model, modes []agent.Mode, o Options) Report {
	o.Bound, o.Time, o.Parallel = cmp.Or(o.Bound, DefaultBound), cmp.Or(o.Time, DefaultTime), cmp.Or(o.Parallel, DefaultParallel)
	if o.Tokens == 0 {
		o.Tokens = Expect(modes, o.Load).Bound()
	}
	timed, cancel := context.WithTimeoutCause(ctx, o.Time, errTime)
	defer cancel()
	e := &evaluation{Options: o, model: m}
	for _, mode := range modes {
		e.mode(timed, mode)
	}
	r := Report{Rows: e.rows, Outcomes: e.outcomes, Err: e.err}
	switch {
	case e.err != nil:
		r.Ended = tool.Textf("the model does not answer: %s", e.err)
	case ctx.Err() != nil:
		r.Ended = tool.Textf("it was interrupted")
	case timed.Err() != nil:
		r.Ended = tool.Textf("the time is over: %s", o.Time)
	case e.tokens >= o.Tokens:
		r.Ended = tool.Textf("the tokens are used up: %d", o.Tokens)
	}
	r.Set, r.Advice = advise(r.Rows)
	return r
}

var errTime = errors.New("the time of the evaluation is over")

// An evaluation is one Run.
type evaluation struct {
	Options
	model agent.Model

	mu       sync.Mutex
	rows     []Row
	outcomes []Outcome
	tokens   int
	failures int // in a row
	refused  tool.Text
	err      error
}

// mode asks all questions in one mode.
func (e *evaluation) mode(ctx context.Context, mode agent.Mode) {
	e.refused = tool.Text{}
	first := len(e.outcomes)
	questions := make(chan Question)
	var wg sync.WaitGroup
	for range e.Parallel {
		wg.Go(func() {
			for q := range questions {
				if ctx.Err() == nil && !e.over() {
					e.ask(ctx, q, mode)
				}
			}
		})
	}
	for _, q := range Questions() {
		questions <- q
	}
	close(questions)
	wg.Wait()
	e.rows = append(e.rows, sum(mode, e.outcomes[first:], e.refused))
}

// over reports whether no further question of the mode is to be asked.
func (e *evaluation) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err != nil || !e.refused.IsZero() || e.tokens >= e.Tokens
}

func (e *evaluation) ask(ctx context.Context, q Question, mode agent.Mode) {
	e.tell(q, mode, nil)
	limited, cancel := context.WithTimeout(ctx, e.Bound)
	defer cancel()
	out, refused := answer(limited, e.model, q, mode, e.Load)
	if ctx.Err() != nil {
		return
	}
	e.mu.Lock()
	e.tokens += out.Tokens
	if !refused.IsZero() {
		e.refused = refused
		e.mu.Unlock()
		return
	}
	e.outcomes = append(e.outcomes, out)
	if e.failures++; !out.Failed {
		e.failures = 0
	}
	if out.Failed && (forGood(out.err) || e.failures >= mostFailures) {
		e.err = cmp.Or(e.err, out.err)
	}
	e.mu.Unlock()
	e.tell(q, mode, &out)
}

func (e *evaluation) tell(q Question, mode agent.Mode, out *Outcome) {
	if e.Tell == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Tell(q, mode, out)
}

// forGood reports whether the next question would fail like this one.
func forGood(err error) bool {
	return slices.ContainsFunc([]agent.ModelCode{agent.ModelAuth, agent.ModelNotFound, agent.ModelUnreachable}, func(c agent.ModelCode) bool { return agent.IsModelCode(err, c) })
}

// sum adds the outcomes of a mode up.
func sum(mode agent.Mode, outcomes []Outcome, refused tool.Text) Row {
	r := Row{Mode: mode, Refused: refused}
	for _, o := range outcomes {
		r.Tokens += o.Tokens
		if o.Failed {
			r.Failed++
			continue
		}
		r.Asked++
		r.Millis += o.Millis
		if o.Right {
			r.Right++
		} else {
			r.Wrong++
		}
		if o.Malformed > 0 {
			r.Malformed++
		}
	}
	if r.Asked > 0 {
		r.Millis /= int64(r.Asked)
	}
	return r
}

// advise returns the mode to set: the one with most right answers, of equal ones that with
// fewer malformed calls, of these that with fewer tokens. One that is wrong as often as not
// is none.
func advise(rows []Row) (agent.Mode, tool.Text) {
	var best Row
	for _, r := range rows {
		if r.Asked > 0 && (best.Asked == 0 || better(r, best)) {
			best = r
		}
	}
	switch {
	case best.Asked == 0:
		return "", tool.Textf("nothing was asked, so there is nothing to set")
	case 2*best.Right <= best.Asked:
		return "", tool.Textf("use another model for tools: this one was right in %d of %d questions at best", best.Right, best.Asked)
	}
	return best.Mode, tool.Textf("set mode = %q: it was right in %d of %d questions", string(best.Mode), best.Right, best.Asked)
}

func better(a, b Row) bool {
	return cmp.Or(cmp.Compare(a.Right*b.Asked, b.Right*a.Asked), cmp.Compare(b.Malformed*a.Asked, a.Malformed*b.Asked), cmp.Compare(b.Tokens*a.Asked, a.Tokens*b.Asked)) > 0
}
