package turns

import (
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
)

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
