package turns

import (
	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/telemetry"
)

// Metrics counts the turn and its calls.
type Metrics struct {
	Counters *telemetry.Metrics
	// Model is the operator's name for the model, Price the price of its tokens.
	Model string
	Price agent.Price
}

// Observe implements Observer.
func (m Metrics) Observe(e agent.Event) {
	switch e := e.(type) {
	case agent.MalformedCall:
		m.Counters.CallMalformed(m.Model, e.Malformed)
	case agent.ModeSwitched:
		m.Counters.ModeSwitched(e)
	case agent.ModelRepeated:
		m.Counters.ModelFailed(m.Model, api.AsProblem(e.Err).Code, "repeated")
	case agent.ModelSwitched:
		m.Counters.ModelFailed(e.From, api.AsProblem(e.Err).Code, "switched")
	case agent.Folded:
		m.Counters.Folded(e)
	case agent.TurnEnd: // only the turn's own model; other models' usage is counted as theirs
		m.Counters.TurnEnded(m.Model, e, m.Price.Cost(e.Usage))
	}
}

// outcomeGone is what a request for approval comes to whose client has gone. It is counted
// at once.
const outcomeGone = "gone"

// Result implements Observer.
func (m Metrics) Result(c Call) {
	m.Counters.ToolCalled(m.Model, c.Format, c.Out, c.Result.Stats, c.Elapsed)
	if a := c.Out.Approval; a == nil || a.By != outcomeGone {
		m.Counters.ApprovalDecided(c.Out)
	}
}

// Ranks are the places of tools in the lists of the first searches that found them,
// from 1.
type Ranks map[string]int

// Add adds what a search has found.
func (r Ranks) Add(names []string) {
	for i, name := range names {
		if r[name] == 0 {
			r[name] = i + 1
		}
	}
}

// Searches counts searches for tools, and whether the tools they find are called.
type Searches struct {
	Counters *telemetry.Metrics
	ranks    Ranks // of the tools that were not called yet
}

// NewSearches returns the Searches of one turn.
func NewSearches(m *telemetry.Metrics) Searches { return Searches{m, Ranks{}} }

// Observe implements Observer.
func (s Searches) Observe(e agent.Event) {
	if e, ok := e.(agent.ToolsFound); ok {
		by := "model"
		if e.CallID == "" {
			by = "question"
		}
		s.Counters.Searched(by, len(e.Names))
		s.ranks.Add(e.Names)
	}
}

// Result implements Observer.
func (s Searches) Result(c Call) {
	if rank := s.ranks[c.Result.Tool]; rank > 0 {
		s.Counters.FoundCalled(rank)
		delete(s.ranks, c.Result.Tool)
	}
}
