package textcalls

import (
	"context"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/passthrough"
)

// Options say what is known of the model.
type Options struct {
	// Name is how the operator calls the model, for errors.
	Name string
	// Window is its context window in tokens, if a Request does not say; 0: unknown.
	Window int
	// StartInThought says that the model's template opens the thought at the end of the
	// prompt, so that replies begin inside it unless the server separates thoughts.
	StartInThought bool
	// Estimator counts the tokens of the description; nil: one that has learnt nothing.
	Estimator *agent.Estimator
	// Cache keeps what was read of the clients' tools for the next request; nil: the Model
	// has one of its own.
	Cache *Cache
}

// A Cache keeps what was read of lists of tools. The zero value is ready; it is safe for
// concurrent use.
type Cache struct{ kits prompt.Cache }

// New returns a Model that serves requests with tools through m, which has no tool calling.
// It asks m once, or twice where it corrects a call.
func New(m passthrough.Model, o Options) passthrough.Model {
	if o.Estimator == nil {
		o.Estimator = new(agent.Estimator)
	}
	if o.Cache == nil {
		o.Cache = new(Cache)
	}
	return &model{m, o}
}

type model struct {
	inner   passthrough.Model
	options Options
}

// Pass implements passthrough.Model.
func (m *model) Pass(ctx context.Context, r passthrough.Request) iter.Seq2[passthrough.Chunk, error] {
	a, ok := read(r)
	if !ok {
		return m.inner.Pass(ctx, r)
	}
	return func(yield func(passthrough.Chunk, error) bool) {
		if err := m.prepare(a); err != nil {
			yield(passthrough.Chunk{}, err)
			return
		}
		r.Body = a.with(a.sent)
		if len(a.tools) == 0 { // there is nothing to call
			for c, err := range m.inner.Pass(ctx, r) {
				if !yield(c, err) {
					return
				}
			}
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		x := &exchange{model: m, ask: a, request: r, yield: yield, ids: usedIDs(a.messages)}
		x.run(ctx)
	}
}
