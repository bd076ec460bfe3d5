package textcalls

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

// An ask is a client's request that has to be rewritten.
type ask struct {
	request  passthrough.Request
	body     passthrough.Body
	messages []gjson.Result
	tools    []tool.Spec
	others   []string // types of tools that are no functions
	choice   string   // none, required, auto; empty: the client did not say
	named    string   // the tool that has to be called
	allowed  []string // the tools that may be called; nil: all
	oneCall  bool
	many     bool     // several choices are asked for
	sent     [][]byte // the messages as they are sent
}

// read reads a request; false: it is to be passed on as it is.
func read(r passthrough.Request) (*ask, bool) {
	body, err := passthrough.ReadBody(r.Body)
	messages := gjson.ParseBytes(body.Get("messages"))
	if err != nil || !messages.IsArray() { // the server says what is wrong
		return nil, false
	}
	a := &ask{request: r, body: body, messages: messages.Array()}
	for _, t := range gjson.ParseBytes(body.Get("tools")).Array() {
		a.addTool(t)
	}
	if len(a.tools) == 0 && len(a.others) == 0 && !slices.ContainsFunc(a.messages, hasCallsOrResult) {
		return nil, false
	}
	a.oneCall = string(body.Get("parallel_tool_calls")) == "false"
	a.many = gjson.ParseBytes(body.Get("n")).Int() > 1
	a.choose(gjson.ParseBytes(body.Get("tool_choice")))
	return a, true
}

// choose reads tool_choice.
func (a *ask) choose(c gjson.Result) {
	switch {
	case !c.IsObject():
		a.choice = c.String()
	case c.Get("type").String() == "allowed_tools":
		a.choice, a.allowed = c.Get("allowed_tools.mode").String(), []string{}
		for _, t := range c.Get("allowed_tools.tools").Array() {
			a.allowed = append(a.allowed, t.Get("function.name").String())
		}
	default:
		a.choice, a.named = "required", c.Get("function.name").String()
		a.allowed = []string{a.named}
	}
}

func (a *ask) addTool(t gjson.Result) {
	if kind := t.Get("type").String(); kind != "function" && kind != "" {
		a.others = append(a.others, kind)
		return
	}
	f := t.Get("function")
	s := tool.Spec{Name: f.Get("name").String(), Description: f.Get("description").String()}
	if p := f.Get("parameters"); p.IsObject() {
		s.Params = json.RawMessage(p.Raw)
	}
	a.tools = append(a.tools, s)
}

func hasCallsOrResult(m gjson.Result) bool { return isResult(m) || hasCalls(m) }

func isResult(m gjson.Result) bool { return m.Get("role").String() == "tool" }

func hasCalls(m gjson.Result) bool {
	return m.Get("role").String() == "assistant" && len(m.Get("tool_calls").Array()) > 0
}

// prepare writes the messages.
func (m *model) prepare(a *ask) error {
	l := a.request.Locale
	if a.named != "" && !prompt.HasTool(a.tools, a.named) {
		return agent.NewModelError(agent.ModelBadRequest, m.options.Name, tool.Textf("tool_choice names %s, and the request has no such tool", a.named), tool.Text{})
	}
	for _, kind := range a.others {
		a.request.Change(tool.Textf("a tool of the type %s was left out: this model is told of tools in text, which takes functions alone", kind))
	}
	a.sent = history(a.messages, l)
	if len(a.tools) == 0 {
		return nil
	}
	description := prompt.ClientTools(a.tools, a.oneCall, l)
	if err := m.fits(a, description); err != nil {
		return err
	}
	a.sent = describe(a.sent, description)
	switch w := prompt.For(l); {
	case a.choice == "none":
		a.sent = say(a.sent, w.MustNotCall)
	case a.named != "":
		a.sent = say(a.sent, w.MustCallOne+a.named)
	case a.choice == "required":
		a.sent = say(a.sent, w.MustCall)
	}
	return nil
}

// leastAnswer is the room, in tokens, without which asking is pointless.
const leastAnswer = 64

// fits checks that the window holds the description and the client's system prompt, without
// which nothing can be asked.
func (m *model) fits(a *ask, description string) error {
	window := a.request.Window
	if window <= 0 {
		window = m.options.Window
	}
	if window <= 0 {
		return nil
	}
	var system strings.Builder
	for _, msg := range a.messages[:leading(a.messages)] {
		system.WriteString(textIn(msg.Get("content")))
	}
	tools, own := m.options.Estimator.Tokens(description), m.options.Estimator.Tokens(system.String())
	if tools+own+leastAnswer <= window {
		return nil
	}
	return agent.NewModelError(agent.ModelWindow, m.options.Name,
		tool.Textf("the descriptions of the %d tools need about %d tokens, the system prompt about %d, and the window has %d: this model calls tools by text, so that all of it is part of the prompt", len(a.tools), tools, own, window),
		tool.Textf("offer fewer tools, or use a model with a larger window"))
}

// with returns the request with messages in place of the client's.
func (a *ask) with(messages [][]byte) json.RawMessage {
	return a.body.Without("tools").Without("tool_choice").Without("parallel_tool_calls").With("messages", list(messages)).Bytes()
}

// recogniser returns what reads the replies, and the tools that may be called.
func (m *model) recogniser(a *ask) (*parse.Set, []tool.Spec) {
	callable := a.tools
	switch {
	case a.choice == "none":
		callable = nil
	case a.allowed != nil:
		callable = slices.DeleteFunc(slices.Clone(a.tools), func(s tool.Spec) bool { return !slices.Contains(a.allowed, s.Name) })
	}
	return m.options.Cache.kits.Of(callable).Recogniser(), callable
}

// maxAsked is how long a text may be, in bytes, to be read for what it asks.
const maxAsked = 4000

// asksForCall reports whether the person asked how a call is written.
func (a *ask) asksForCall() bool {
	for _, m := range slices.Backward(a.messages) {
		if m.Get("role").String() != "user" {
			continue
		}
		for _, text := range texts(m.Get("content")) {
			if len(text) <= maxAsked && parse.AsksForCall(text) {
				return true
			}
		}
		return false
	}
	return false
}
