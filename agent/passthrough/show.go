package passthrough

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// Text returns the text of a message. What is no text is a note in its place: "[image/png,
// 1234 bytes]".
func Text(message json.RawMessage) string { return strings.Join(Texts(message), "\n\n") }

// Texts returns the parts of a message's text.
func Texts(message json.RawMessage) []string {
	content, text, refusal := memberOf(message, "content"), "", ""
	if raw := memberOf(message, "refusal"); raw != nil {
		_ = json.Unmarshal(raw, &refusal) // null, or a text
	}
	var out []string
	if parts, ok := elements(content); ok {
		for _, p := range parts {
			out = append(out, part(p))
		}
	} else if content != nil && json.Unmarshal(content, &text) == nil && text != "" {
		out = append(out, text)
	}
	if refusal != "" {
		out = append(out, refusal)
	}
	return out
}

func part(raw json.RawMessage) string {
	var p struct {
		Type    string  `json:"type"`
		Text    *string `json:"text"`
		Refusal *string `json:"refusal"`
		Image   struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return fmt.Sprintf("[%d bytes]", len(raw))
	}
	kind, data, ok := strings.Cut(strings.TrimPrefix(p.Image.URL, "data:"), ";base64,")
	switch {
	case p.Text != nil:
		return *p.Text
	case p.Refusal != nil:
		return *p.Refusal
	case ok && strings.HasPrefix(p.Image.URL, "data:"):
		return fmt.Sprintf("[%s, %d bytes]", kind, base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "="))))
	case p.Image.URL != "":
		return "[" + p.Image.URL + "]"
	}
	return fmt.Sprintf("[%s, %d bytes]", cmp.Or(p.Type, "?"), len(raw))
}

// StoredRole returns the role of Stored.
func (m Message) StoredRole() agent.Role {
	switch m.Role {
	case "assistant":
		return agent.RoleAssistant
	case "tool", "function":
		return agent.RoleResults
	case "system", "developer":
		return agent.RoleNote
	}
	return agent.RoleUser
}

// Stored returns a message in the form in which weir stores its own. toolOf returns the name of
// the tool that a call, by its id, is of.
func (m Message) Stored(toolOf func(id string) string) agent.Message {
	text := Text(m.Raw)
	var more struct {
		CallID    string `json:"tool_call_id"`
		Reasoning string `json:"reasoning_content"`
		Thinking  string `json:"reasoning"`
	}
	_ = json.Unmarshal(m.Raw, &more) // what cannot be read is not shown
	switch role := m.StoredRole(); role {
	case agent.RoleAssistant:
		out := agent.Message{Role: role, Text: text, Reasoning: cmp.Or(more.Reasoning, more.Thinking), Native: true}
		for _, c := range m.Calls {
			out.Calls = append(out.Calls, tool.Call{ID: c.ID, Tool: c.Function.Name, Args: argsOf(c.Function.Arguments)})
		}
		return out
	case agent.RoleResults:
		return agent.Message{Role: role, Results: []agent.ResultEntry{{CallID: more.CallID, Tool: toolOf(more.CallID), Text: text, Chars: utf8.RuneCountInString(text)}}}
	default:
		return agent.Message{Role: role, Text: text}
	}
}

// argsOf returns arguments as JSON: a string of them if they are not JSON.
func argsOf(args string) json.RawMessage {
	if strings.TrimSpace(args) == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	quoted, _ := json.Marshal(args) // a string always marshals
	return quoted
}
