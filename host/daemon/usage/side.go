package usage

import (
	"context"
	"slices"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
)

// The purposes of SideUsage, values of api.Spent.For.
const (
	ForSummary    = "summary"
	ForEmbeddings = "embeddings"
	ForReplies    = "replies" // of a model that failed before it had answered
)

// SideUsage sums what one turn uses beside the replies of its own model, by model and
// purpose. The zero value is empty; a nil one discards everything. It is safe for
// concurrent use, because calls of a turn run concurrently.
type SideUsage struct {
	mu   sync.Mutex // guards rows
	rows []api.Spent
}

type sideUsageKey struct{}

// WithSideUsage returns a context that carries s.
func WithSideUsage(ctx context.Context, s *SideUsage) context.Context {
	return context.WithValue(ctx, sideUsageKey{}, s)
}

// SideUsageOf returns what a turn's context carries; nil if it is not a turn's.
func SideUsageOf(ctx context.Context) *SideUsage {
	s, _ := ctx.Value(sideUsageKey{}).(*SideUsage)
	return s
}

// Add adds the usage of one request.
func (s *SideUsage) Add(row api.Spent) {
	if s == nil || row.Usage == (agent.Usage{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.rows, func(r api.Spent) bool { return r.For == row.For && r.Model == row.Model })
	if i < 0 {
		s.rows = append(s.rows, row)
		return
	}
	sum := &s.rows[i]
	sum.Usage = sum.Usage.Add(row.Usage)
	sum.Cost = addSameCurrency(sum.Cost, row.Cost)
}

// Total returns the usage of the turn's own model with everything added, and the added
// rows. A cost in another currency than the turn's is only in its row.
func (s *SideUsage) Total(own agent.Usage, cost *agent.Cost) (agent.Usage, *agent.Cost, []api.Spent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range s.rows {
		own = own.Add(row.Usage)
		cost = addSameCurrency(cost, row.Cost)
	}
	return own, cost, slices.Clone(s.rows)
}

// addSameCurrency returns the sum of two costs of one currency, and a if the currencies
// differ. Nil is unknown and adds nothing.
func addSameCurrency(a, b *agent.Cost) *agent.Cost {
	switch {
	case a == nil:
		return b
	case b == nil || a.Currency != b.Currency:
		return a
	}
	return &agent.Cost{Amount: a.Amount + b.Amount, Currency: a.Currency}
}
