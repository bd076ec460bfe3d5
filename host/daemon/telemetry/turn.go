package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// A Turn contains the spans of one turn: its own, one for each request to the model,
// and one for each call of a tool. The methods of a nil Turn do nothing.
type Turn struct {
	Tracing
	info TurnInfo
	root trace.Span

	repeats int // of the current request to the model

	mu    sync.Mutex
	calls map[string]openCall // by the call's id
}

// A TurnInfo describes a turn.
type TurnInfo struct {
	Peer
	Profile, Question string
	// Known reports whether a tool of that name exists.
	Known func(name string) bool
}

// An openCall is a span of a call that ended, but whose result is not yet fitted into
// the model's window.
type openCall struct {
	span trace.Span
	end  time.Time
}

// StartTurn starts the span of a turn. It returns nil without a Tracer.
func (t Tracing) StartTurn(ctx context.Context, info TurnInfo) (context.Context, *Turn) {
	if t.off() {
		return ctx, nil
	}
	s := &Turn{Tracing: t, info: info, calls: map[string]openCall{}}
	ctx, s.root = t.Tracer.Start(ctx, opInvokeAgent+" "+info.Profile, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(
		append(info.attributes(opInvokeAgent), keyAgent.String(info.Profile))...))
	return ctx, s
}

// End ends the turn's span, and those of calls without a result.
func (s *Turn) End(e api.ChatEnd, err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	for _, c := range s.calls {
		fail(c.span, "cancelled")
		c.span.End(trace.WithTimestamp(c.end))
	}
	s.calls = nil
	s.mu.Unlock()
	s.root.SetAttributes(append(usage(e.Usage),
		keyReason.String(string(e.Reason)), keyRounds.Int(e.Rounds), keyCalls.Int(e.Calls),
		keyProduced.Int(e.ProducedChars), keyShown.Int(e.ShownChars), keyKept.Int(e.KeptChars))...)
	if s.Content {
		s.root.SetAttributes(keyMessagesIn.String(oneMessage("user", s.info.Question)), keyMessageOut.String(oneMessage("assistant", e.Answer)))
	}
	if err != nil {
		fail(s.root, errorClass(err))
	}
	s.root.End()
}

// Observe adds what an event of the agent reports, except results of calls.
func (s *Turn) Observe(e agent.Event) {
	if s == nil {
		return
	}
	switch e := e.(type) {
	case agent.TurnStart:
		s.root.SetAttributes(keyTurn.Int(e.Turn), keyMode.String(string(e.Mode)))
	case agent.ModelRepeated: // from the goroutine that reads the reply
		s.repeats++
	}
}

// Ask makes another model the one that is asked from now on.
func (s *Turn) Ask(p Peer) {
	if s == nil {
		return
	}
	s.info.Peer = p
	s.root.SetAttributes(p.attributes(opInvokeAgent)...)
}

// StartCall starts the span of a tool's call. ran marks the end of the call; the span
// itself stays open until Result, which knows how much of the result is shown.
func (s *Turn) StartCall(ctx context.Context, c tool.Call) (_ context.Context, ran func()) {
	if s == nil {
		return ctx, func() {}
	}
	ctx, span := s.Tracer.Start(ctx, s.name(c.Tool), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(toolAttributes(c)...))
	if s.Content {
		span.SetAttributes(keyArguments.String(string(c.Args)))
	}
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if before, again := s.calls[c.ID]; again { // the agent retries it
			fail(before.span, errorOther)
			before.span.End(trace.WithTimestamp(before.end))
		}
		if s.calls == nil { // the turn has ended
			span.End()
			return
		}
		s.calls[c.ID] = openCall{span, time.Now()}
	}
}

func (s *Turn) name(tool string) string { return spanName(opExecuteTool, tool, s.info.Known(tool)) }

// Result ends the span of a call with its result. A call that did not run gets a span
// without a duration.
func (s *Turn) Result(r tool.Result, out api.ToolCallResult, format string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	c, ok := s.calls[r.CallID]
	delete(s.calls, r.CallID)
	s.mu.Unlock()
	if !ok {
		_, c.span = s.Tracer.Start(trace.ContextWithSpan(context.Background(), s.root), s.name(r.Tool), trace.WithAttributes(toolAttributes(tool.Call{ID: r.CallID, Tool: r.Tool})...))
		c.end = time.Now()
	}
	c.span.SetAttributes(keyFormat.String(format))
	s.result(c.span, r, out)
	c.span.End(trace.WithTimestamp(c.end))
}

// Embedded adds the span of a request for vectors that began at a time and has ended.
func (s *Turn) Embedded(ctx context.Context, began time.Time, e agent.Embeddings, err error) {
	if s == nil {
		return
	}
	name, attrs := opEmbed, []attribute.KeyValue{}
	for _, a := range s.info.attributes(opEmbed) {
		if a.Key == keyModel { // the model that answers may be another one
			if e.Model == "" {
				continue
			}
			a = keyModel.String(e.Model)
			name += " " + e.Model
		}
		attrs = append(attrs, a)
	}
	_, span := s.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(began), trace.WithAttributes(attrs...))
	if err != nil {
		fail(span, errorClass(err))
	} else {
		span.SetAttributes(keyInput.Int(e.Usage.Prompt))
		if e.Usage.Estimated {
			span.SetAttributes(keyEstimated.Bool(true))
		}
	}
	span.End()
}

// StartChat starts the span of a request to the turn's model.
func (s *Turn) StartChat(ctx context.Context, r agent.Request) (context.Context, *Chat) {
	if s == nil {
		return ctx, nil
	}
	s.repeats = 0
	ctx, c := s.Tracing.StartChat(ctx, s.info.Peer, r)
	c.repeats = &s.repeats
	return ctx, c
}
