package telemetry

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// Tracing makes spans of turns, requests to models and calls of tools. The zero value
// makes none.
type Tracing struct {
	// Tracer makes the spans. If nil, there are none, and the traces of requests are
	// ignored.
	Tracer trace.Tracer
	// Content adds questions, answers, arguments and results to the spans.
	Content bool
}

func (t Tracing) off() bool { return t.Tracer == nil }

// Extract returns a request with the trace of its headers, if it has one.
func (t Tracing) Extract(r *http.Request) *http.Request {
	if t.off() || r.Header.Get("Traceparent") == "" {
		return r
	}
	return r.WithContext(t.extract(r.Context(), propagation.HeaderCarrier(r.Header)))
}

func (t Tracing) extract(ctx context.Context, from propagation.TextMapCarrier) context.Context {
	return propagation.TraceContext{}.Extract(ctx, from)
}

// fail marks a span as failed, with a class of errors and no text.
func fail(s trace.Span, class string) {
	s.SetStatus(codes.Error, "")
	s.SetAttributes(keyError.String(class))
}

// errorClass returns the class of an error.
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
	return cmp.Or(api.AsProblem(err).Code, errorOther)
}

// A Peer identifies the model of a request, and the conversation it belongs to.
type Peer struct {
	// Name is the operator's name for the model.
	Name string
	Info agent.ModelInfo
	// Server is the model's host:port; empty: unknown.
	Server       string
	Conversation string
}

// attributes returns the first attributes of a span that asks the model.
func (p Peer) attributes(operation string) []attribute.KeyValue {
	name := p.Name
	if p.Info.Model != "" {
		name = p.Info.Model
	}
	out := []attribute.KeyValue{
		keyOperation.String(operation), keyProvider.String(providerName(p.Info.Provider)), keyModel.String(name), keyConversation.String(p.Conversation),
	}
	if host, port, err := net.SplitHostPort(p.Server); err == nil {
		out = append(out, keyServer.String(host))
		if n, err := strconv.Atoi(port); err == nil {
			out = append(out, keyPort.Int(n))
		}
	}
	return out
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

// A Call identifies a call of a tool that does not belong to a turn.
type Call struct {
	tool.Call
	// Known says that the tool exists. Only then the span's name contains the tool's.
	Known bool
}

// StartCall starts the span of a call. The caller must call end with its result.
func (t Tracing) StartCall(ctx context.Context, c Call) (_ context.Context, end func(tool.Result, api.ToolCallResult, error)) {
	if t.off() {
		return ctx, func(tool.Result, api.ToolCallResult, error) {}
	}
	ctx, span := t.Tracer.Start(ctx, spanName(opExecuteTool, c.Tool, c.Known), trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(toolAttributes(c.Call)...))
	return ctx, t.ender(span, c.Call)
}

// StartScriptCall is StartCall for the calls of a script: end takes results as tools give
// them.
func (t Tracing) StartScriptCall(ctx context.Context, c Call) (_ context.Context, end func(tool.Result, error)) {
	ctx, ended := t.StartCall(ctx, c)
	return ctx, func(r tool.Result, err error) {
		var out api.ToolCallResult
		if err == nil && !t.off() {
			out = api.ResultOf(r, 0, "")
		}
		ended(r, out, err)
	}
}

// StartMCPCall starts the span of a call over MCP, within the trace that the client
// sends. end is nil if there is no span; else the caller must call it with the result.
func (t Tracing) StartMCPCall(ctx context.Context, c Call, parent, state string) (_ context.Context, end func(tool.Result, api.ToolCallResult, error)) {
	if t.off() {
		return ctx, nil
	}
	ctx = t.extract(ctx, propagation.MapCarrier{"traceparent": parent, "tracestate": state})
	ctx, span := t.Tracer.Start(ctx, spanName(methodCall, c.Tool, c.Known), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(append(toolAttributes(c.Call), keyMethod.String(methodCall))...))
	return ctx, t.ender(span, c.Call)
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

// result adds the outcome of a call to its span.
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

// spanName returns the name of a tool's span, without names that a model or a client
// invents.
func spanName(operation, name string, known bool) string {
	if known {
		return operation + " " + name
	}
	return operation
}

func toolAttributes(c tool.Call) []attribute.KeyValue {
	return []attribute.KeyValue{
		keyOperation.String(opExecuteTool), keyTool.String(api.Clip(c.Tool, 80)), keyToolCall.String(c.ID), keyToolType.String("extension"),
	}
}
