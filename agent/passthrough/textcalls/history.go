package textcalls

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// history returns messages in which calls and results are text. What a message becomes
// depends on nothing behind it, but for results that go on.
func history(messages []gjson.Result, l tool.Locale) [][]byte {
	out := make([][]byte, 0, len(messages)+1)
	names := map[string]string{} // of tools, by the ids of calls
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		switch {
		case hasCalls(m):
			for _, c := range m.Get("tool_calls").Array() {
				names[c.Get("id").String()] = callOf(c).Tool
			}
			out = append(out, withCalls(m))
		case isResult(m):
			end := i + 1
			for end < len(messages) && isResult(messages[end]) {
				end++
			}
			parts := results(messages[i:end], names, l)
			i = end - 1
			if end < len(messages) && messages[end].Get("role").String() == "user" {
				i = end
				out = append(out, inFront(parts, messages[end]))
				continue
			}
			out = append(out, set([]byte(`{"role":"user"}`), "content", content(parts)))
		default:
			out = append(out, []byte(m.Raw))
		}
	}
	return out
}

// callOf reads a call of an assistant message. Arguments that are no JSON stay as they are.
func callOf(c gjson.Result) tool.Call {
	f := c.Get("function")
	call := tool.Call{ID: c.Get("id").String(), Tool: f.Get("name").String()}
	switch args := f.Get("arguments"); {
	case c.Get("custom").Exists():
		call.Tool, call.Args = c.Get("custom.name").String(), json.RawMessage(`{"input":`+prompt.Quote(c.Get("custom.input").String())+`}`)
	case args.Type == gjson.String:
		call.Args = json.RawMessage(args.String())
	case args.Exists():
		call.Args = json.RawMessage(args.Raw)
	}
	return call
}

// withCalls writes the calls of an assistant message behind its text.
func withCalls(m gjson.Result) []byte {
	var calls []string
	for _, c := range m.Get("tool_calls").Array() {
		calls = append(calls, prompt.CallText(callOf(c)))
	}
	msg, err := sjson.DeleteBytes([]byte(m.Raw), "tool_calls")
	if err != nil {
		msg = []byte(m.Raw)
	}
	return appendText(msg, "\n", strings.Join(calls, "\n"))
}

// A part is a text, or a part of a content that is none.
type part struct {
	text string
	raw  string // empty: it is a text
}

// results writes results as the agent's loop does. What is no text stays a part.
func results(messages []gjson.Result, names map[string]string, l tool.Locale) []part {
	w := prompt.ResultsIn(l)
	tools := make([]string, len(messages))
	for i, m := range messages {
		tools[i] = names[m.Get("tool_call_id").String()]
		if tools[i] == "" {
			tools[i] = m.Get("name").String()
		}
		tools[i] = inLine(tools[i])
	}
	out := []part{{text: w.Head(tools)}}
	for i, m := range messages {
		body := partsOf(m.Get("content"))
		for j := range body {
			body[j].text = prompt.ClientResultText(body[j].text)
		}
		if n := len(body); n > 0 {
			body[n-1].text = strings.TrimSuffix(body[n-1].text, "\n")
		}
		out = append(out, part{text: w.Open(inLine(m.Get("tool_call_id").String()), tools[i])})
		out = append(append(out, body...), part{text: w.Close()})
	}
	return join(append(out, part{text: w.Tail()}))
}

// inLine returns a name or an id that a client sent as one line, which ends no result and begins
// no call.
func inLine(s string) string {
	return prompt.ClientResultText(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, s))
}

// partsOf reads a content: a text, parts, or any other JSON, which is taken for text.
func partsOf(c gjson.Result) []part {
	switch {
	case c.Type == gjson.Null:
		return nil
	case c.Type == gjson.String:
		return []part{{text: c.String()}}
	case !c.IsArray():
		return []part{{text: c.Raw}}
	}
	var out []part
	for _, p := range c.Array() {
		if t := p.Get("text"); p.Get("type").String() == "text" && t.Type == gjson.String {
			out = append(out, part{text: t.String()})
		} else {
			out = append(out, part{raw: p.Raw})
		}
	}
	return out
}

// join puts neighbouring texts together.
func join(parts []part) []part {
	var out []part
	for _, p := range parts {
		if n := len(out); n > 0 && p.raw == "" && out[n-1].raw == "" {
			out[n-1].text += p.text
			continue
		}
		out = append(out, p)
	}
	return out
}

// content writes parts as the content of a message: a string if they are one text.
func content(parts []part) []byte {
	if len(parts) == 1 && parts[0].raw == "" {
		return []byte(prompt.Quote(parts[0].text))
	}
	raws := make([][]byte, len(parts))
	for i, p := range parts {
		if raws[i] = []byte(p.raw); p.raw == "" {
			raws[i] = textPart(p.text)
		}
	}
	return list(raws)
}

func textPart(s string) []byte { return []byte(`{"type":"text","text":` + prompt.Quote(s) + `}`) }

// inFront puts results in front of a user message. Its own parts stay as they are.
func inFront(parts []part, m gjson.Result) []byte {
	own := m.Get("content")
	if own.Type == gjson.String && len(parts) == 1 {
		return set([]byte(m.Raw), "content", content([]part{{text: parts[0].text + "\n\n" + own.String()}}))
	}
	if own.Type == gjson.String {
		return set([]byte(m.Raw), "content", content(append(parts, part{raw: string(textPart(own.String()))})))
	}
	for _, p := range own.Array() {
		parts = append(parts, part{raw: p.Raw})
	}
	return set([]byte(m.Raw), "content", content(parts))
}

// appendText adds a text to a message: behind its text and a separator, or as a part of
// its own.
func appendText(msg []byte, between, text string) []byte {
	c := gjson.GetBytes(msg, "content")
	switch own := c.String(); {
	case c.IsArray():
		raws := make([][]byte, 0, 8)
		for _, p := range c.Array() {
			raws = append(raws, []byte(p.Raw))
		}
		return set(msg, "content", list(append(raws, textPart(text))))
	case c.Type == gjson.String && own != "":
		// The client's text stays as it wrote it, escapes and all.
		return set(msg, "content", []byte(strings.TrimSuffix(c.Raw, `"`)+strings.TrimPrefix(prompt.Quote(between+text), `"`)))
	default:
		return set(msg, "content", []byte(prompt.Quote(text)))
	}
}

// leading returns how many messages at the front are the client's system prompt.
func leading(messages []gjson.Result) int {
	n := 0
	for n < len(messages) && isSystem(messages[n]) {
		n++
	}
	return n
}

func isSystem(m gjson.Result) bool {
	role := m.Get("role").String()
	return role == "system" || role == "developer"
}

// describe adds the description of the tools behind the client's system prompt.
func describe(sent [][]byte, description string) [][]byte {
	n := 0
	for n < len(sent) && isSystem(gjson.ParseBytes(sent[n])) {
		n++
	}
	if n == 0 {
		front := set([]byte(`{"role":"system"}`), "content", []byte(prompt.Quote(description)))
		return append([][]byte{front}, sent...)
	}
	sent[n-1] = appendText(sent[n-1], "\n\n", description)
	return sent
}

// say adds a sentence at the end of the last message if that is the user's, else as a
// message of its own.
func say(sent [][]byte, text string) [][]byte {
	if n := len(sent); n > 0 && gjson.GetBytes(sent[n-1], "role").String() == "user" {
		sent[n-1] = appendText(sent[n-1], "\n\n", text)
		return sent
	}
	return append(sent, message("user", text))
}

func message(role, text string) []byte {
	return []byte(`{"role":"` + role + `","content":` + prompt.Quote(text) + `}`)
}

// texts returns the texts of a content.
func texts(c gjson.Result) []string {
	var out []string
	for _, p := range partsOf(c) {
		if p.raw == "" {
			out = append(out, p.text)
		}
	}
	return out
}

func textIn(c gjson.Result) string { return strings.Join(texts(c), "\n") }

// list writes a JSON array.
func list(raws [][]byte) []byte {
	return append(append([]byte("["), bytes.Join(raws, []byte(","))...), ']')
}

// set puts a member into a JSON object: in its place, or at the end. path is of package
// sjson, and value JSON.
func set(object []byte, path string, value []byte) []byte {
	out, err := sjson.SetRawBytes(object, path, value)
	if err != nil { // neither an object nor a path that is known
		return object
	}
	return out
}
