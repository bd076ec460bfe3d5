package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/sdk/tool"
)

// A translation is a request in OpenAI's form on its way into Anthropic's.
type translation struct {
	m     *Model
	about shown

	options       chatform.Members // all but what is below, by Anthropic's names
	system, tools []*chatform.Object
	messages      []passedMessage
	thoughts      map[*chatform.Object]bool // blocks that are sent to a model that thinks only
	notes         chatform.Notes
	marked        bool            // the client marks what is to be cached
	fault         *chatform.Fault // the first
}

// A passedMessage is a message as Anthropic takes it.
type passedMessage struct {
	role    string
	blocks  []*chatform.Object
	results int // of the blocks the first so many are results of tools
}

func (t *translation) read(r *chatform.Request) {
	for _, d := range r.Tools {
		t.tools = append(t.tools, t.tool(d))
	}
	t.options, t.thoughts = chatform.Members{}, map[*chatform.Object]bool{}
	t.setOptions(r)
	for _, c := range r.Messages {
		t.message(c)
	}
	if t.notes.Left("", r.More.Names()...); !t.marked {
		t.mark()
	}
}

func (t *translation) refuse(f *chatform.Fault) {
	if t.fault == nil {
		t.fault = f
	}
}

// isPlain reports whether Anthropic takes a character in the name of a tool and in the id of a
// call.
func isPlain(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// plain reports whether Anthropic takes a text as the name of a tool or the id of a call.
func plain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !isPlain(c) })
}

// maxToolName is the longest name of a tool that Anthropic takes, in characters.
const maxToolName = 128

func (t *translation) tool(d chatform.Tool) *chatform.Object {
	if !plain(d.Name) || len(d.Name) > maxToolName {
		t.refuse(&chatform.Fault{Text: tool.Textf("the name of the tool %q cannot be handed on: Anthropic takes letters, digits, _ and -, at most %d", d.Name, maxToolName)})
	}
	o := new(chatform.Object).Set("name", d.Name)
	if d.Description != nil {
		o.Raw("description", d.Description)
	}
	if d.Parameters == nil {
		d.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	o.Raw("input_schema", d.Parameters)
	if string(d.Strict) == "true" && t.about.Capabilities.Schemas.Supported {
		o.Raw("strict", d.Strict)
	} else if string(d.Strict) == "true" {
		t.notes.Left("tools[].", "strict")
	}
	for _, name := range []string{"allowed_callers", "defer_loading", "eager_input_streaming", "input_examples"} { // Anthropic's own
		if v := d.More.Take(name); v != nil {
			o.Raw(name, v)
		}
	}
	t.cache(o, d.More)
	t.notes.Left("tools[].", d.More.Names()...)
	return o
}

// cache puts the client's own mark of the cache at a block.
func (t *translation) cache(o *chatform.Object, more chatform.Members) {
	if v := more.Take("cache_control"); v != nil {
		o.Raw("cache_control", v)
		t.marked = true
	}
}

// add adds blocks to the last message, or begins another one. Results of tools come first in
// theirs, because Anthropic wants them right after the calls.
func (t *translation) add(role string, result bool, blocks ...*chatform.Object) {
	if len(blocks) == 0 {
		return
	}
	if last := len(t.messages) - 1; last < 0 || t.messages[last].role != role {
		t.messages = append(t.messages, passedMessage{role: role})
	}
	m := &t.messages[len(t.messages)-1]
	if !result {
		m.blocks = append(m.blocks, blocks...)
		return
	}
	if m.results < len(m.blocks) {
		t.notes.Add(tool.Textf("a tool's result was put in front of what stood between it and its call"))
	}
	rest := append(blocks, m.blocks[m.results:]...)
	m.blocks = append(m.blocks[:m.results:m.results], rest...)
	m.results += len(blocks)
}

func (t *translation) message(c chatform.Message) {
	blocks := t.thoughtOf(c)
	for _, p := range c.Parts {
		if b := t.block(p); b != nil {
			blocks = append(blocks, b)
		}
	}
	if c.Role == "tool" {
		t.add("user", true, t.result(c, blocks))
		t.notes.Left("messages[].", c.More.Names()...)
		return
	}
	for _, call := range c.Calls {
		blocks = append(blocks, t.call(call))
	}
	if len(blocks) == 0 {
		t.notes.Add(tool.Textf("an empty message was left out, because Anthropic refuses it"))
	} else {
		t.cache(blocks[len(blocks)-1], c.More)
	}
	t.notes.Left("messages[].", c.More.Names()...)
	switch {
	case c.Role != "system":
		t.add(c.Role, false, blocks...)
	case len(t.messages) == 0:
		t.system = append(t.system, blocks...)
	case len(blocks) > 0:
		t.notes.Add(tool.Textf("a system message after the first messages was sent as a text of the user, at its place"))
		t.add("user", false, blocks...)
	}
}

// thoughtOf returns the thought of a message as the model signed it. Anthropic takes no other,
// and none from a client that lets the model not think.
func (t *translation) thoughtOf(c chatform.Message) (blocks []*chatform.Object) {
	switch {
	case c.Reasoning == "":
	case c.Role != "assistant" || !t.thinks():
		t.notes.Left("messages[].", "reasoning_content")
	default:
		if blocks = t.m.thoughts.of(c.Reasoning); blocks == nil {
			t.notes.Add(tool.Textf("reasoning_content was left out where it is not known as this model's own: Anthropic takes thoughts with their signature only"))
		}
	}
	for _, b := range blocks {
		t.thoughts[b] = true
	}
	return blocks
}

// content returns the blocks of a message as they are sent.
func (t *translation) content(m passedMessage) []*chatform.Object {
	if t.thinks() {
		return m.blocks
	}
	return slices.DeleteFunc(slices.Clone(m.blocks), func(b *chatform.Object) bool { return t.thoughts[b] })
}

func (t *translation) call(c chatform.Call) *chatform.Object {
	args, well := c.Object()
	if !well {
		t.notes.Add(tool.Textf("arguments that are no JSON object were sent as the argument %s", chatform.Malformed))
	}
	o := new(chatform.Object).Set("type", "tool_use").Set("id", t.id(c.ID)).Set("name", t.id(c.Name)).Raw("input", args)
	t.cache(o, c.More)
	t.notes.Left("messages[].tool_calls[].", c.More.Names()...)
	return o
}

// id returns an id or a name that Anthropic takes, always the same for the same.
func (t *translation) id(s string) string {
	if plain(s) {
		return s
	}
	t.notes.Add(tool.Textf("ids and names of earlier calls got _ for characters that Anthropic refuses"))
	sum := sha256.Sum256([]byte(s))
	return strings.Map(func(c rune) rune {
		if isPlain(c) {
			return c
		}
		return '_'
	}, s) + "_" + hex.EncodeToString(sum[:3])
}

func (t *translation) result(c chatform.Message, blocks []*chatform.Object) *chatform.Object {
	o := new(chatform.Object).Set("type", "tool_result").Set("tool_use_id", t.id(c.CallID))
	if len(blocks) > 0 {
		o.Raw("content", chatform.List(blocks))
	}
	if v := c.More.Take("is_error"); v != nil { // Anthropic's own
		o.Raw("is_error", v)
	}
	t.cache(o, c.More)
	return o
}

// block returns a part as Anthropic takes it; nil: it says nothing.
func (t *translation) block(p chatform.Part) *chatform.Object {
	o := &chatform.Object{}
	switch p.Kind {
	case chatform.Text:
		if strings.TrimSpace(p.Text) == "" {
			if p.Text != "" {
				t.notes.Add(tool.Textf("a text of white space alone was left out, because Anthropic refuses it"))
			}
			return nil
		}
		o.Set("type", "text").Set("text", p.Text)
	case chatform.Image:
		o.Set("type", "image").Raw("source", source(p))
	case chatform.File:
		if o = document(p); o == nil {
			t.refuse(p.Unknown())
			return nil
		}
	case "image", "document", "search_result", "thinking", "redacted_thinking": // Anthropic's own
		return t.own(p)
	default:
		t.refuse(p.Unknown())
		return nil
	}
	t.cache(o, p.More)
	t.notes.Left("messages[].content[].", p.More.Names()...)
	return o
}

// own returns a block that is Anthropic's own, as it is.
func (t *translation) own(p chatform.Part) *chatform.Object {
	t.marked = t.marked || p.More["cache_control"] != nil
	return chatform.Keep(p.Raw)
}

func source(p chatform.Part) json.RawMessage {
	o := &chatform.Object{}
	if p.URL != "" {
		return o.Set("type", "url").Set("url", p.URL).Bytes()
	}
	return o.Set("type", "base64").Set("media_type", p.Media).Set("data", p.Data).Bytes()
}

// document returns the block of a file; nil: Anthropic does not take it.
func document(p chatform.Part) *chatform.Object {
	o := new(chatform.Object).Set("type", "document")
	plain, err := base64.StdEncoding.DecodeString(p.Data)
	switch {
	case p.Data == "":
		return nil
	case p.Media == "application/pdf":
		o.Raw("source", source(p))
	case p.Media == "text/plain" && err == nil:
		o.Raw("source", new(chatform.Object).Set("type", "text").Set("media_type", p.Media).Set("data", string(plain)).Bytes())
	default:
		return nil
	}
	if p.Name != "" {
		o.Set("title", p.Name)
	}
	return o
}

// mark puts the breakpoints for the prompt cache where Generate has them, because OpenAI's
// protocol, which has none, caches by itself: after the system prompt or the tools, and after
// the last two messages of the user.
func (t *translation) mark() {
	put := func(blocks []*chatform.Object) {
		blocks[len(blocks)-1].Raw("cache_control", json.RawMessage(`{"type":"ephemeral"}`))
	}
	switch {
	case len(t.system) > 0:
		put(t.system)
	case len(t.tools) > 0:
		put(t.tools)
	}
	marks := 2
	for i := len(t.messages) - 1; i >= 0 && marks > 0; i-- {
		if t.messages[i].role == "user" {
			put(t.messages[i].blocks)
			marks--
		}
	}
}
