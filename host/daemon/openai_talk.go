package daemon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A talk is what the messages of a request say: what came before, and what is
// to be answered now.
type talk struct {
	system  string
	history []agent.Message // up to the last message of the assistant
	spoken  []said          // the same as the client saw it
	// The request ends with results of the client's tools, with a question, or
	// with both.
	answers  []answerTo
	question string
}

// An answerTo is what a tool of the client's gave to a call.
type answerTo struct {
	callID, tool string // the tool is empty where the request does not name it
	args         json.RawMessage
	text         string
}

// result is the answer as it was given, whole.
func (a answerTo) result() tool.Result {
	text := limit.Normalise([]byte(a.text))
	chars, lines := limit.Count(text)
	return tool.Result{CallID: a.callID, Tool: a.tool, Shown: tool.View{Text: text, TotalChars: chars, TotalLines: lines}}.WithWhole(text)
}

// A talkReader goes through the messages of a request.
type talkReader struct {
	d    *Daemon
	out  talk
	turn int
	open []tool.Call // calls of the message before that are not answered yet
	// Both wait for the next message of the assistant; the last ones are what is
	// to be answered.
	answers   []answerTo
	questions []string
}

// readTalk understands the messages of a request, or names the first that
// cannot be meant.
func (d *Daemon) readTalk(messages []AskedMessage) (talk, error) {
	r := talkReader{d: d}
	for i, m := range messages {
		if err := r.read(fmt.Sprintf("messages[%d]", i), m); err != nil {
			return talk{}, err
		}
	}
	if err := r.unanswered(len(r.answers) > 0 || len(r.questions) > 0); err != nil {
		return talk{}, err
	}
	if len(r.answers) == 0 && len(r.questions) == 0 {
		return talk{}, api.Paramf("messages", api.CodeBadBody, "end the messages with the user's question, or with results of your tools", "there is nothing to answer behind the last message")
	}
	r.out.answers, r.out.question = r.answers, joined(r.questions)
	return r.out, nil
}

func (r *talkReader) read(at string, m AskedMessage) error {
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

// result takes a message that answers a call.
func (r *talkReader) result(at string, m AskedMessage, text string) error {
	a := answerTo{callID: m.CallID, text: text}
	i := slices.IndexFunc(r.open, func(c tool.Call) bool { return c.ID == m.CallID })
	switch {
	case m.CallID == "" || len(r.questions) > 0:
		return api.Paramf(at+".tool_call_id", api.CodeBadBody, "a message of the role tool stands behind the assistant's tool_calls and names one of them", "this result belongs to no call")
	case i >= 0:
		a.tool, a.args = r.open[i].Tool, r.open[i].Args
		r.open = slices.Delete(r.open, i, i+1)
	case len(r.out.history) > 0: // else the conversation is stored here, and the client knows its id
		return api.Paramf(at+".tool_call_id", api.CodeBadBody, "name one of the tool_calls of the message before", "no call with the id %q stands in front of this result", api.Clip(m.CallID, 80))
	}
	r.answers = append(r.answers, a)
	return nil
}

// unanswered refuses what stands behind calls without results, as providers do.
func (r *talkReader) unanswered(more bool) error {
	if len(r.open) == 0 || !more {
		return nil
	}
	ids := make([]string, len(r.open))
	for i, c := range r.open {
		ids[i] = c.ID
	}
	return api.Paramf("messages", api.CodeBadBody, "every call needs a message of the role tool with its tool_call_id, directly behind it",
		"these calls have no result: %s", api.Clip(strings.Join(ids, ", "), 200))
}

// assistant takes a reply, and with it what it replied to.
func (r *talkReader) assistant(at string, m AskedMessage, text string) error {
	if len(m.Function) > 0 && string(m.Function) != "null" {
		return api.Paramf(at+".function_call", api.CodeUnsupported, "send tool_calls instead", "function_call is an older form of tool_calls, which weir does not read")
	}
	r.settle()
	msg := agent.Message{Role: agent.RoleAssistant, Text: text, Turn: r.turn, At: r.d.now()}
	s := said{role: agent.RoleAssistant, text: text}
	for i, c := range m.Calls {
		if c.Type != "function" && c.Type != "" || c.ID == "" || c.Function.Name == "" {
			return api.Paramf(fmt.Sprintf("%s.tool_calls[%d]", at, i), api.CodeBadBody, "send them back as they came", "this is not a call of a function with an id and a name")
		}
		args := json.RawMessage(c.Function.Arguments)
		if !isObject(args) {
			args = json.RawMessage("{}")
		}
		msg.Calls = append(msg.Calls, tool.Call{ID: c.ID, Tool: c.Function.Name, Args: args, Turn: r.turn})
		s.ids = append(s.ids, c.ID)
	}
	r.open = slices.Clone(msg.Calls)
	r.out.history = append(r.out.history, msg)
	r.out.spoken = append(r.out.spoken, s)
	return nil
}

func joined(questions []string) string { return strings.Join(questions, "\n\n") }

// settle makes history of what was said since the last reply.
func (r *talkReader) settle() {
	if len(r.answers) > 0 {
		msg := agent.Message{Role: agent.RoleResults, Turn: r.turn, At: r.d.now()}
		for _, a := range r.answers {
			msg.Results = append(msg.Results, agent.NewResultEntry(a.result(), tool.En))
			r.out.spoken = append(r.out.spoken, said{agent.RoleResults, a.text, []string{a.callID}})
		}
		r.out.history = append(r.out.history, msg)
	}
	if len(r.questions) > 0 { // those that nothing stands between are one
		q := joined(r.questions)
		r.turn++
		r.out.history = append(r.out.history, agent.Message{Role: agent.RoleUser, Text: q, Turn: r.turn, At: r.d.now()})
		r.out.spoken = append(r.out.spoken, said{role: agent.RoleUser, text: q})
	}
	r.answers, r.questions = nil, nil
}
