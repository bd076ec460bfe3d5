package turns

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// FormatScript is how calls of a script are written, in metrics and statistics.
const FormatScript = "script"

// scripted are the scripts that a turn offers as tools. Nil: none.
type scripted struct {
	t *turn
	// offered are their descriptions, which stay the same over the turn.
	offered []tool.Spec

	mu sync.Mutex // held while the end of a call is reported
}

// newScripted returns the scripts of a turn.
func (t *turn) newScripted() *scripted {
	specs := t.s.Scripts.Specs(t.model.WritesScripts())
	if len(specs) == 0 {
		return nil
	}
	return &scripted{t: t, offered: specs}
}

func (s *scripted) specs() []tool.Spec {
	if s == nil {
		return nil
	}
	return s.offered
}

func (s *scripted) has(name string) bool { return s != nil && s.t.s.Scripts.Has(name) }

// call runs a script, whose calls are calls of the turn.
func (s *scripted) call(ctx context.Context, box toolbox, c tool.Call) (tool.Result, error) {
	ctx, vet := agent.Inner(ctx)
	tools, locale := box.Tools(), s.t.prof.Agent.Locale
	box.Session, box.scripts = box.Session.KeepingAll(), nil
	ended := 0
	return s.t.s.Scripts.Call(ctx, offer.Caller{
		Session: vetted{box, vet}, Tools: tools, Scope: s.t.scope, Locale: locale,
		Called: func(inner tool.Call, r tool.Result, took time.Duration) {
			ended++
			s.ended(c, ended, inner, r, took, locale)
		},
	}, c)
}

// ended reports a call that a script made. Clients see how many there were, and all of
// them with the result of the script.
func (s *scripted) ended(outer tool.Call, number int, c tool.Call, r tool.Result, took time.Duration, l tool.Locale) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := Call{Result: r, Out: api.ResultOf(r, took.Milliseconds(), l), Format: FormatScript, Elapsed: took}
	if r.Ref != nil {
		done.UUID = r.Ref.UUID
	}
	for _, o := range s.t.inner {
		o.Result(done)
	}
	if s.t.pace.may(outer.ID, s.t.s.Now()) {
		s.t.emit(api.EventProgress, api.ToolCallProgress{ID: outer.ID, Tool: outer.Tool, Done: number, Message: fmt.Sprintf("%s: %d", c.Tool, r.Shown.TotalChars)})
	}
}

// vetted are the tools of a script, whose calls the turn holds against its quotations.
type vetted struct {
	toolbox
	vet func(tool.Call) *tool.Error
}

// Call implements script.Session.
func (v vetted) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if fail := v.vet(c); fail != nil {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: fail}, nil
	}
	return v.toolbox.Call(ctx, c)
}
