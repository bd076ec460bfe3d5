package turns

import (
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
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

// Calls fills the rows of the call log.
type Calls struct {
	Rows []store.Call

	Scope archive.Scope
	Model string
	// Turn returns the number of the stored turn.
	Turn func() int
	Now  func() time.Time
}

// Observe implements Observer.
func (l *Calls) Observe(e agent.Event) {
	if e, ok := e.(agent.MalformedCall); ok {
		l.Rows = append(l.Rows, store.Call{
			Scope: l.Scope, Turn: l.Turn(), Tool: api.Clip(e.Malformed.Name, 80), Model: l.Model, Format: string(e.Malformed.Format),
			Code: store.MalformedCode + string(e.Malformed.Reason), Created: l.Now(),
		})
	}
}

// Result implements Observer.
func (l *Calls) Result(c Call) {
	code := "ok"
	if c.Result.Err != nil {
		code = string(c.Result.Err.Code)
	}
	l.Rows = append(l.Rows, store.Call{
		Scope: l.Scope, Turn: l.Turn(), CallID: c.Out.ID, Tool: c.Out.Tool, Model: l.Model, Format: c.Format, Code: code,
		Layer: string(c.Out.Layer), Produced: c.Out.Produced, Shown: c.Out.Shown, UUID: c.UUID, View: store.ViewOf(c.Result.Shown), Extra: store.ExtraOf(c.Result), Duration: c.Elapsed, Created: l.Now(),
	})
}
