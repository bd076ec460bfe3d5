package scripts

import (
	"context"
	"slices"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// callers make what scripts call tools with.
type callers struct{ s *Scripts }

// Open implements script.Callers. What a principal may call is looked up each time that a
// script goes on.
func (c callers) Open(sc script.Script, a approval.Approver, begin func(context.Context, tool.Call) error) (script.Caller, error) {
	return c.s.caller(sc, a, begin), nil
}

// caller returns what a script calls tools with.
func (s *Scripts) caller(sc script.Script, a approval.Approver, begin func(context.Context, tool.Call) error) script.Caller {
	principal := sc.Scope.Principal
	user := s.Current.View(principal).User
	session := s.Host.Session(host.Principal(principal), sc.Scope.Conversation).In(sc.Locale).Asking(a).Beginning(begin).KeepingAll()
	if sc.Scope.Everywhere {
		session = session.AcrossConversations()
	}
	if sc.Allow {
		session = session.ByPerson()
	}
	return script.Caller{
		Session: script.Watched(session, s.startCall),
		Tools:   slices.DeleteFunc(session.Tools(), func(t tool.Spec) bool { return !user.Sees(t.Name) }),
		Repeats: callers{s}.Repeats,
		Called: func(call tool.Call, r tool.Result, took time.Duration) {
			s.called(sc.Scope, call, r, took, sc.Locale)
		},
		Ended: func(o script.Outcome, took time.Duration) {
			s.called(sc.Scope, tool.Call{ID: sc.CallID, Tool: o.Result.Tool}, o.Result, took, sc.Locale)
			s.Log.Info("script completed", "by", principal, "ok", o.Result.Err == nil, "calls", len(o.Calls), "produced", o.Result.Shown.TotalChars)
		},
	}
}

// startCall starts the span of a script or of a call that it makes.
func (s *Scripts) startCall(ctx context.Context, c tool.Call) (context.Context, func(tool.Result, error)) {
	_, known := s.Host.Tool(c.Tool)
	return s.Current.State().Tracing.StartScriptCall(ctx, telemetry.Call{Call: c, Known: known || tool.IsBuiltIn(c.Tool)})
}

// Repeats implements script.Callers. A tool that can do
// nothing beyond answering has no effect, whatever its hints say.
func (c callers) Repeats(name string) script.Repeat {
	t, ok := c.s.Host.Tool(name)
	if ok && t.Effect == plugin.EffectNone {
		return script.Reads
	}
	return script.RepeatOf(t.Spec.Hints)
}

// called counts and logs a call.
func (s *Scripts) called(scope archive.Scope, c tool.Call, r tool.Result, took time.Duration, l tool.Locale) {
	out, code := api.ResultOf(r, took.Milliseconds(), l), "ok"
	if r.Err != nil {
		code = string(r.Err.Code)
	}
	s.Metrics.ToolCalled("", turns.FormatScript, out, r.Stats, took)
	s.Calls.Add(store.Call{
		Scope: scope, CallID: c.ID, Tool: api.Clip(c.Tool, 80), Format: turns.FormatScript, Code: code,
		Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: out.KeptUUID, View: store.ViewOf(r.Shown), Extra: store.ExtraOf(r), Duration: took, Created: s.Now().Add(-took),
	})
}
