package inner

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

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
	var v struct {
		Role    string             `json:"role"`
		Content json.RawMessage    `json:"content"`
		CallID  string             `json:"tool_call_id"`
		Calls   []passthrough.Call `json:"tool_calls"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return message{}, false
	}
	m := message{raw: raw, role: v.Role, callID: v.CallID, calls: v.Calls}
	if m.text = textOf(v.Content); m.role == "assistant" {
		m.print = fingerprint(m.text, m.calls)
	}
	m.chain = digest(string(canonical(raw)))
	return m, true
}

// textOf returns the text of a content, of a string or of parts.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Type, Text string }
	_ = json.Unmarshal(content, &parts) // else it has no text
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// restless are the members that a client changes in messages that it sends again: marks for
// the server's cache wander to the last message, and thoughts of earlier turns are left out.
var restless = []string{"cache_control", "reasoning", "reasoning_content", "reasoning_details"}

// canonical returns a message in a form that is the same whenever the client means the same
// message.
func canonical(raw json.RawMessage) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	for _, name := range restless {
		delete(m, name)
	}
	for name, v := range m {
		if name == "content" {
			v = canonicalContent(v)
		}
		var b bytes.Buffer
		if json.Compact(&b, v) == nil {
			m[name] = b.Bytes()
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		return raw
	}
	return out
}

// canonicalContent returns a list of texts as a text, and other parts without restless members.
func canonicalContent(content json.RawMessage) json.RawMessage {
	var parts []map[string]json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return content
	}
	texts := true
	for _, p := range parts {
		delete(p, "cache_control")
		texts = texts && string(p["type"]) == `"text"`
	}
	var out []byte
	if texts {
		out, _ = json.Marshal(textOf(content)) // a string always marshals
	} else {
		out, _ = json.Marshal(parts) // JSON that was read
	}
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
