package turns

import (
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/sdk/tool"
)

// An Observer reports one aspect of a turn. The agent sends events from one goroutine
// at a time.
type Observer interface {
	// Observe receives every event except agent.CallEnd and the pieces of a reply.
	Observe(e agent.Event)
	// Result receives a finished call.
	Result(c Call)
}

// A Call is a finished call of a tool.
type Call struct {
	Result tool.Result
	// Out is the wire form of the result.
	Out api.ToolCallResult
	// Format is how the model wrote the call.
	Format  string
	Elapsed time.Duration
	// UUID is the archived result; empty: none. Out has no uuid if the archive
	// drops the result at the end of the turn.
	UUID string
}

// Observers send each event to all of them, in order.
type Observers []Observer

// Observe implements Observer.
func (os Observers) Observe(e agent.Event) {
	for _, o := range os {
		o.Observe(e)
	}
}

// Result implements Observer.
func (os Observers) Result(c Call) {
	for _, o := range os {
		o.Result(c)
	}
}

// Spans feeds the turn's spans.
type Spans struct{ *telemetry.Turn }

// Result implements Observer.
func (s Spans) Result(c Call) { s.Turn.Result(c.Result, c.Out, c.Format) }
