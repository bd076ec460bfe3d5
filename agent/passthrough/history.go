package passthrough

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// A History is what a request says of the conversation: the system prompt, the tools, and the
// messages after the system prompt, with digests by which they are found again.
type History struct {
	// System is the text of the messages of the role system or developer in front of all
	// others, Tools the list of tools as it was sent.
	System string
	Tools  json.RawMessage
	// SystemDigest and ToolsDigest are empty if there are none; Setting is a digest of both.
	SystemDigest, ToolsDigest, Setting string
	Messages                           []Message
}

// A Message is one message of a request.
type Message struct {
	Role string
	// Raw is the message as it was sent.
	Raw json.RawMessage
	// Digest is the same for what is the same message to a person, so that what a server has
	// answered and what the client sends back of it are one: it is of the text and calls of an
	// answer, and of the parts of any other message without what clients add and later leave out
	// again: text in <system-reminder>, marks of a cache.
	Digest string
	// Chain is a digest of this message and all before it.
	Chain string
	// Calls are those of an answer. They must not be changed.
	Calls []Call
}

// History reads the messages of a request; false: they are not a list of objects.
func (b Body) History() (h History, ok bool) {
	raws, ok := elements(b.Get("messages"))
	if !ok {
		return h, false
	}
	system := sha256.New()
	chain := ""
	for _, raw := range raws {
		m, ok := readMessage(raw)
		if !ok {
			return h, false
		}
		if (m.Role == "system" || m.Role == "developer") && len(h.Messages) == 0 {
			system.Write(m.Raw)
			h.System += Text(m.Raw) + "\n\n"
			continue
		}
		chain = digest([]byte(chain), []byte(m.Digest))
		m.Chain = chain
		h.Messages = append(h.Messages, m)
	}
	if h.System != "" {
		h.System = strings.TrimSuffix(h.System, "\n\n")
		h.SystemDigest = encode(system.Sum(nil))
	}
	if b.Has("tools") {
		h.Tools = b.Get("tools")
		h.ToolsDigest = digest(h.Tools)
	}
	h.Setting = digest([]byte(h.SystemDigest), []byte(h.ToolsDigest))
	return h, true
}

// Then returns the digest of the messages up to an answer that follows the last one.
func (h History) Then(answer Message) string {
	chain := ""
	if n := len(h.Messages); n > 0 {
		chain = h.Messages[n-1].Chain
	}
	return digest([]byte(chain), []byte(answer.Digest))
}

// Sent returns the answer as a client sends it back.
func (a *Answer) Sent() Message {
	raw := a.Message()
	return Message{Role: "assistant", Raw: raw, Digest: answerDigest(a.Text(), a.calls), Calls: a.calls}
}

func readMessage(raw json.RawMessage) (Message, bool) {
	m := Message{Raw: raw}
	if len(raw) == 0 || raw[0] != '{' {
		return m, false
	}
	_ = json.Unmarshal(memberOf(raw, "role"), &m.Role) // the server refuses what is no text
	if m.Role != "assistant" {
		m.Digest = messageDigest(m.Role, raw)
		return m, true
	}
	if calls := memberOf(raw, "tool_calls"); calls != nil && json.Unmarshal(calls, &m.Calls) != nil {
		m.Digest = digest(raw)
		return m, true
	}
	m.Digest = answerDigest(Text(raw), m.Calls)
	return m, true
}

// messageDigest is the digest of a message that is no answer.
func messageDigest(role string, raw json.RawMessage) string {
	content, said := memberOf(raw, "content"), [][]byte(nil)
	if parts, ok := elements(content); ok {
		for _, p := range parts {
			if text := memberOf(p, "text"); text != nil {
				said = spoken(said, text)
			} else {
				said = append(said, p)
			}
		}
	} else {
		said = spoken(said, content)
	}
	if len(said) == 0 {
		return digest(raw)
	}
	return digest(append(said, []byte(role), memberOf(raw, "tool_call_id"))...)
}

// spoken adds what is said in a text, a JSON string, that is no reminder.
func spoken(to [][]byte, text []byte) [][]byte {
	if len(text) < 2 || text[0] != '"' {
		return to
	}
	text = text[1 : len(text)-1]
	for bytes.HasPrefix(text, []byte("<system-reminder>")) {
		_, after, ok := bytes.Cut(text, []byte("</system-reminder>"))
		if !ok {
			break
		}
		for bytes.HasPrefix(after, []byte(`\n`)) {
			after = after[2:]
		}
		text = after
	}
	if len(text) == 0 {
		return to
	}
	return append(to, text)
}

// answerDigest is the digest of an answer. Clients trim texts and write arguments anew.
func answerDigest(text string, calls []Call) string {
	parts := [][]byte{[]byte("assistant"), []byte(strings.TrimSpace(text))}
	for _, c := range calls {
		args := []byte(c.Function.Arguments)
		var compact bytes.Buffer
		if json.Compact(&compact, args) == nil {
			args = compact.Bytes()
		}
		parts = append(parts, []byte(c.ID), []byte(c.Function.Name), args)
	}
	return digest(parts...)
}

// digest returns a digest of parts, 32 characters.
func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		if len(parts) > 1 {
			var n [8]byte
			for i := range n {
				n[i] = byte(len(p) >> (8 * i))
			}
			h.Write(n[:])
		}
		h.Write(p)
	}
	return encode(h.Sum(nil))
}

func encode(sum []byte) string { return base64.RawURLEncoding.EncodeToString(sum[:24]) }
