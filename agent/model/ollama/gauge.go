package ollama

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
	// lowShare makes an estimate a careful one.
	lowShare = 0.75
)

// A size is how long a prompt is.
type size struct {
	tokens   float64 // estimated by the scripts of the texts
	pictures int
}

func (s *size) text(text string) { s.tokens += tokens.Count(text) }

// A gauge estimates prompts by what the server counted last. It is safe for concurrent use.
type gauge struct {
	mu    sync.Mutex
	ratio float64 // of counted tokens to estimated ones; 0: nothing is counted yet
}

// estimate returns how many tokens a prompt has, about.
func (g *gauge) estimate(s size) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	ratio := g.ratio
	if ratio == 0 {
		ratio = unmeasured
	}
	return int(s.tokens*ratio) + s.pictures*perPicture
}

// learn takes a count of the server. u nil: it did not count.
func (g *gauge) learn(s size, u *agent.Usage) {
	if u == nil || s.pictures > 0 || s.tokens < minMeasured {
		return
	}
	if ratio := float64(u.Prompt) / s.tokens; ratio >= leastRatio {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ratio = min(ratio, mostRatio)
	}
}
