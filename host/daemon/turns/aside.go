package turns

import (
	"cmp"
	"context"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// An Aside describes requests to a model that are not part of a turn's own loop, such as
// one for the summary of a result. Locale is the language of a refusal.
type Aside struct {
	Principal, Conversation string // without a principal: the operator's
	Locale                  tool.Locale
}

// Aside returns the model m, named name, for such requests. They count towards the
// principal's quotas and are refused when a quota is exhausted. The metrics count them,
// and each is a span inside the span of its context. The end event of the context's turn
// includes their usage.
func (s *Service) Aside(a Aside, name string, m setup.Model) agent.Model {
	a.Principal = cmp.Or(a.Principal, s.Setup.Operator())
	if m.Estimator == nil {
		m.Estimator = new(agent.Estimator)
	}
	counted := s.metered(m, s.Setup.Account(a.Principal, a.Locale))
	return aside{counted, m, s, name, archive.Scope{Principal: a.Principal, Conversation: a.Conversation}}
}

type aside struct {
	usage.Model
	of    setup.Model
	s     *Service
	name  string
	scope archive.Scope
}

// Generate implements agent.Model.
func (a aside) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		began := a.s.Now()
		var used agent.Usage
		ctx, chat := a.s.Setup.State().Tracing.StartChat(ctx, peerOf(a.of, a.name, a.scope.Conversation), r)
		defer func() {
			a.s.Metrics.ModelAsked(a.name, a.s.Now().Sub(began))
			a.s.Metrics.TokensUsed(a.name, used, a.of.Price.Cost(used))
			chat.End()
		}()
		counted := a.Model
		counted.Used = func(u agent.Usage, c *agent.Cost) {
			usage.SideUsageOf(ctx).Add(api.Spent{For: usage.ForSummary, Model: a.name, Usage: u, Cost: c})
		}
		for d, err := range counted.Generate(ctx, r) {
			if d.Usage != nil {
				used = *d.Usage
			}
			chat.Received(d, err)
			if !yield(d, err) {
				return
			}
		}
	}
}
