package turns

import (
	"context"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/usage"
)

// choose decides which models the turn may ask: its own, and those that answer if that
// cannot.
func (t *turn) choose(set setup.View, own agent.Config) {
	t.candidates = candidates{own, []candidate{{t.model, t.ask.Model}}}
	for _, name := range set.Fallback(t.prof, t.ask.Model) {
		c := candidate{set.Models[name], name}
		t.candidates.all = append(t.candidates.all, c)
		t.prof.Agent.Fallback = append(t.prof.Agent.Fallback, agent.Alternative{
			Name: name, Model: watched{t.metered(c.Model), t}, Window: c.Info.Window, Estimator: c.Estimator,
			Mode: func(ctx context.Context) (agent.Mode, *bool) { return t.modeOf(ctx, c) },
		})
	}
}

// modeOf returns how the tools of a model are called, as setup.Model does. The client reads it
// if the model has to be asked for that.
func (t *turn) modeOf(ctx context.Context, c candidate) (agent.Mode, *bool) {
	ctx = setup.OnProbe(ctx, func() { t.emit(api.EventProbing, api.ModelProbing{Model: c.name}) })
	return c.Mode(ctx, t.candidates.own)
}

// candidate returns the model of that name; of an unknown name, the first.
func (t *turn) candidate(name string) candidate {
	for _, c := range t.candidates.all {
		if c.name == name {
			return c
		}
	}
	return t.candidates.all[0]
}

// answers makes a model the one that the turn is told, counted and paid by.
func (t *turn) answers(c candidate) {
	if c.name == t.ask.Model {
		return
	}
	t.ask.Model, t.model = c.name, c.Model
	t.calls.Model = c.name
	t.stream.Model, t.stream.Simulated = c.name, c.Info.Simulated
	t.trace.Model, t.trace.Simulated = c.name, c.Info.Simulated
	t.metrics.Model, t.metrics.Price = c.name, c.Price
	t.log.Model = c.name
	t.spans.Ask(peerOf(c.Model, c.name, t.scope.Conversation))
}

// split takes what models that failed have used out of the usage of a turn, and adds it to
// what the turn used beside its own model.
func (t *turn) split(e agent.TurnEnd) agent.TurnEnd {
	for _, b := range e.Before {
		c := t.candidate(b.Model)
		cost := c.Price.Cost(b.Usage)
		t.side.Add(api.Spent{For: usage.ForReplies, Model: c.name, Usage: b.Usage, Cost: cost})
		t.s.Metrics.TokensUsed(c.name, b.Usage, cost)
		e.Usage = e.Usage.Without(b.Usage)
	}
	return e
}
