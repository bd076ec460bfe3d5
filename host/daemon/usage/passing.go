package usage

import (
	"context"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
)

// Passing is a passthrough.Model whose answers a Meter counts, as a Model does. It is for one
// request.
type Passing struct {
	passthrough.Model
	Meter     *Meter
	Account   Account
	Price     agent.Price
	Estimator *agent.Estimator // counts where the server does not
	// Answer takes in what the chunks say.
	Answer *passthrough.Answer
	// Used receives the usage and the cost at the end.
	Used func(agent.Usage, *agent.Cost)
}

// Pass implements passthrough.Model.
func (p Passing) Pass(ctx context.Context, r passthrough.Request) iter.Seq2[passthrough.Chunk, error] {
	return func(yield func(passthrough.Chunk, error) bool) {
		if err := p.Meter.checkTokens(ctx, p.Account); err != nil {
			yield(passthrough.Chunk{}, err)
			return
		}
		var used agent.Usage
		begun := false
		defer func() {
			if used.Prompt+used.Completion == 0 && begun {
				used = p.estimate(r)
			}
			cost := p.Price.Cost(used)
			p.Meter.addReply(p.Account, used, cost)
			p.Used(used, cost)
		}()
		for c, err := range p.Model.Pass(ctx, r) {
			begun = begun || err == nil
			p.Answer.Add(c.Data)
			if c.Usage != nil {
				used = *c.Usage
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// estimate returns about how many tokens a request and its answer have, of which the server
// says nothing: what is not text counts as its JSON.
func (p Passing) estimate(r passthrough.Request) agent.Usage {
	u := agent.Usage{Prompt: p.Estimator.Tokens(string(r.Body)), Estimated: true}
	u.Completion = p.Estimator.Tokens(p.Answer.Text()) + p.Estimator.Tokens(p.Answer.Reasoning())
	for _, c := range p.Answer.Calls() {
		u.Completion += p.Estimator.Tokens(c.Function.Name + c.Function.Arguments)
	}
	return u
}
