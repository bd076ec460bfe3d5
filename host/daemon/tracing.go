package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/sdk/tool"
)

// Tracing says what spans are made of turns, requests to models and calls of
// tools.
type Tracing struct {
	// Tracer makes the spans; nil: none are made, and no trace of a request is
	// taken up.
	Tracer trace.Tracer
	// Content puts what was asked and answered into the spans, arguments and
	// results of tools too.
	Content bool
}

// off reports whether there is nothing to do.
func (t Tracing) off() bool { return t.Tracer == nil }

// take reads the trace that a carrier brings.
func (t Tracing) take(ctx context.Context, from propagation.TextMapCarrier) context.Context {
	if t.off() {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, from)
}

// traced takes up the trace of a request, where there is one.
func (d *Daemon) traced(r *http.Request) *http.Request {
	t := d.set().Tracing
	if t.off() || r.Header.Get("Traceparent") == "" {
		return r
	}
	return r.WithContext(t.take(r.Context(), propagation.HeaderCarrier(r.Header)))
}

// fail marks a span as failed, by a class of errors and nothing that was said.
func fail(s trace.Span, class string) {
	s.SetStatus(codes.Error, "")
	s.SetAttributes(keyError.String(class))
}

// errorClass is what spans call an error.
func errorClass(err error) string {
	if me, ok := errors.AsType[*agent.ModelError](err); ok {
		return string(me.Code)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	if code := asProblem(err).Code; code != "" {
		return code
	}
	return errorOther
}

// spans are those of one turn. A turn without a Tracer has nil, whose methods do
// nothing.
type spans struct {
	Tracing
	t    *turn
	root trace.Span

	repeats int // of the request to the model that runs

	mu    sync.Mutex
	calls map[string]openCall // by the call's id
}

// An openCall is a span of a call whose result is not yet fitted into the window.
type openCall struct {
	span trace.Span
	end  time.Time
}

// begin opens the span of a turn; nil: there is none.
func (t Tracing) begin(ctx context.Context, of *turn) (context.Context, *spans) {
	if t.off() {
		return ctx, nil
	}
	s := &spans{Tracing: t, t: of, calls: map[string]openCall{}}
	ctx, s.root = t.Tracer.Start(ctx, opInvokeAgent+" "+of.ask.Profile, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(
		append(s.model(opInvokeAgent), keyAgent.String(of.ask.Profile))...))
	return ctx, s
}

// model is what the spans of an operation that asks a model begin with.
func (s *spans) model(operation string) []attribute.KeyValue {
	return spanModel(operation, s.t.model, s.t.ask.Model, s.t.scope.Conversation)
}

func spanModel(operation string, m Model, name, conversation string) []attribute.KeyValue {
	if m.Info.Model != "" {
		name = m.Info.Model
	}
	out := []attribute.KeyValue{
		keyOperation.String(operation), keyProvider.String(providerName(m.Info.Provider)), keyModel.String(name), keyConversation.String(conversation),
	}
	if host, port, err := net.SplitHostPort(m.Server); err == nil {
		out = append(out, keyServer.String(host))
		if n, err := strconv.Atoi(port); err == nil {
			out = append(out, keyPort.Int(n))
		}
	}
	return out
}

// finish closes the span of the turn.
func (s *spans) finish(err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	for _, c := range s.calls { // whose results nobody has seen
		fail(c.span, "cancelled")
		c.span.End(trace.WithTimestamp(c.end))
	}
	s.calls = nil
	s.mu.Unlock()
	e := s.t.end
	s.root.SetAttributes(append(usage(e.Usage),
		keyReason.String(string(e.Reason)), keyRounds.Int(e.Rounds), keyCalls.Int(e.Calls),
		keyProduced.Int(e.ProducedChars), keyShown.Int(e.ShownChars), keyKept.Int(e.KeptChars))...)
	if s.Content {
		s.root.SetAttributes(keyMessagesIn.String(oneMessage("user", s.t.ask.Message)), keyMessageOut.String(oneMessage("assistant", e.Answer)))
	}
	if err != nil {
		fail(s.root, errorClass(err))
	}
	s.root.End()
}

// started notes what a turn's start tells.
func (s *spans) started(e agent.TurnStart) {
	if s != nil {
		s.root.SetAttributes(keyTurn.Int(e.Turn), keyMode.String(string(e.Mode)))
	}
}

// repeated counts a failure after which the model is asked again; it comes from
// the goroutine that reads the reply.
func (s *spans) repeated() {
	if s != nil {
		s.repeats++
	}
}

func usage(u agent.Usage) []attribute.KeyValue {
	out := []attribute.KeyValue{keyInput.Int(u.Prompt), keyOutput.Int(u.Completion)}
	if u.CachedPrompt > 0 {
		out = append(out, keyCacheRead.Int(u.CachedPrompt))
	}
	if u.CacheWrite > 0 {
		out = append(out, keyCacheWrite.Int(u.CacheWrite))
	}
	if u.Estimated {
		out = append(out, keyEstimated.Bool(true))
	}
	return out
}

// call opens the span of a tool's call. It stays open, though not in time, until
// the result is told, which says what of it was shown; ran must be called when
// the call has ended.
func (s *spans) call(ctx context.Context, c tool.Call) (_ context.Context, ran func()) {
	ctx, span := s.Tracer.Start(ctx, s.t.d.toolSpan(opExecuteTool, c.Tool), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(toolAttributes(c)...))
	if s.Content {
		span.SetAttributes(keyArguments.String(string(c.Args)))
	}
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if before, again := s.calls[c.ID]; again { // tried once more
			fail(before.span, errorOther)
			before.span.End(trace.WithTimestamp(before.end))
		}
		if s.calls == nil { // the turn is over
			span.End()
			return
		}
		s.calls[c.ID] = openCall{span, time.Now()}
	}
}

// told closes the span of a call with its result. One that did not run has a
// span of no length.
func (s *spans) told(r tool.Result, out api.ToolCallResult, format string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	c, ok := s.calls[r.CallID]
	delete(s.calls, r.CallID)
	s.mu.Unlock()
	if !ok {
		_, c.span = s.Tracer.Start(trace.ContextWithSpan(context.Background(), s.root), s.t.d.toolSpan(opExecuteTool, r.Tool), trace.WithAttributes(toolAttributes(tool.Call{ID: r.CallID, Tool: r.Tool})...))
		c.end = time.Now()
	}
	c.span.SetAttributes(keyFormat.String(format))
	s.result(c.span, r, out)
	c.span.End(trace.WithTimestamp(c.end))
}

// result puts what a call came to into its span.
func (t Tracing) result(span trace.Span, r tool.Result, out api.ToolCallResult) {
	attrs := []attribute.KeyValue{keyProduced.Int(out.Produced), keyShown.Int(out.Shown)}
	if out.Layer != tool.LayerNone {
		attrs = append(attrs, keyLayer.String(string(out.Layer)), keyLimit.Int(out.Limit), keyUnit.String(string(out.Unit)))
	}
	if out.KeptUUID != "" {
		attrs = append(attrs, keyArchive.String(out.KeptUUID))
	}
	if i := r.Stats.Instance; i > 0 {
		attrs = append(attrs, keyInstance.Float64(i.Seconds()))
	}
	if r.Stats.Cached {
		attrs = append(attrs, keyCached.Bool(true))
	}
	if t.Content {
		attrs = append(attrs, keyResult.String(out.Text))
	}
	span.SetAttributes(attrs...)
	if r.Err != nil {
		fail(span, string(r.Err.Code))
	}
}

// toolSpan names a span; names that a model or a client makes up stay out.
func (d *Daemon) toolSpan(operation, name string) string {
	if d.knows(name) {
		return operation + " " + name
	}
	return operation
}

func toolAttributes(c tool.Call) []attribute.KeyValue {
	return []attribute.KeyValue{
		keyOperation.String(opExecuteTool), keyTool.String(api.Clip(c.Tool, 80)), keyToolCall.String(c.ID), keyToolType.String("extension"),
	}
}

// traceCall makes the span of a call that is no turn's; done must be called with
// its result.
func (d *Daemon) traceCall(ctx context.Context, c tool.Call) (_ context.Context, done func(tool.Result, api.ToolCallResult, error)) {
	t := d.set().Tracing
	if t.off() {
		return ctx, func(tool.Result, api.ToolCallResult, error) {}
	}
	ctx, span := t.Tracer.Start(ctx, d.toolSpan(opExecuteTool, c.Tool), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(toolAttributes(c)...))
	return ctx, t.ender(span, c)
}

func (t Tracing) ender(span trace.Span, c tool.Call) func(tool.Result, api.ToolCallResult, error) {
	if t.Content {
		span.SetAttributes(keyArguments.String(string(c.Args)))
	}
	return func(r tool.Result, out api.ToolCallResult, err error) {
		if err != nil {
			fail(span, errorClass(err))
		} else {
			t.result(span, r, out)
		}
		span.End()
	}
}

// traceMCP makes the span of a call by the protocol, as its conventions want it.
func (d *Daemon) traceMCP(ctx context.Context, c tool.Call, from mcpserver.Trace) (context.Context, func(tool.Result, error)) {
	t := d.set().Tracing
	if t.off() {
		return ctx, nil
	}
	ctx = t.take(ctx, propagation.MapCarrier{"traceparent": from.Parent, "tracestate": from.State})
	ctx, span := t.Tracer.Start(ctx, d.toolSpan(methodCall, c.Tool), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(append(toolAttributes(c), keyMethod.String(methodCall))...))
	end := t.ender(span, c)
	return ctx, func(r tool.Result, err error) {
		var out api.ToolCallResult
		if err == nil {
			out = api.ResultOf(r, 0, d.cfg.MCP.Locale)
		}
		end(r, out, err)
	}
}

// oneMessage is one message in the form of the conventions.
func oneMessage(role, text string) string {
	return messagesText([]spanMessage{textMessage(role, text)})
}

// A spanMessage is a message as the conventions write it.
type spanMessage struct {
	Role  string     `json:"role"`
	Parts []spanPart `json:"parts"`
	// Finish is why a reply ended.
	Finish string `json:"finish_reason,omitempty"`
}

type spanPart struct {
	Type     string          `json:"type"` // text, reasoning, tool_call or tool_call_response
	Content  string          `json:"content,omitempty"`
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name,omitempty"`
	Args     json.RawMessage `json:"arguments,omitempty"`
	Response string          `json:"response,omitempty"`
}

func textMessage(role, text string) spanMessage {
	return spanMessage{Role: role, Parts: []spanPart{{Type: "text", Content: text}}}
}

// messagesText writes messages as JSON.
func messagesText(all []spanMessage) string {
	text, err := json.Marshal(all)
	if err != nil { // plain data: only broken raw arguments can do this
		return "[]"
	}
	return string(text)
}
