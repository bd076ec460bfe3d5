package inner

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent/passthrough"
)

// A History is what a request says of the conversation. It never changes.
type History struct {
	body passthrough.Body
	msgs []message
	last int // the number of the last turn
}

type message struct {
	raw  json.RawMessage
	role string
	// chain is a digest of this message and all before it.
	chain string
	// turn is the number of the turn, from 1; begins says that the turn begins with it.
	turn   int
	begins bool
	// print is of an answer: what is the same in the model's reply and in what the client
	// sends back of it.
	print  string
	text   string // of a result
	callID string
	calls  []passthrough.Call
}

// Read reads the messages of a request; false: they are not a list of objects, and there is
// nothing that this package can do for the request.
func Read(b passthrough.Body) (*History, bool) {
	var raws []json.RawMessage
	if json.Unmarshal(b.Get("messages"), &raws) != nil || len(raws) == 0 {
		return nil, false
	}
	h := &History{body: b}
	chain, answered := "", true
	for _, raw := range raws {
		m, ok := readMessage(raw)
		if !ok {
			return nil, false
		}
		m.chain = digest(chain, m.chain)
		chain = m.chain
		switch m.role {
		case "user":
			m.begins = answered
			answered = false
		case "assistant":
			answered = true
		case "tool":
			answered = false // what a user adds to a result, such as its picture, is of the same turn
		}
		if m.begins {
			h.last++
		}
		m.turn = max(h.last, 1)
		h.msgs = append(h.msgs, m)
	}
	h.last = max(h.last, 1)
	return h, true
}

// Root returns a digest of the messages up to the first one of the user: it stays the same
// while the conversation grows.
func (h *History) Root() string {
	for _, m := range h.msgs {
		if m.role == "user" {
			return m.chain
		}
	}
	return h.msgs[0].chain
}

// Turn returns the number of the running turn, from 1. A turn begins with a message of the
// user after an answer.
func (h *History) Turn() int { return h.last }

// end returns the digest of all messages.
func (h *History) end() string { return h.msgs[len(h.msgs)-1].chain }

func readMessage(raw json.RawMessage) (message, bool) {
	all := gjson.ParseBytes(raw) // the list was read: it is JSON
	if !all.IsObject() {
		return message{}, false
	}
	m := message{raw: raw, role: all.Get("role").Str}
	parts := make([]string, 0, 12)
	all.ForEach(func(name, v gjson.Result) bool {
		if restless[name.Str] {
			return true
		}
		parts = append(parts, name.Str)
		switch name.Str {
		case "tool_call_id":
			m.callID = v.Str
		case "tool_calls":
			_ = json.Unmarshal([]byte(v.Raw), &m.calls) // else there are none that can be answered
		case "content":
			m.text = textOf(v)
			parts = append(parts, canonicalContent(v, m.role)...)
			return true
		}
		parts = append(parts, v.Raw)
		return true
	})
	if m.role == "assistant" {
		m.print = fingerprint(m.text, m.calls)
	}
	m.chain = digest(parts...)
	return m, true
}

// textOf returns the text of a content, of a string or of parts.
func textOf(content gjson.Result) string {
	if !content.IsArray() {
		return content.String()
	}
	var texts []string
	content.ForEach(func(_, p gjson.Result) bool {
		if p.Get("type").Str == "text" {
			texts = append(texts, p.Get("text").String())
		}
		return true
	})
	return strings.Join(texts, "\n")
}

// canonicalContent returns a content in a form that is the same for a text and a list of it, and
// in a message of the user with and without the reminders in front, which clients leave out
// later.
func canonicalContent(content gjson.Result, role string) (out []string) {
	add := func(text string) {
		said := text
		if role == "user" {
			said = withoutReminders(text)
		}
		if said != "" || text == "" {
			out = append(out, "text", said)
		}
	}
	if !content.IsArray() {
		add(content.String())
		return out
	}
	content.ForEach(func(_, p gjson.Result) bool {
		if p.Get("type").Str == "text" {
			add(p.Get("text").String())
		} else {
			out = append(out, canonicalPart(p)...)
		}
		return true
	})
	return out
}

// withoutReminders returns a text without the reminders in front of it.
func withoutReminders(text string) string {
	for strings.HasPrefix(text, "<system-reminder>") {
		_, after, ok := strings.Cut(text, "</system-reminder>")
		if !ok {
			break
		}
		text = strings.TrimLeft(after, "\n")
	}
	return text
}

// restless are the members that a client changes in messages that it sends again: marks for
// the server's cache wander to the last message, and thoughts of earlier turns are left out.
var restless = map[string]bool{"cache_control": true, "reasoning": true, "reasoning_content": true, "reasoning_details": true}

// canonicalPart returns a part of a content without restless members.
func canonicalPart(part gjson.Result) (out []string) {
	if !part.IsObject() {
		return []string{part.Raw}
	}
	part.ForEach(func(name, v gjson.Result) bool {
		if !restless[name.Str] {
			out = append(out, name.Str, v.Raw)
		}
		return true
	})
	return out
}

// fingerprint identifies an answer by its calls, or else by its text without white space.
func fingerprint(text string, calls []passthrough.Call) string {
	if len(calls) == 0 {
		return digest("text", strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, text))
	}
	parts := []string{"calls"}
	for _, c := range calls {
		parts = append(parts, c.ID, c.Function.Name)
	}
	return digest(parts...)
}

// digest returns a digest of texts, 32 characters.
func digest(parts ...string) string {
	s := sha256.New()
	for _, p := range parts {
		var n [8]byte
		for i := range n {
			n[i] = byte(len(p) >> (8 * i))
		}
		s.Write(n[:])
		s.Write([]byte(p))
	}
	return base64.RawURLEncoding.EncodeToString(s.Sum(nil)[:24])
}

// callOf returns the call that the result at index i answers.
func (h *History) callOf(i int) (c passthrough.Call) {
	for _, m := range slices.Backward(h.msgs[:i]) {
		for _, c := range m.calls {
			if c.ID == h.msgs[i].callID {
				return c
			}
		}
	}
	return c
}
