// Package gauge estimates how many tokens a prompt has, by what a server counted last. It is for
// servers that drop the beginning of a prompt that is too long without a word.
package gauge

import (
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/internal/tokens"
)

const (
	// unmeasured is how many tokens there are taken to be for one of an estimate, before the
	// server has counted any: a little more, because what is too long is lost.
	unmeasured = 1.1
	// perPicture is what a picture counts, in tokens. Models take 250 to 4,000.
	perPicture = 800
	// minMeasured is the shortest prompt whose count says something, in tokens: the model's
	// template counts as well.
	minMeasured = 200
	// leastRatio and mostRatio bound the tokens that there are for one of an estimate. What is
	// counted below is no count of the whole: the server dropped a part or had it in its cache.
	leastRatio, mostRatio = 0.5, 3
)

// A Size is how long a prompt is.
type Size struct {
	Tokens   float64 // estimated by the scripts of the texts
	Pictures int
}

// Text adds a text.
func (s *Size) Text(text string) { s.Tokens += tokens.Count(text) }

// A Gauge estimates prompts by what the server counted last. The zero value
// is ready; it is safe for concurrent use.
type Gauge struct {
	mu    sync.Mutex
	ratio float64 // of counted tokens to estimated ones; 0: nothing is counted yet
}

// Estimate returns how many tokens a prompt has, about.
func (g *Gauge) Estimate(s Size) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	ratio := g.ratio
	if ratio == 0 {
		ratio = unmeasured
	}
	return int(s.Tokens*ratio) + s.Pictures*perPicture
}

// Learn takes a count of the server. u nil: it did not count.
func (g *Gauge) Learn(s Size, u *agent.Usage) {
	if u == nil || s.Pictures > 0 || s.Tokens < minMeasured {
		return
	}
	if ratio := float64(u.Prompt) / s.Tokens; ratio >= leastRatio {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ratio = min(ratio, mostRatio)
	}
}
