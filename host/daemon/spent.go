package daemon

import (
	"context"
	"slices"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
)

const (
	forSummary = "summary"
	forVectors = "embeddings"
)

// asides sums what one turn spends beside its own model's replies, by model and
// purpose. A nil one keeps nothing. It is safe for concurrent use: calls run side
// by side.
type asides struct {
	mu   sync.Mutex
	rows []api.Spent
}

type asidesKey struct{}

// asidesOf is what a turn's context carries; nil: it is no turn's.
func asidesOf(ctx context.Context) *asides {
	a, _ := ctx.Value(asidesKey{}).(*asides)
	return a
}

// add counts one request.
func (a *asides) add(s api.Spent) {
	if a == nil || s.Usage == (agent.Usage{}) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.rows, func(r api.Spent) bool { return r.For == s.For && r.Model == s.Model })
	if i < 0 {
		a.rows = append(a.rows, s)
		return
	}
	row := &a.rows[i]
	row.Usage = row.Usage.Add(s.Usage)
	row.Cost = inOne(row.Cost, s.Cost)
}

// with adds all to what the turn's own model took, and tells the parts. Costs of
// another currency than the turn's stand in the parts alone.
func (a *asides) with(u agent.Usage, c *agent.Cost) (agent.Usage, *agent.Cost, []api.Spent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, row := range a.rows {
		u = u.Add(row.Usage)
		c = inOne(c, row.Cost)
	}
	return u, c, slices.Clone(a.rows)
}

// inOne sums costs of one currency; of two it is the first. nil is unknown, and
// changes nothing.
func inOne(a, b *agent.Cost) *agent.Cost {
	switch {
	case a == nil:
		return b
	case b == nil || a.Currency != b.Currency:
		return a
	}
	return &agent.Cost{Amount: a.Amount + b.Amount, Currency: a.Currency}
}
