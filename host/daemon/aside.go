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

// An Aside is a request to a model that no turn makes of itself, such as one for
// the summary of a result: for whom, in which of their conversations, and in
// which language a refusal reads.
type Aside struct {
	Principal, Conversation string
	Locale                  tool.Locale
}

// Aside returns m, which is called name, for such requests: they are counted
// among what the principal takes, refused once their tokens or money are used up,
// counted in the metrics, and spans within whatever the request's context is in.
// Where that is a turn's, its end tells them too.
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
