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
	// Digest is the same for the same message: that of Raw, but for an answer that of its text
	// and calls, so that what a server has answered and what the client sends back of it are one.
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
		m.Digest = digest(raw)
		return m, true
	}
	if calls := memberOf(raw, "tool_calls"); calls != nil && json.Unmarshal(calls, &m.Calls) != nil {
		m.Digest = digest(raw)
		return m, true
	}
	m.Digest = answerDigest(Text(raw), m.Calls)
	return m, true
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
