package daemon

import (
	"context"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A meter counts what every reply of a model takes, as it comes, and refuses the
// next one once the user's tokens or money are used up. So of turns that run at
// once each goes over a bound by one reply at most.
type meter struct {
	agent.Model
	of        Model
	ledger    *ledger
	principal string
	quota     Quota
	locale    tool.Locale // of refusals
	// spent is told what each reply took; nil: nobody else wants to know.
	spent func(agent.Usage, *agent.Cost)
}

// metered counts for the turn's principal.
func (t *turn) metered() agent.Model {
	return meter{Model: t.model.Model, of: t.model, ledger: t.d.ledger, principal: t.scope.Principal, quota: t.quota, locale: t.locale()}
}

// Unwrap gives the model itself, for what it can do beside Generate.
func (m meter) Unwrap() agent.Model { return m.Model }

// Generate is the model's own, counted.
func (m meter) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		if err := m.ledger.mayAsk(ctx, m.principal, m.quota, m.locale); err != nil {
			yield(agent.Delta{}, err)
			return
		}
		var used agent.Usage
		said := 0 // tokens, where the provider does not count
		begun := false
		defer func() {
			if used.Prompt+used.Completion == 0 && begun {
				used = agent.Usage{Prompt: m.promptTokens(r), Completion: said, Estimated: true}
			}
			cost := m.of.Price.Cost(used)
			m.ledger.took(m.principal, used, cost)
			if m.spent != nil {
				m.spent(used, cost)
			}
		}()
		for d, err := range m.Model.Generate(ctx, r) {
			if err == nil {
				begun = true
				said += m.of.Estimator.Tokens(d.Text) + m.of.Estimator.Tokens(d.Reasoning)
			}
			if d.Usage != nil {
				used = *d.Usage
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// Embed implements agent.Embedder, counted, where the model itself does.
func (m meter) Embed(ctx context.Context, texts []string) (agent.Embeddings, error) {
	em, ok := agent.As[agent.Embedder](m.Model)
	if !ok {
		return agent.Embeddings{}, agent.ErrNoEmbeddings
	}
	if err := m.ledger.mayAsk(ctx, m.principal, m.quota, m.locale); err != nil {
		return agent.Embeddings{}, err
	}
	e, err := em.Embed(ctx, texts)
	if err != nil {
		return e, err
	}
	if e.Usage.Prompt <= 0 {
		e.Usage = agent.Usage{Estimated: true}
		for _, text := range texts {
			e.Usage.Prompt += m.of.Estimator.Tokens(text)
		}
	}
	m.ledger.took(m.principal, e.Usage, nil)
	return e, nil
}

func (m meter) promptTokens(r agent.Request) int {
	n := m.of.Estimator.Tokens(r.System)
	for _, msg := range r.Messages {
		n += m.of.Estimator.Tokens(msg.Text)
	}
	return n
}
