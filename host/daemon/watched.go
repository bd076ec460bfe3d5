package daemon

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
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
		began := w.t.d.now()
		ctx, chat := w.t.spans.StartChat(ctx, r)
		defer func() {
			w.t.d.metrics.ModelAsked(w.t.ask.Model, w.t.d.now().Sub(began))
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
		w.t.d.metrics.Embedded(w.t.ask.Model, e.Usage)
		usage.SideUsageOf(ctx).Add(api.Spent{For: usage.ForEmbeddings, Model: w.t.ask.Model, Usage: e.Usage, Cost: nil})
	}
	return e, err
}

// A tracedBox is a turn's tools, whose calls are traced.
type tracedBox struct {
	toolbox
	spans *telemetry.Turn
}

// In implements agent's way to ask for another language.
func (b tracedBox) In(l tool.Locale) agent.Toolbox {
	b.Session = b.Session.In(l)
	return b
}

// Call implements agent.Toolbox.
func (b tracedBox) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	ctx, ran := b.spans.StartCall(ctx, c)
	defer ran()
	return b.toolbox.Call(ctx, c)
}

// tools are what the turn's model may call, traced where turns are.
func (t *turn) tools(b toolbox) agent.Toolbox {
	if t.spans == nil {
		return b
	}
	return tracedBox{b, t.spans}
}

// peerOf identifies a model and a conversation in spans.
func peerOf(m Model, name, conversation string) telemetry.Peer {
	return telemetry.Peer{Name: name, Info: m.Info, Server: m.Server, Conversation: conversation}
}
