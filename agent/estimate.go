package agent

import (
	"cmp"
	"sync"

	"github.com/weirhost/weir/agent/internal/tokens"
	"github.com/weirhost/weir/sdk/tool"
)

// An Estimator estimates how many tokens a text takes, by its scripts, and
// learns from what providers report. The zero value is ready; it is safe for
// concurrent use.
type Estimator struct {
	mu     sync.Mutex
	factor float64 // what the estimate is multiplied with; 0: 1
	seen   int
}

// The Estimator's factor moves towards each report by a weight, inside bounds.
const (
	learnAtFirst   = 1.0 // weight of the first report
	learnLater     = 0.4 // weight of each later one
	leastFactor    = 0.4
	greatestFactor = 3.0
)

// Tokens estimates the tokens of text, calibrated.
func (e *Estimator) Tokens(text string) int {
	return int(tokens.Count(text)*e.scale() + 0.999)
}

// Declaration estimates the tokens that a tool adds to each request in which a provider
// is given it, calibrated.
func (e *Estimator) Declaration(t tool.Spec, l tool.Locale) int {
	t = Brief(t, l)
	n := tokens.PerMessage + tokens.Count(t.Name) + tokens.Count(t.Describe(l)) + tokens.Count(string(t.Parameters(l)))
	return int(n*e.scale() + 0.5)
}

// Calibrate corrects the estimates by the reported tokens of a request that this
// Estimator has just estimated. Reports of 0 are ignored.
func (e *Estimator) Calibrate(estimated, reported int) {
	if estimated <= 0 || reported <= 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.factor
	if now == 0 {
		now = 1
	}
	weight := learnLater
	if e.seen == 0 {
		weight = learnAtFirst
	}
	e.seen++
	target := now * float64(reported) / float64(estimated)
	e.factor = min(greatestFactor, max(leastFactor, now+(target-now)*weight))
}

func (e *Estimator) scale() float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return cmp.Or(e.factor, 1)
}
