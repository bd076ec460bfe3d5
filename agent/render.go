package agent

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// chatMessages renders stored messages for a model. It depends on nothing but
// its arguments, so that what was sent once is sent again byte for byte. declared
// reports whether a provider's own calling knows a tool; other tools were called with
// call_tool. nil: it knows all.
// Neighbours of one role are joined, because some providers demand that roles
// alternate.
func chatMessages(msgs []Message, mode Mode, declared func(name string) bool) []ChatMessage {
	out := make([]ChatMessage, 0, len(msgs))
	for _, m := range msgs {
		switch {
		case m.Role == RoleAssistant && mode == ModeNative:
			out = join(out, nativeReply(m, declared))
		case m.Role == RoleAssistant:
			out = join(out, ChatMessage{Role: "assistant", Text: withCalls(m)})
		case m.Role == RoleResults && mode == ModeNative:
			for _, e := range m.Results {
				name := e.Tool
				if declared != nil && !declared(name) {
					name = prompt.CallTool
				}
				out = append(out, ChatMessage{Role: "tool", Text: e.cited(), CallID: e.CallID, Tool: name})
			}
		case m.Role == RoleResults:
			out = join(out, ChatMessage{Role: "user", Text: resultsText(m)})
		default:
			out = join(out, ChatMessage{Role: "user", Text: m.Text})
		}
	}
	return out
}

// join appends m, or adds it to the message before if both are of one role and
// hold text alone.
func join(out []ChatMessage, m ChatMessage) []ChatMessage {
	if m.Text == "" && len(m.Calls) == 0 {
		return out
	}
	last := len(out) - 1
	if last >= 0 && out[last].Role == m.Role && len(out[last].Calls) == 0 && len(m.Calls) == 0 {
		out[last].Text += "\n\n" + m.Text
		return out
	}
	return append(out, m)
}

// nativeReply is a reply for the provider's own tool calling. What was thought
// goes with calls alone, and only with those the provider itself made.
func nativeReply(m Message, declared func(name string) bool) ChatMessage {
	c := ChatMessage{Role: "assistant", Text: m.Text, Calls: m.Calls}
	if declared != nil {
		c.Calls = slices.Clone(m.Calls)
		for i, call := range c.Calls {
			if !declared(call.Tool) {
				c.Calls[i] = prompt.Wrap(call)
			}
		}
	}
	if len(m.Calls) > 0 && m.Native {
		c.Reasoning, c.Sealed = m.Reasoning, m.Sealed
	}
	return c
}

// withCalls writes a reply as the model writes it in prompt mode.
func withCalls(m Message) string {
	parts := make([]string, 0, 1+len(m.Calls))
	if m.Text != "" {
		parts = append(parts, m.Text)
	}
	for _, c := range m.Calls {
		parts = append(parts, prompt.CallText(c))
	}
	return strings.Join(parts, "\n")
}

// resultsText writes one round's results as one message.
func resultsText(m Message) string {
	w := prompt.ResultsIn(m.Locale)
	names := make([]string, len(m.Results))
	for i, e := range m.Results {
		names[i] = e.Tool
	}
	var b strings.Builder
	b.WriteString(w.Head(names))
	for _, e := range m.Results {
		b.WriteString(w.Open(e.CallID, e.Tool) + strings.TrimSuffix(e.cited(), "\n") + w.Close())
	}
	// What folded was answered from, or newer results are below.
	if slices.ContainsFunc(m.Results, func(e ResultEntry) bool { return e.Folded }) {
		return strings.TrimSuffix(b.String(), "\n\n")
	}
	return b.String() + w.Tail()
}

// cited returns the text of a result with the line about its sources.
func (e ResultEntry) cited() string {
	if e.Cite == "" || e.Folded {
		return e.Text
	}
	return strings.TrimSuffix(e.Text, "\n") + "\n" + e.Cite
}

// note is text of the agent's own to the model.
func note(text string, turn int, l tool.Locale) Message {
	return Message{Role: RoleNote, Text: text, Turn: turn, Locale: l}
}
