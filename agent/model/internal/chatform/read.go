package chatform

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A Request is a chat completion request, read. What is null counts as left out.
type Request struct {
	Messages []Message
	Tools    []Tool
	Choice   Choice
	// OneCall: the reply may make one call at most.
	OneCall bool
	// Stream: the answer is wanted in chunks, and with Usage the last of them has the usage.
	Stream, Usage bool
	// More has every other member by its name.
	More Members
}

// A Choice says whether the reply has to call a tool. Mode is auto, none, required, or tool,
// which is the one named Tool. The zero value: the client did not say.
type Choice struct{ Mode, Tool string }

// A Tool is one of the client's tools.
type Tool struct {
	Name string
	// Description, Parameters and Strict are as the client sent them; nil: it sent none.
	Description, Parameters, Strict json.RawMessage
	// More has every other member, of the function and beside it.
	More Members
}

// A Message is one message.
type Message struct {
	Role  string // system, user, assistant or tool; developer is read as system
	Parts []Part // a content that is a text is one part
	// Calls are those of an assistant message, CallID is the call that a tool message answers.
	Calls  []Call
	CallID string
	// Reasoning is what the model thought, as the client sends it back.
	Reasoning string
	More      Members
}

// A Call is a call of an earlier reply. Arguments is what the model wrote, which may be no JSON.
type Call struct {
	ID, Name, Arguments string
	More                Members
}

// Malformed is the argument that holds the arguments of a call that are no JSON object.
const Malformed = "_malformed"

// Object returns the arguments as the object that a protocol wants: as they are where they are
// one, else all of them as the argument Malformed, of which well is false.
func (c Call) Object() (args json.RawMessage, well bool) {
	var object Members
	raw := strings.TrimSpace(c.Arguments)
	switch {
	case raw == "":
		return json.RawMessage("{}"), true
	case json.Unmarshal([]byte(raw), &object) == nil && object != nil:
		return json.RawMessage(raw), true
	}
	return new(Object).Set(Malformed, c.Arguments).Bytes(), false
}

// Members are the members of a JSON object that are not null.
type Members map[string]json.RawMessage

// Take returns a member and removes it; nil: there is none.
func (m Members) Take(name string) json.RawMessage {
	v := m[name]
	delete(m, name)
	return v
}

// Names returns the names of the members, sorted.
func (m Members) Names() []string { return slices.Sorted(maps.Keys(m)) }

// A Fault is what a request has that cannot be handed on. It is the client's.
type Fault struct{ Text tool.Text }

// Error implements error.
func (f *Fault) Error() string { return f.Text.String() }

// A reader reads a body up to its end, and keeps the first fault.
type reader struct{ fault *Fault }

// Read reads the body of a request. It refuses what no protocol but OpenAI's has a place for.
func Read(body json.RawMessage) (*Request, *Fault) {
	d := &reader{}
	top := d.members(body, "body")
	r := &Request{More: top}
	top.Take("model")
	for _, m := range list(d, top, "messages") {
		r.Messages = append(r.Messages, d.message(d.members(m, "messages")))
	}
	for _, t := range list(d, top, "tools") {
		r.Tools = append(r.Tools, d.tool(d.members(t, "tools")))
	}
	r.Choice = d.choice(top)
	d.options(r)
	return r, d.fault
}

func (d *reader) refuse(t tool.Text) {
	if d.fault == nil {
		d.fault = &Fault{t}
	}
}

// into reads a member and removes it. It leaves v as it is where there is none.
func (d *reader) into(m Members, name string, v any) {
	if raw := m.Take(name); raw != nil && json.Unmarshal(raw, v) != nil {
		d.refuse(tool.Textf("%s has a value of another kind than it should", name))
	}
}

func (d *reader) text(m Members, name string) (s string) {
	d.into(m, name, &s)
	return s
}

func list(d *reader, m Members, name string) (out []json.RawMessage) {
	d.into(m, name, &out)
	return out
}

// members reads an object. It never returns nil.
func (d *reader) members(raw json.RawMessage, name string) Members {
	m := Members{}
	if len(raw) > 0 && (json.Unmarshal(raw, &m) != nil || m == nil) {
		d.refuse(tool.Textf("%s has a value of another kind than it should", name))
		m = Members{}
	}
	maps.DeleteFunc(m, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return m
}

// options reads how the answer is wanted.
func (d *reader) options(r *Request) {
	var o struct {
		Usage bool `json:"include_usage"`
	}
	parallel := true
	d.into(r.More, "stream", &r.Stream)
	d.into(r.More, "stream_options", &o)
	d.into(r.More, "parallel_tool_calls", &parallel)
	r.Usage, r.OneCall = r.Stream && o.Usage, !parallel
	for _, o := range []struct{ name, plain string }{ // plain asks for nothing
		{"n", "1"}, {"logprobs", "false"}, {"top_logprobs", "0"}, {"modalities", `["text"]`}, {"audio", ""}, {"functions", ""}, {"function_call", ""},
	} {
		if v := r.More.Take(o.name); v != nil && string(v) != o.plain {
			d.refuse(nothingLike(o.name))
		}
	}
}

func nothingLike(name string) tool.Text {
	return tool.Textf("%s cannot be handed on: the server of this model has nothing like it", name)
}

func (d *reader) tool(m Members) Tool {
	d.function(m)
	f := d.members(m.Take("function"), "tools[].function")
	t := Tool{Name: d.text(f, "name"), Description: f.Take("description"), Parameters: f.Take("parameters"), Strict: f.Take("strict"), More: f}
	maps.Copy(t.More, m)
	return t
}

// function refuses tools and calls that are no functions.
func (d *reader) function(m Members) {
	kind := d.text(m, "type")
	if kind != "" && kind != "function" || m["function"] == nil {
		d.refuse(tool.Textf("a tool of the type %q cannot be handed on: the server of this model takes functions only", kind))
	}
}

func (d *reader) choice(top Members) Choice {
	raw := top.Take("tool_choice")
	if raw == nil {
		return Choice{}
	}
	var mode string
	if json.Unmarshal(raw, &mode) != nil {
		m := d.members(raw, "tool_choice")
		f := d.members(m.Take("function"), "tool_choice")
		switch mode = d.text(m, "type"); mode {
		case "function":
			return Choice{"tool", d.text(f, "name")}
		case "tool": // this and any are Anthropic's
			return Choice{"tool", d.text(m, "name")}
		case "any":
			mode = "required"
		}
	}
	if !slices.Contains([]string{"auto", "none", "required"}, mode) {
		d.refuse(nothingLike("tool_choice " + mode))
	}
	return Choice{Mode: mode}
}

func (d *reader) message(m Members) Message {
	out := Message{Role: d.text(m, "role"), CallID: d.text(m, "tool_call_id"), Reasoning: d.text(m, "reasoning_content"), More: m}
	switch out.Role {
	case "developer":
		out.Role = "system"
	case "system", "user", "assistant", "tool":
	default:
		d.refuse(nothingLike("role " + out.Role))
	}
	if s := d.text(m, "reasoning"); out.Reasoning == "" { // some clients send both names
		out.Reasoning = s
	}
	for _, name := range []string{"function_call", "audio"} {
		if m[name] != nil {
			d.refuse(nothingLike(name))
		}
	}
	out.Parts = d.content(m)
	if s := d.text(m, "refusal"); s != "" { // what the model said in place of a content
		out.Parts = append(out.Parts, Part{Kind: Text, Text: s})
	}
	for _, c := range list(d, m, "tool_calls") {
		out.Calls = append(out.Calls, d.call(d.members(c, "tool_calls")))
	}
	return out
}

func (d *reader) content(m Members) (out []Part) {
	if raw := m["content"]; len(raw) > 0 && raw[0] == '"' {
		return []Part{{Kind: Text, Text: d.text(m, "content")}}
	}
	for _, p := range list(d, m, "content") {
		out = append(out, d.part(p))
	}
	return out
}

func (d *reader) call(m Members) Call {
	d.function(m)
	m.Take("index")
	f := d.members(m.Take("function"), "tool_calls[].function")
	c := Call{ID: d.text(m, "id"), Name: d.text(f, "name"), More: f}
	if raw := f["arguments"]; len(raw) > 0 && raw[0] != '"' { // some clients send the object itself
		c.Arguments = string(f.Take("arguments"))
	} else {
		c.Arguments = d.text(f, "arguments")
	}
	maps.Copy(c.More, m)
	return c
}
