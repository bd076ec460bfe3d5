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
	case agent.Folded:
		m.Counters.Folded(e)
	case agent.TurnEnd: // only the turn's own model; other models' usage is counted as theirs
		m.Counters.TurnEnded(m.Model, e, m.Price.Cost(e.Usage))
	}
}

// Result implements Observer.
func (m Metrics) Result(c Call) {
	m.Counters.ToolCalled(m.Model, c.Format, c.Out, c.Result.Stats, c.Elapsed)
	m.Counters.ApprovalDecided(c.Out)
}
