package usage

import (
	"context"
	"iter"

	"github.com/weirhost/weir/agent"
)

// A Model is a chat model whose replies a Meter counts. It rejects the next request
// when the account has no tokens or money left. So each of several turns that run at
// the same time exceeds a quota by one reply at most.
type Model struct {
	agent.Model
	Meter     *Meter
	Account   Account
	Price     agent.Price
	Estimator *agent.Estimator // counts where the provider does not
	// Used receives the usage of each reply; nil discards it.
	Used func(agent.Usage, *agent.Cost)
}

// Unwrap returns the model itself, for its methods beside Generate.
func (m Model) Unwrap() agent.Model { return m.Model }

// Generate implements agent.Model.
func (m Model) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		if err := m.Meter.checkTokens(ctx, m.Account); err != nil {
			yield(agent.Delta{}, err)
			return
		}
		var used agent.Usage
		estimate := 0 // of completion tokens
		begun := false
		defer func() {
			if used.Prompt+used.Completion == 0 && begun {
				used = agent.Usage{Prompt: m.promptTokens(r), Completion: estimate, Estimated: true}
			}
			cost := m.Price.Cost(used)
			m.Meter.addReply(m.Account, used, cost)
			if m.Used != nil {
				m.Used(used, cost)
			}
		}()
		for d, err := range m.Model.Generate(ctx, r) {
			if err == nil {
				begun = true
				estimate += m.Estimator.Tokens(d.Text) + m.Estimator.Tokens(d.Reasoning)
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

// Embed implements agent.Embedder where the model itself does, and counts its tokens.
func (m Model) Embed(ctx context.Context, texts []string) (agent.Embeddings, error) {
	em, ok := agent.As[agent.Embedder](m.Model)
	if !ok {
		return agent.Embeddings{}, agent.ErrNoEmbeddings
	}
	if err := m.Meter.checkTokens(ctx, m.Account); err != nil {
		return agent.Embeddings{}, err
	}
	e, err := em.Embed(ctx, texts)
	if err != nil {
		return e, err
	}
	if e.Usage.Prompt <= 0 {
		e.Usage = agent.Usage{Estimated: true}
		for _, text := range texts {
			e.Usage.Prompt += m.Estimator.Tokens(text)
		}
	}
	m.Meter.addReply(m.Account, e.Usage, nil)
	return e, nil
}

func (m Model) promptTokens(r agent.Request) int {
	n := m.Estimator.Tokens(r.System)
	for _, msg := range r.Messages {
		n += m.Estimator.Tokens(msg.Text)
	}
	return n
}
