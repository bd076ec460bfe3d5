package adapter

import (
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/sdk/tool"
)

// A translation is a request in OpenAI's form on its way into an agent.Request.
type translation struct {
	to    agent.Request
	names map[string]string // of the tools, by the ids of their calls
	notes chatform.Notes
	fault *chatform.Fault // the first
}

func (t *translation) read(r *chatform.Request) *chatform.Fault {
	t.names = map[string]string{}
	for _, m := range r.Messages {
		t.message(m)
	}
	for _, d := range r.Tools {
		t.tool(d)
	}
	t.to.OneCall = r.OneCall
	switch r.Choice.Mode {
	case "none":
		t.to.NoCalls = true
	case "required", "tool":
		t.to.Choice = agent.Choice{Must: true, Tool: r.Choice.Tool}
	}
	t.options(r.More)
	t.notes.Left("", r.More.Names()...)
	return t.fault
}

func (t *translation) refuse(f *chatform.Fault) {
	if t.fault == nil {
		t.fault = f
	}
}

func (t *translation) message(m chatform.Message) {
	t.notes.Left("messages[].", m.More.Names()...)
	out := agent.ChatMessage{Role: m.Role, Text: t.text(m.Parts)}
	switch m.Role {
	case "system":
		if len(t.to.Messages) == 0 {
			t.to.System = paragraphs(t.to.System, out.Text)
			return
		}
		t.notes.Add(tool.Textf("a system message inside the conversation was sent as the user's, because this model takes one in front alone"))
		out.Role = "user"
	case "assistant":
		for _, c := range m.Calls {
			args, well := c.Object()
			if !well {
				t.notes.Add(tool.Textf("arguments that are no JSON object were sent as the argument %s", chatform.Malformed))
			}
			t.notes.Left("messages[].tool_calls[].", c.More.Names()...)
			t.names[c.ID] = c.Name
			out.Calls = append(out.Calls, tool.Call{ID: c.ID, Tool: c.Name, Args: args})
		}
		if len(m.Calls) > 0 {
			out.Reasoning = m.Reasoning
		}
	case "tool":
		out.CallID, out.Tool = m.CallID, t.names[m.CallID]
	}
	if n := len(t.to.Messages) - 1; n >= 0 && out.Role != "tool" && t.to.Messages[n].Role == out.Role && len(t.to.Messages[n].Calls) == 0 && len(out.Calls) == 0 {
		t.to.Messages[n].Text = paragraphs(t.to.Messages[n].Text, out.Text) // roles alternate
		return
	}
	t.to.Messages = append(t.to.Messages, out)
}

func paragraphs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// text returns the texts of a content, which may hold nothing else.
func (t *translation) text(parts []chatform.Part) string {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Kind != chatform.Text {
			t.refuse(p.Unknown())
		}
		t.notes.Left("messages[].content[].", p.More.Names()...)
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

func (t *translation) tool(d chatform.Tool) {
	s := tool.Spec{Name: d.Name, Params: d.Parameters}
	t.into(d.Description, "tools[].description", &s.Description)
	if string(d.Strict) == "true" {
		t.notes.Left("tools[].", "strict")
	}
	t.notes.Left("tools[].", d.More.Names()...)
	t.to.Tools = append(t.to.Tools, s)
}

// into reads a value, if there is one.
func (t *translation) into(raw json.RawMessage, name string, v any) {
	if raw != nil && json.Unmarshal(raw, v) != nil {
		t.refuse(&chatform.Fault{Text: tool.Textf("%s has a value of another kind than it should", name)})
	}
}

// options reads how the reply is drawn, bounded and formed.
func (t *translation) options(more chatform.Members) {
	s := &t.to.Sampling
	for _, o := range []struct {
		name string
		v    any
	}{
		{"temperature", &s.Temperature}, {"top_p", &s.TopP}, {"frequency_penalty", &s.FrequencyPenalty}, {"presence_penalty", &s.PresencePenalty},
		{"seed", &s.Seed}, {"logit_bias", &s.Bias}, {"reasoning_effort", &s.Effort},
		{"max_tokens", &t.to.MaxTokens}, {"max_completion_tokens", &t.to.MaxTokens},
	} {
		t.into(more.Take(o.name), o.name, o.v)
	}
	if stop := more.Take("stop"); len(stop) > 0 && stop[0] == '"' {
		t.to.Stop = make([]string, 1)
		t.into(stop, "stop", &t.to.Stop[0])
	} else {
		t.into(stop, "stop", &t.to.Stop)
	}
	t.format(more.Take("response_format"))
}

func (t *translation) format(raw json.RawMessage) {
	var f struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"json_schema"`
	}
	t.into(raw, "response_format", &f)
	switch f.Type {
	case "json_object":
		t.to.Format = &agent.Format{}
	case "json_schema":
		t.to.Format = &agent.Format{Name: f.Schema.Name, Schema: f.Schema.Schema, Strict: f.Schema.Strict}
	}
}
