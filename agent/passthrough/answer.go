package passthrough

import (
	"encoding/json"
	"strings"
)

// An Answer puts together what the chunks of one answer say, for those who count or keep it.
// The zero value is ready. It is not safe for concurrent use.
type Answer struct {
	content, refusal, reasoning strings.Builder
	calls                       []Call
}

// A Call is a call of one of the client's tools, as the protocol writes it.
type Call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// A Function is the name of a tool, and its arguments as the model wrote them.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// piece is what a chunk or a whole answer says.
type piece struct {
	Content   string `json:"content"`
	Refusal   string `json:"refusal"`
	Reasoning string `json:"reasoning_content"`
	Thinking  string `json:"reasoning"`
	Calls     []struct {
		Index *int `json:"index"`
		Call
	} `json:"tool_calls"`
}

// Add adds a chunk. Of several choices the first counts.
func (a *Answer) Add(data json.RawMessage) {
	var c struct {
		Choices []struct {
			Index   int    `json:"index"`
			Delta   *piece `json:"delta"`
			Message *piece `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal(data, &c) != nil {
		return
	}
	for _, ch := range c.Choices {
		for _, p := range []*piece{ch.Delta, ch.Message} {
			if p != nil && ch.Index == 0 {
				a.add(p)
			}
		}
	}
}

func (a *Answer) add(p *piece) {
	a.content.WriteString(p.Content)
	a.refusal.WriteString(p.Refusal)
	if p.Reasoning != "" {
		a.reasoning.WriteString(p.Reasoning)
	} else {
		a.reasoning.WriteString(p.Thinking)
	}
	for i, c := range p.Calls {
		at := len(a.calls) // a call that comes whole
		if c.Index != nil {
			at = *c.Index
		} else if p.Calls[i].ID == "" && at > 0 {
			at--
		}
		if at < 0 || at > len(a.calls) {
			at = len(a.calls)
		}
		if at == len(a.calls) {
			a.calls = append(a.calls, Call{Type: "function"})
		}
		to := &a.calls[at]
		if c.ID != "" {
			to.ID = c.ID
		}
		if to.Function.Name == "" {
			to.Function.Name = c.Function.Name
		}
		to.Function.Arguments += c.Function.Arguments
	}
}

// Text returns what the answer says to a person.
func (a *Answer) Text() string { return a.content.String() + a.refusal.String() }

// Reasoning returns what the model thought.
func (a *Answer) Reasoning() string { return a.reasoning.String() }

// Calls returns the calls. They must not be changed.
func (a *Answer) Calls() []Call { return a.calls }

// Message returns the answer as a message of the assistant.
func (a *Answer) Message() json.RawMessage {
	m := struct {
		Role      string  `json:"role"`
		Content   *string `json:"content"`
		Reasoning string  `json:"reasoning_content,omitempty"`
		Calls     []Call  `json:"tool_calls,omitempty"`
	}{Role: "assistant", Reasoning: a.Reasoning(), Calls: a.calls}
	if text := a.Text(); text != "" || len(a.calls) == 0 {
		m.Content = &text
	}
	out, _ := json.Marshal(m) // strings always marshal
	return out
}
