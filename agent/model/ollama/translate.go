package ollama

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/weirhost/weir/agent/internal/tokens"
	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/agent/model/internal/gauge"
	"github.com/weirhost/weir/sdk/tool"
)

// A translation is a request in OpenAI's form on its way into Ollama's.
type translation struct {
	m      *Model
	about  *shown // nil: the server does not say
	window int

	messages, tools []*chatform.Object
	options, beside chatform.Members // beside: the members of the request that are no options
	size            gauge.Size
	names           map[string]string // of the tools, by the ids of their calls
	held            []string          // pictures of results that follow as a message of the user
	notes           chatform.Notes
	fault           *chatform.Fault // the first
}

func (t *translation) read(r *chatform.Request) {
	t.names, t.options, t.beside = map[string]string{}, chatform.Members{}, chatform.Members{}
	for _, c := range r.Messages {
		t.message(c)
	}
	t.flush()
	t.setTools(r)
	t.setOptions(r)
	t.notes.Left("", r.More.Names()...)
}

func (t *translation) message(c chatform.Message) {
	runs := t.runs(c.Parts)
	if c.Role == "tool" {
		runs = []run{t.result(runs)}
	} else {
		t.flush()
	}
	for i, run := range runs {
		o := new(chatform.Object).Set("role", c.Role).Set("content", run.text)
		t.size.Text(run.text)
		t.size.Tokens += tokens.PerMessage
		if len(run.pictures) > 0 {
			o.Set("images", run.pictures)
			t.size.Pictures += len(run.pictures)
		}
		if i == 0 && c.Reasoning != "" {
			o.Set("thinking", c.Reasoning)
			t.size.Text(c.Reasoning)
		}
		if i == 0 && c.CallID != "" {
			if name := t.names[c.CallID]; name != "" {
				o.Set("tool_name", name)
			}
			o.Set("tool_call_id", c.CallID)
		}
		if i == len(runs)-1 && len(c.Calls) > 0 {
			list := make([]*chatform.Object, len(c.Calls))
			for k, call := range c.Calls {
				list[k] = t.call(call)
			}
			o.Raw("tool_calls", chatform.List(list))
		}
		t.messages = append(t.messages, o)
	}
	t.notes.Left("messages[].", c.More.Names()...)
}

// result returns the text of a tool's result, and holds its pictures.
func (t *translation) result(runs []run) (out run) {
	for _, r := range runs {
		if out.said && r.said {
			out.text += "\n"
		}
		out.text, out.said = out.text+r.text, out.said || r.said
		t.held = append(t.held, r.pictures...)
	}
	return out
}

func (t *translation) call(c chatform.Call) *chatform.Object {
	args, well := c.Object()
	if !well {
		t.notes.Add(tool.Textf("arguments that are no JSON object were sent as the argument %s", chatform.Malformed))
	}
	t.names[c.ID] = c.Name
	t.size.Text(c.Name + string(args))
	t.notes.Left("messages[].tool_calls[].", c.More.Names()...)
	o := &chatform.Object{}
	if c.ID != "" {
		o.Set("id", c.ID)
	}
	return o.Raw("function", new(chatform.Object).Set("name", c.Name).Raw("arguments", args).Bytes())
}

// A run is what one message of Ollama's can have: pictures, and a text after them.
type run struct {
	pictures []string
	text     string
	said     bool // there is a text, which may be empty
}

// runs divides a content, so that pictures and texts stay in their order. There is at least one.
func (t *translation) runs(parts []chatform.Part) []run {
	out := []run{{}}
	for _, p := range parts {
		last := &out[len(out)-1]
		switch {
		case p.Kind == chatform.Text && last.said:
			last.text += "\n" + p.Text
		case p.Kind == chatform.Text:
			last.text, last.said = p.Text, true
		case p.Kind == chatform.Image && p.Data != "" && last.said:
			out = append(out, run{pictures: []string{p.Data}})
		case p.Kind == chatform.Image && p.Data != "":
			last.pictures = append(last.pictures, p.Data)
		case p.Kind == chatform.Image:
			t.refuse(&chatform.Fault{Text: tool.Textf("a picture cannot be handed on by its address, because Ollama loads none: send it as a data: address")})
		default:
			t.refuse(p.Unknown())
		}
		t.notes.Left("messages[].content[].", p.More.Names()...)
	}
	return out
}

func (t *translation) refuse(f *chatform.Fault) {
	if t.fault == nil {
		t.fault = f
	}
}

// flush sends the pictures of the results before, as clients themselves do for protocols whose
// results are texts.
func (t *translation) flush() {
	if len(t.held) > 0 {
		t.notes.Add(tool.Textf("the pictures of a tool's result were sent as a message of the user after it"))
		t.size.Pictures += len(t.held)
		t.messages = append(t.messages, new(chatform.Object).Set("role", "user").Set("content", "").Set("images", t.held))
		t.held = nil
	}
}

func (t *translation) setTools(r *chatform.Request) {
	if r.Choice.Mode == "none" && len(r.Tools) > 0 { // there is no other way to forbid calls
		t.notes.Add(tool.Textf("the tools were left out, because tool_choice is none and Ollama has nothing like it"))
		return
	}
	if r.Choice.Mode == "required" || r.Choice.Mode == "tool" {
		t.notes.Left("", "tool_choice")
	}
	if r.OneCall {
		t.notes.Left("", "parallel_tool_calls")
	}
	for _, d := range r.Tools {
		t.tools = append(t.tools, t.tool(d))
	}
}

func (t *translation) tool(d chatform.Tool) *chatform.Object {
	if d.Name == "" {
		t.refuse(&chatform.Fault{Text: tool.Textf("a tool without a name cannot be handed on")})
	}
	f := new(chatform.Object).Set("name", d.Name)
	if d.Description != nil {
		f.Raw("description", d.Description)
	}
	if d.Parameters == nil {
		d.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	f.Raw("parameters", d.Parameters)
	if string(d.Strict) == "true" {
		t.notes.Left("tools[].", "strict")
	}
	t.notes.Left("tools[].", d.More.Names()...)
	t.size.Text(d.Name + string(d.Description) + string(d.Parameters))
	return new(chatform.Object).Set("type", "function").Raw("function", f.Bytes())
}

// options are Ollama's names of what the client has at the top of its request.
var options = [][2]string{
	{"temperature", "temperature"}, {"top_p", "top_p"}, {"top_k", "top_k"}, {"min_p", "min_p"}, {"typical_p", "typical_p"}, {"seed", "seed"},
	{"frequency_penalty", "frequency_penalty"}, {"presence_penalty", "presence_penalty"}, {"repeat_last_n", "repeat_last_n"},
	{"repetition_penalty", "repeat_penalty"}, {"repeat_penalty", "repeat_penalty"}, {"stop", "stop"},
	{"max_tokens", "num_predict"}, {"max_completion_tokens", "num_predict"},
}

// setOptions translates what is beside the messages and the tools, and takes what it
// translates out of the request. What the client left out comes from the configuration.
func (t *translation) setOptions(r *chatform.Request) {
	if own := r.More["options"]; own != nil && json.Unmarshal(own, &t.options) == nil { // Ollama's own form
		r.More.Take("options")
		if t.options.Take("num_ctx") != nil {
			t.notes.Add(tool.Textf("options.num_ctx was left out: window in [models.%s] sets it", t.m.cfg.Name))
		}
	}
	for _, o := range options {
		if v := r.More.Take(o[0]); v != nil {
			t.options[o[1]] = v
		}
	}
	if v := t.options["stop"]; len(v) > 0 && v[0] == '"' {
		t.options["stop"] = slices.Concat(json.RawMessage("["), v, json.RawMessage("]"))
	}
	for _, name := range slices.Sorted(maps.Keys(t.m.cfg.Extra)) {
		if v, err := json.Marshal(t.m.cfg.Extra[name]); err == nil && t.options[name] == nil {
			t.options[name] = v
		}
	}
	t.options["num_ctx"], _ = json.Marshal(t.window) // a number always marshals
	t.setThink(r.More)
	t.setFormat(r)
	if t.beside["keep_alive"] = r.More.Take("keep_alive"); t.beside["keep_alive"] == nil && t.m.cfg.KeepAlive != "" {
		t.beside["keep_alive"], _ = json.Marshal(t.m.cfg.KeepAlive) // as a text
	}
	maps.DeleteFunc(t.beside, func(_ string, v json.RawMessage) bool { return v == nil })
}

// setThink translates how long the model is to think. Most models think or do not; GPT-OSS has
// three levels.
func (t *translation) setThink(more chatform.Members) {
	effort := string(more["reasoning_effort"])
	if own := more.Take("think"); own != nil {
		t.beside["think"] = own
		return
	}
	if t.m.cfg.Think != nil {
		t.beside["think"], _ = json.Marshal(*t.m.cfg.Think)
	}
	if effort == "" || t.about == nil || !slices.Contains(t.about.Capabilities, "thinking") {
		return
	}
	more.Take("reasoning_effort")
	levels := string(t.about.Info["general.architecture"]) == `"gptoss"`
	switch {
	case levels && slices.Contains([]string{`"low"`, `"medium"`, `"high"`}, effort):
		t.beside["think"] = json.RawMessage(effort)
		return
	case levels && (effort == `"none"` || effort == `"minimal"`):
		t.beside["think"] = json.RawMessage(`"low"`)
	case levels:
		t.beside["think"] = json.RawMessage(`"high"`)
	case effort == `"none"`:
		t.beside["think"] = json.RawMessage("false")
		return
	default:
		t.beside["think"] = json.RawMessage("true")
	}
	t.notes.Add(tool.Textf("reasoning_effort %s was sent as think %s, which is what the model knows", effort, string(t.beside["think"])))
}

// setFormat translates the form that the answer is to have.
func (t *translation) setFormat(r *chatform.Request) {
	if own := r.More.Take("format"); own != nil {
		t.beside["format"] = own
		return
	}
	var format struct {
		Type   string `json:"type"`
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	raw := r.More["response_format"]
	if raw == nil || json.Unmarshal(raw, &format) != nil {
		return
	}
	switch {
	case format.Type == "text":
	case len(t.tools) > 0:
		t.notes.Add(tool.Textf("response_format was left out, because with it Ollama lets the model call no tools"))
	case format.Type == "json_object":
		t.beside["format"] = json.RawMessage(`"json"`)
	case format.Type == "json_schema" && format.Schema.Schema != nil:
		t.beside["format"] = format.Schema.Schema
	default:
		return
	}
	r.More.Take("response_format")
}
