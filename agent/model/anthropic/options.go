package anthropic

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/sdk/tool"
)

// known are the members that Anthropic knows by the name that the client has for them.
var known = []string{
	"temperature", "top_p", "top_k", "thinking", "stop_sequences", "container", "inference_geo", "speed", "cache_control", "context_management", "mcp_servers",
}

// setOptions translates what is beside the messages and the tools, and takes what it
// translates out of the request. What the client left out comes from the configuration.
func (t *translation) setOptions(r *chatform.Request) {
	for _, name := range known {
		if v := r.More.Take(name); v != nil {
			t.options[name] = v
		}
	}
	t.marked = t.marked || t.options["cache_control"] != nil
	if v := r.More.Take("stop"); v != nil && t.options["stop_sequences"] == nil {
		if v[0] == '"' {
			v = slices.Concat(json.RawMessage("["), v, json.RawMessage("]"))
		}
		t.options["stop_sequences"] = v
	}
	t.setMetadata(r.More)
	t.setOutput(r.More)
	t.setChoice(r)
	bound := cmp.Or(string(r.More.Take("max_completion_tokens")), string(r.More["max_tokens"]))
	r.More.Take("max_tokens")
	if bound != "" {
		t.options["max_tokens"] = json.RawMessage(bound)
	}
	for _, name := range slices.Sorted(maps.Keys(t.m.cfg.Extra)) {
		if v, err := json.Marshal(t.m.cfg.Extra[name]); err == nil && t.options[name] == nil {
			t.options[name] = v
		}
	}
	t.bound()
	t.temper()
}

// bound sees to the bound of the reply, which Anthropic wants, and takes up to the model's own.
func (t *translation) bound() {
	var n int
	most := t.about.MaxTokens
	switch raw := t.options["max_tokens"]; {
	case raw == nil:
		t.options["max_tokens"] = number(cmp.Or(most, blindMaxTokens))
	case json.Unmarshal(raw, &n) == nil && most > 0 && n > most:
		t.options["max_tokens"] = number(most)
		t.notes.Add(tool.Textf("max_tokens was lowered from %d to %d, which is the most that the model writes", n, most))
	}
}

func number(n int) json.RawMessage {
	raw, _ := json.Marshal(n) // a number always marshals
	return raw
}

// thinks reports whether the model is asked to think.
func (t *translation) thinks() bool {
	var mode struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(t.options["thinking"], &mode) == nil && mode.Type != "" && mode.Type != "disabled"
}

// temper keeps the temperature to what Anthropic takes.
func (t *translation) temper() {
	if t.thinks() {
		for _, name := range []string{"temperature", "top_p", "top_k"} {
			if t.options.Take(name) != nil {
				t.notes.Add(tool.Textf("%s was left out, because Anthropic does not take it from a model that thinks", name))
			}
		}
	}
	var n float64
	if json.Unmarshal(t.options["temperature"], &n) == nil && n > 1 {
		t.options["temperature"] = number(1)
		t.notes.Add(tool.Textf("temperature was lowered from %v to 1, which is the most that Anthropic takes", n))
	}
}

func (t *translation) setMetadata(more chatform.Members) {
	own, tier := more.Take("metadata"), string(more["service_tier"])
	m := chatform.Members{}
	if own != nil && json.Unmarshal(own, &m) != nil {
		m = chatform.Members{}
		t.notes.Left("", "metadata")
	}
	id := m.Take("user_id")
	t.notes.Left("metadata.", m.Names()...)
	if user := more["user"]; id == nil && user != nil { // what OpenAI calls it
		id = more.Take("user")
	}
	if id != nil {
		t.options["metadata"] = new(chatform.Object).Raw("user_id", id).Bytes()
	}
	if tier == `"auto"` || tier == `"standard_only"` {
		t.options["service_tier"] = more.Take("service_tier")
	}
}

// setOutput translates how much the model is to think, and what form its answer is to have. The
// client's own output_config has precedence.
func (t *translation) setOutput(more chatform.Members) {
	out := chatform.Members{}
	if own := more.Take("output_config"); own != nil && json.Unmarshal(own, &out) != nil {
		t.options["output_config"] = own // the server says what is wrong with it
		return
	}
	if effort := more["reasoning_effort"]; effort != nil && out["effort"] == nil && t.about.Capabilities.Effort.Supported {
		if more.Take("reasoning_effort"); slices.Contains([]string{`"minimal"`, `"none"`}, string(effort)) {
			t.notes.Add(tool.Textf("reasoning_effort was raised to low, which is the least that Anthropic takes"))
			effort = json.RawMessage(`"low"`)
		}
		out["effort"] = effort
	}
	var format struct {
		Type   string `json:"type"`
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	switch raw := more["response_format"]; {
	case raw == nil || json.Unmarshal(raw, &format) != nil:
	case format.Type == "text":
		more.Take("response_format")
	case format.Type == "json_schema" && format.Schema.Schema != nil && out["format"] == nil && t.about.Capabilities.Schemas.Supported:
		more.Take("response_format")
		out["format"] = new(chatform.Object).Set("type", "json_schema").Raw("schema", format.Schema.Schema).Bytes()
	}
	if len(out) == 0 {
		return
	}
	o := &chatform.Object{}
	for _, name := range out.Names() {
		o.Raw(name, out[name])
	}
	t.options["output_config"] = o.Bytes()
}

func (t *translation) setChoice(r *chatform.Request) {
	c, o := r.Choice, &chatform.Object{}
	if len(t.tools) == 0 {
		if c.Mode != "" && c.Mode != "none" && c.Mode != "auto" {
			t.notes.Left("", "tool_choice")
		}
		return
	}
	switch c.Mode {
	case "":
		if !r.OneCall {
			return
		}
		o.Set("type", "auto")
	case "required":
		o.Set("type", "any")
	case "tool":
		o.Set("type", "tool").Set("name", c.Tool)
	default:
		o.Set("type", c.Mode)
	}
	if r.OneCall && c.Mode != "none" {
		o.Set("disable_parallel_tool_use", true)
	}
	t.options["tool_choice"] = o.Bytes()
}
