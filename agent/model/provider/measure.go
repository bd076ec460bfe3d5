package provider

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// DefaultMeasure is the longest prompt that measures a window by default, in tokens. From
// 100,000 tokens on the limits of results grow no more.
const DefaultMeasure = 131_072

const (
	firstPrompt = 4096 // tokens of the first prompt
	leastPrompt = 512  // tokens under which a window is not measured
	// measureBound is the most time of one prompt: reading a long one takes a server on
	// this machine minutes.
	measureBound = 10 * time.Minute
	// precision is the ratio of the shortest prompt whose beginning is lost to the longest
	// whose beginning is known, at which the search ends.
	precision = 1.2
)

// A Measured is what was found out about a window by long prompts.
type Measured struct {
	// Window is the length of the longest prompt whose beginning the model knew, in
	// tokens as the server counts them, or else estimated. 0: of none.
	Window int `json:"window"`
	// AtLeast says that this is the longest prompt that was tried.
	AtLeast bool `json:"at_least,omitempty"`
}

// MeasureCost returns how many prompts measure a window at most, up to prompts of most
// tokens, and how many tokens they have together.
func MeasureCost(most int) (prompts, tokens int) { return worst(0, 0, max(most, leastPrompt)) }

func worst(known, lost, most int) (prompts, tokens int) {
	n := nextPrompt(known, lost, most)
	if n == 0 {
		return 0, 0
	}
	prompts, tokens = worst(n, lost, most)
	if p, t := worst(known, n, most); t > tokens {
		prompts, tokens = p, t
	}
	return prompts + 1, tokens + n
}

// nextPrompt returns the length of the next prompt, in tokens, after the beginning of one
// of known was known and that of one of lost was not; of each 0: there is none yet. It
// returns 0 at the end.
func nextPrompt(known, lost, most int) int {
	switch {
	case known >= most:
		return 0
	case lost == 0:
		return min(max(4*known, firstPrompt), most)
	case known == 0 && lost/2 >= leastPrompt:
		return lost / 2
	case known == 0 || float64(lost) <= precision*float64(known):
		return 0
	}
	return int(math.Sqrt(float64(known) * float64(lost)))
}

// measure finds the longest prompt whose beginning the model still knows. Servers whose
// window is shorter refuse the prompt or drop its beginning without a word.
func (t *tester) measure(ctx context.Context) {
	var est agent.Estimator
	var m Measured
	known, lost := 0, 0
	began := time.Now()
	s := Step{Name: StepMeasure, OK: true}
	for n := nextPrompt(0, 0, t.Measure); n > 0; n = nextPrompt(known, lost, t.Measure) {
		counted, knows, failed := t.knowsBeginning(ctx, n, &est)
		if !failed.OK {
			s = failed
			break
		}
		if !knows {
			lost = n
			continue
		}
		known, m.Window = n, cmp.Or(counted, n)
	}
	s.Name, s.Elapsed = StepMeasure, time.Since(began)
	if s.OK {
		m.AtLeast = lost == 0
		t.Measured = &m
		s = t.measured(s, m, lost)
	}
	t.add(s)
}

// measured says what was found.
func (t *tester) measured(s Step, m Measured, lost int) Step {
	switch {
	case m.Window == 0:
		s.OK = false
		s.Msg = tool.Textf("the model did not find a word at the beginning of a prompt of %d tokens either", lost)
		s.Hint = tool.Textf("its window cannot be measured; set window in [models.%s] by its documentation", t.Info.Name)
		return s
	case m.AtLeast:
		s.Msg = tool.Textf("the model knows the beginning of a prompt of %d tokens, the longest that was tried", m.Window)
	default:
		s.Msg = tool.Textf("the model knows the beginning of a prompt of %d tokens, and not that of one of %d", m.Window, lost)
	}
	s.Hint = tool.Textf("write window = %d in [models.%s]", m.Window, t.Info.Name)
	return s
}

// knowsBeginning reports whether the model knows the beginning of a prompt of n tokens,
// and how many tokens the server counted; 0: it says none. A step that is not OK says why
// the model could not be asked.
func (t *tester) knowsBeginning(ctx context.Context, n int, est *agent.Estimator) (counted int, knows bool, s Step) {
	word := rand.Text()[:8]
	req := question(t.Locale)
	req.Messages[0].Text = longPrompt(word, n, est, t.Locale)
	bound, before := t.Bound, t.Usage.Prompt
	t.Bound = cmp.Or(t.Bound, measureBound)
	a, s := t.ask(ctx, StepMeasure, req)
	t.Bound = bound
	if s.Code == agent.ModelWindow {
		return 0, false, Step{OK: true}
	}
	counted = t.Usage.Prompt - before
	knows = strings.Contains(a.text, word)
	if knows {
		est.Calibrate(est.Tokens(req.Messages[0].Text), counted)
	}
	return counted, knows, s
}

// longPrompt has a word at its beginning, about n tokens in all, and the question for the
// word at its end.
func longPrompt(word string, n int, est *agent.Estimator, l tool.Locale) string {
	begin, line, end := "The password is %s.\n\n", "Line %d: barge %d passed the lock and went on down the river.\n", "\nWhat is the password at the beginning of this message? Answer with the password alone."
	if l == tool.Zh {
		begin, line, end = "口令是 %s。\n\n", "第 %d 行：第 %d 艘驳船通过船闸，继续向下游驶去。\n", "\n这条消息开头的口令是什么？请只回答口令。"
	}
	begin = fmt.Sprintf(begin, word)
	each := float64(est.Tokens(strings.Repeat(fmt.Sprintf(line, 1234, 4321), 100))) / 100
	lines := int(float64(n-est.Tokens(begin+end)) / each)
	var b strings.Builder
	b.WriteString(begin)
	for i := range lines {
		fmt.Fprintf(&b, line, i+1, 7*i+3)
	}
	b.WriteString(end)
	return b.String()
}
