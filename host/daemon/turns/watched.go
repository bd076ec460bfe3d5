package turns

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
)

// A watched model is a turn's, whose requests are counted and traced.
type watched struct {
	agent.Model
	t *turn
}

// Unwrap gives the model itself, for what it can do beside Generate.
func (w watched) Unwrap() agent.Model { return w.Model }

// Generate implements agent.Model.
func (w watched) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		began := w.t.s.Now()
		ctx, chat := w.t.spans.StartChat(ctx, r)
		defer func() {
			w.t.s.Metrics.ModelAsked(w.t.ask.Model, w.t.s.Now().Sub(began))
			chat.End()
		}()
		for d, err := range w.Model.Generate(ctx, r) {
			chat.Received(d, err)
			if !yield(d, err) {
				return
			}
		}
	}
}

// Embed implements agent.Embedder as the model itself does.
func (w watched) Embed(ctx context.Context, texts []string) (agent.Embeddings, error) {
	em, ok := agent.As[agent.Embedder](w.Model)
	if !ok {
		return agent.Embeddings{}, agent.ErrNoEmbeddings
	}
	began := time.Now()
	e, err := em.Embed(ctx, texts)
	if errors.Is(err, agent.ErrNoEmbeddings) {
		return e, err
	}
	w.t.spans.Embedded(ctx, began, e, err)
	if err == nil {
		w.t.s.Metrics.Embedded(w.t.ask.Model, e.Usage)
		usage.SideUsageOf(ctx).Add(api.Spent{For: usage.ForEmbeddings, Model: w.t.ask.Model, Usage: e.Usage, Cost: nil})
	}
	return e, err
}
