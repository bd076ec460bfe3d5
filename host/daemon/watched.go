package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// A watched model is a turn's, whose requests are counted and traced.
type watched struct {
	agent.Model
	t *turn
}

// Unwrap gives the model itself, for what it can do beside Generate.
func (w watched) Unwrap() agent.Model { return w.Model }

// Generate implements agent.Model.
func (w watched) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		began := w.t.d.now()
		ctx, chat := w.t.spans.chat(ctx, r)
		defer func() {
			w.t.d.metrics.modelAsked(w.t.ask.Model, w.t.d.now().Sub(began))
			chat.finish()
		}()
		for d, err := range w.Model.Generate(ctx, r) {
			chat.saw(d, err)
			if !yield(d, err) {
				return
			}
		}
	}
}

// Embed implements agent.Embedder as the model itself does.
func (w watched) Embed(ctx context.Context, texts []string) (agent.Embeddings, error) {
	em, ok := agent.As[agent.Embedder](w.Model)
	if !ok {
		return agent.Embeddings{}, agent.ErrNoEmbeddings
	}
	began := time.Now()
	e, err := em.Embed(ctx, texts)
	if errors.Is(err, agent.ErrNoEmbeddings) {
		return e, err
	}
	w.t.spans.embedded(ctx, began, e, err)
	if err == nil {
		w.t.d.metrics.embedded(w.t.ask.Model, e.Usage)
		asidesOf(ctx).add(api.Spent{For: forVectors, Model: w.t.ask.Model, Usage: e.Usage, Cost: nil})
	}
	return e, err
}

// embedded makes the span of a request for vectors, which has ended.
func (s *spans) embedded(ctx context.Context, began time.Time, e agent.Embeddings, err error) {
	if s == nil {
		return
	}
	name, attrs := opEmbed, []attribute.KeyValue{}
	for _, a := range s.model(opEmbed) {
		if a.Key == keyModel { // which is the one that replies
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

// A chatSpan is the span of one request to a model; nil: there is none.
type chatSpan struct {
	Tracing
	span          trace.Span
	repeats       *int   // nil: they are not counted
	model         string // who replied
	usage         *agent.Usage
	reason        agent.Finish
	text, thought strings.Builder
	calls         []spanPart
}

// maxModelName bounds what of a provider's own name for a model is told, in
// characters: it can send anything.
const maxModelName = 200

// chat opens the span of a request of the turn's.
func (s *spans) chat(ctx context.Context, r agent.Request) (context.Context, *chatSpan) {
	if s == nil {
		return ctx, nil
	}
	s.repeats = 0
	ctx, c := s.Tracing.chat(ctx, s.model(opChat), r)
	c.repeats = &s.repeats
	return ctx, c
}

// chat opens the span of a request to the model that attrs tell of.
func (t Tracing) chat(ctx context.Context, attrs []attribute.KeyValue, r agent.Request) (context.Context, *chatSpan) {
	if t.off() {
		return ctx, nil
	}
	name := opChat
	for _, a := range attrs {
		if a.Key == keyModel {
			name += " " + a.Value.AsString()
		}
	}
	if r.MaxTokens > 0 {
		attrs = append(attrs, keyMaxTokens.Int(r.MaxTokens))
	}
	if v := r.Sampling.Temperature; v != nil {
		attrs = append(attrs, keyTemperature.Float64(*v))
	}
	if v := r.Sampling.TopP; v != nil {
		attrs = append(attrs, keyTopP.Float64(*v))
	}
	if v := r.Sampling.Seed; v != nil {
		attrs = append(attrs, keySeed.Int64(*v))
	}
	if t.Content {
		attrs = append(attrs, keySystem.String(partsText([]spanPart{{Type: "text", Content: r.System}})), keyMessagesIn.String(messagesText(messagesIn(r.Messages))), keyStop.StringSlice(r.Stop))
	}
	ctx, span := t.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return ctx, &chatSpan{Tracing: t, span: span}
}

// saw notes a piece of the reply.
func (c *chatSpan) saw(d agent.Delta, err error) {
	if c == nil {
		return
	}
	if err != nil {
		fail(c.span, errorClass(err))
	}
	if d.Usage != nil {
		c.usage = d.Usage
	}
	if d.Model != "" && c.model == "" {
		c.model = api.Clip(d.Model, maxModelName)
	}
	if d.Finish != "" {
		c.reason = d.Finish
	}
	if !c.Content {
		return
	}
	c.text.WriteString(d.Text)
	c.thought.WriteString(d.Reasoning)
	if d.Call != nil {
		c.calls = append(c.calls, callPart(*d.Call))
	}
}

// finish closes the span. A reply that was left where its calls ended has no
// reason, and often no count.
func (c *chatSpan) finish() {
	if c == nil {
		return
	}
	if c.usage != nil {
		c.span.SetAttributes(usage(*c.usage)...)
	}
	if c.reason != "" {
		c.span.SetAttributes(keyFinish.StringSlice([]string{string(c.reason)}))
	}
	if c.model != "" {
		c.span.SetAttributes(keyReplied.String(c.model))
	}
	if c.repeats != nil && *c.repeats > 0 {
		c.span.SetAttributes(keyRepeats.Int(*c.repeats))
	}
	if c.Content {
		m := spanMessage{Role: "assistant", Finish: string(c.reason)}
		if c.thought.Len() > 0 {
			m.Parts = append(m.Parts, spanPart{Type: "reasoning", Content: c.thought.String()})
		}
		if c.text.Len() > 0 {
			m.Parts = append(m.Parts, spanPart{Type: "text", Content: c.text.String()})
		}
		m.Parts = append(m.Parts, c.calls...)
		c.span.SetAttributes(keyMessageOut.String(messagesText([]spanMessage{m})))
	}
	c.span.End()
}

// messagesIn are a request's messages in the form of the conventions.
func messagesIn(all []agent.ChatMessage) []spanMessage {
	out := make([]spanMessage, len(all))
	for i, m := range all {
		out[i] = textMessage(m.Role, m.Text)
		switch {
		case m.CallID != "":
			out[i].Parts = []spanPart{{Type: "tool_call_response", ID: m.CallID, Response: m.Text}}
		case m.Text == "":
			out[i].Parts = []spanPart{}
		}
		for _, c := range m.Calls {
			out[i].Parts = append(out[i].Parts, callPart(c))
		}
	}
	return out
}

func callPart(c tool.Call) spanPart {
	p := spanPart{Type: "tool_call", ID: c.ID, Name: c.Tool}
	if json.Valid(c.Args) { // a model writes anything
		p.Args = c.Args
	}
	return p
}

func partsText(parts []spanPart) string {
	text, err := json.Marshal(parts)
	if err != nil {
		return "[]"
	}
	return string(text)
}

// A tracedBox is a turn's tools, whose calls are traced.
type tracedBox struct {
	toolbox
	spans *spans
}

// In implements agent's way to ask for another language.
func (b tracedBox) In(l tool.Locale) agent.Toolbox {
	b.Session = b.Session.In(l)
	return b
}

// Call implements agent.Toolbox.
func (b tracedBox) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	ctx, ran := b.spans.call(ctx, c)
	defer ran()
	return b.toolbox.Call(ctx, c)
}

// tools are what the turn's model may call, traced where turns are.
func (t *turn) tools(b toolbox) agent.Toolbox {
	if t.spans == nil {
		return b
	}
	return tracedBox{b, t.spans}
}
