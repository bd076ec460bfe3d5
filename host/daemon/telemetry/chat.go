package telemetry

import (
	"context"
	"encoding/json"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// A Chat is the span of one request to a model. The methods of a nil Chat do nothing.
type Chat struct {
	Tracing
	span          trace.Span
	repeats       *int   // nil: not counted
	model         string // that replied
	usage         *agent.Usage
	reason        agent.Finish
	text, thought strings.Builder
	calls         []spanPart
}

// maxModelName bounds a provider's own name for a model, in characters: a provider can
// send any text.
const maxModelName = 200

// StartChat starts the span of a request to a model. It returns nil without a Tracer.
func (t Tracing) StartChat(ctx context.Context, p Peer, r agent.Request) (context.Context, *Chat) {
	if t.off() {
		return ctx, nil
	}
	name, attrs := opChat, p.attributes(opChat)
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
		attrs = append(attrs, keySystem.String(listText([]spanPart{{Type: "text", Content: r.System}})), keyMessagesIn.String(listText(messagesIn(r.Messages))), keyStop.StringSlice(r.Stop))
	}
	ctx, span := t.Tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return ctx, &Chat{Tracing: t, span: span}
}

// Received adds a piece of the reply, or the error that ends it.
func (c *Chat) Received(d agent.Delta, err error) {
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

// End ends the span. A reply that the agent stops reading after its calls has no
// finish reason, and often no usage.
func (c *Chat) End() {
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
		c.span.SetAttributes(keyMessageOut.String(listText([]spanMessage{m})))
	}
	c.span.End()
}

// messagesIn returns a request's messages in the form of the conventions.
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
	if json.Valid(c.Args) { // a model can write any text
		p.Args = c.Args
	}
	return p
}

// oneMessage returns one message in the form of the conventions.
func oneMessage(role, text string) string {
	return listText([]spanMessage{textMessage(role, text)})
}

// A spanMessage is a message in the form of the conventions.
type spanMessage struct {
	Role  string     `json:"role"`
	Parts []spanPart `json:"parts"`
	// Finish is the reason for the end of a reply.
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

// listText returns messages, or parts of one, as JSON.
func listText[T any](all []T) string {
	text, err := json.Marshal(all)
	if err != nil { // only invalid raw arguments can cause this
		return "[]"
	}
	return string(text)
}
