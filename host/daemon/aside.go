package daemon

import (
	"context"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// An Aside describes requests to a model that are not part of a turn's own loop, such as
// one for the summary of a result. Locale is the language of a refusal.
type Aside struct {
	Principal, Conversation string
	Locale                  tool.Locale
}

// Aside returns the model m, named name, for such requests. They count towards the
// principal's quotas and are refused when a quota is exhausted. The metrics count them,
// and each is a span inside the span of its context. The end event of the context's turn
// includes their usage.
func (d *Daemon) Aside(a Aside, name string, m Model) agent.Model {
	if m.Estimator == nil {
		m.Estimator = new(agent.Estimator)
	}
	counted := d.metered(m, d.account(a.Principal, a.Locale))
	return aside{counted, m, d, name, archive.Scope{Principal: a.Principal, Conversation: a.Conversation}}
}

type aside struct {
	usage.Model
	of    Model
	d     *Daemon
	name  string
	scope archive.Scope
}

// Generate implements agent.Model.
func (a aside) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		began := a.d.now()
		var used agent.Usage
		ctx, chat := a.d.set().Tracing.StartChat(ctx, peerOf(a.of, a.name, a.scope.Conversation), r)
		defer func() {
			a.d.metrics.ModelAsked(a.name, a.d.now().Sub(began))
			a.d.metrics.TokensUsed(a.name, used, a.of.Price.Cost(used))
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
