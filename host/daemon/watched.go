package daemon

import (
	"context"
	"iter"

	"github.com/weirhost/weir/agent"
)

// A watched model is a turn's, whose requests are counted.
type watched struct {
	agent.Model
	t *turn
}

// Unwrap gives the model itself, for what it can do beside Generate.
func (w watched) Unwrap() agent.Model { return w.Model }

// Generate implements agent.Model.
func (w watched) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		began := w.t.d.now()
		defer func() { w.t.d.metrics.modelAsked(w.t.ask.Model, w.t.d.now().Sub(began)) }()
		for d, err := range w.Model.Generate(ctx, r) {
			if !yield(d, err) {
				return
			}
		}
	}
}
