package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// conversation is the messages of a request: the history, and what to answer now.
type conversation struct {
	system  string
	history []agent.Message // up to the last message of the assistant
	spoken  []turns.Said    // the same as the client sees it
	// The request ends with results of the client's tools, a question, or both.
	answers  []turns.Answer
	question string
	before   string // questions in front of it
}

// A messageReader reads the messages of a request, one after the other.
type messageReader struct {
	now  func() time.Time
	out  conversation
	turn int
	open []tool.Call // calls of the message before that have no result yet
	// Both belong to the next message of the assistant. The last ones are what to
	// answer.
	answers   []turns.Answer
	questions []string
}

// readMessages reads the messages of a request. The error names the first wrong one.
func readMessages(messages []AskedMessage, now func() time.Time) (conversation, error) {
	r := messageReader{now: now}
	for i, m := range messages {
		if err := r.read(fmt.Sprintf("messages[%d]", i), m); err != nil {
			return conversation{}, err
		}
	}
	if err := r.unanswered(len(r.answers) > 0 || len(r.questions) > 0); err != nil {
		return conversation{}, err
	}
	if len(r.answers) == 0 && len(r.questions) == 0 {
		return conversation{}, api.Paramf("messages", api.CodeBadBody, "end the messages with the user's question, or with results of your tools", "there is nothing to answer after the last message")
	}
	r.out.answers = r.answers
	if n := len(r.questions); n > 0 {
		r.out.before, r.out.question = joined(r.questions[:n-1]), r.questions[n-1]
	}
	return r.out, nil
}

func (r *messageReader) read(at string, m AskedMessage) error {
	text, err := m.text(at)
	if err != nil {
		return err
	}
	if m.Role != "tool" && m.Role != "system" && m.Role != "developer" {
		if err := r.unanswered(true); err != nil {
			return err
		}
	}
	switch m.Role {
	case "system", "developer":
		r.out.system = strings.TrimSpace(r.out.system + "\n\n" + text)
	case "user":
		r.questions = append(r.questions, text)
	case "assistant":
		return r.assistant(at, m, text)
	case "tool":
		return r.result(at, m, text)
	default:
		return api.Paramf(at+".role", api.CodeBadBody, "use system, developer, user, assistant and tool", "a message has the role %q", api.Clip(m.Role, 20))
	}
	return nil
}

// result reads a message that answers a call.
func (r *messageReader) result(at string, m AskedMessage, text string) error {
	a := turns.Answer{CallID: m.CallID, Text: text}
	i := slices.IndexFunc(r.open, func(c tool.Call) bool { return c.ID == m.CallID })
	switch {
	case m.CallID == "" || len(r.questions) > 0:
		return api.Paramf(at+".tool_call_id", api.CodeBadBody, "send messages of the role tool after the assistant's tool_calls, each with the id of a call", "this result belongs to no call")
	case i >= 0:
		a.Tool, a.Args = r.open[i].Tool, r.open[i].Args
		r.open = slices.Delete(r.open, i, i+1)
	case len(r.out.history) > 0: // else the stored conversation has the calls
		return api.Paramf(at+".tool_call_id", api.CodeBadBody, "name one of the tool_calls of the message before", "no call with the id %q precedes this result", api.Clip(m.CallID, 80))
	}
	r.answers = append(r.answers, a)
	return nil
}

// unanswered rejects calls without results, if more messages follow them, as providers
// do.
func (r *messageReader) unanswered(more bool) error {
	if len(r.open) == 0 || !more {
		return nil
	}
	ids := make([]string, len(r.open))
	for i, c := range r.open {
		ids[i] = c.ID
	}
	return api.Paramf("messages", api.CodeBadBody, "send a message of the role tool with its tool_call_id for every call, directly after the calls",
		"these calls have no result: %s", api.Clip(strings.Join(ids, ", "), 200))
}

// assistant reads a reply, which ends the messages that it replies to.
func (r *messageReader) assistant(at string, m AskedMessage, text string) error {
	if len(m.Function) > 0 && string(m.Function) != "null" {
		return api.Paramf(at+".function_call", api.CodeUnsupported, "send tool_calls instead", "function_call is an older form of tool_calls, which weir does not read")
	}
	r.settle()
	msg := agent.Message{Role: agent.RoleAssistant, Text: text, Turn: r.turn, At: r.now()}
	s := turns.Said{Role: agent.RoleAssistant, Text: text}
	for i, c := range m.Calls {
		if c.Type != "function" && c.Type != "" || c.ID == "" || c.Function.Name == "" {
			return api.Paramf(fmt.Sprintf("%s.tool_calls[%d]", at, i), api.CodeBadBody, "send them back as they came", "this is not a call of a function with an id and a name")
		}
		args := json.RawMessage(c.Function.Arguments)
		if !isObject(args) {
			args = json.RawMessage("{}")
		}
		msg.Calls = append(msg.Calls, tool.Call{ID: c.ID, Tool: c.Function.Name, Args: args, Turn: r.turn})
		s.IDs = append(s.IDs, c.ID)
	}
	r.open = slices.Clone(msg.Calls)
	r.out.history = append(r.out.history, msg)
	r.out.spoken = append(r.out.spoken, s)
	return nil
}

func joined(questions []string) string { return strings.Join(questions, "\n\n") }

// settle adds the messages since the last reply to the history.
func (r *messageReader) settle() {
	if len(r.answers) > 0 {
		msg := agent.Message{Role: agent.RoleResults, Turn: r.turn, At: r.now()}
		for _, a := range r.answers {
			msg.Results = append(msg.Results, agent.NewResultEntry(a.Result(), tool.En))
			r.out.spoken = append(r.out.spoken, turns.Said{Role: agent.RoleResults, Text: a.Text, IDs: []string{a.CallID}})
		}
		r.out.history = append(r.out.history, msg)
	}
	if len(r.questions) > 0 { // consecutive questions are one
		q := joined(r.questions)
		r.turn++
		r.out.history = append(r.out.history, agent.Message{Role: agent.RoleUser, Text: q, Turn: r.turn, At: r.now()})
		r.out.spoken = append(r.out.spoken, turns.Said{Role: agent.RoleUser, Text: q})
	}
	r.answers, r.questions = nil, nil
}
