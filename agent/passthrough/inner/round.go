package inner

import (
	"encoding/json"

	"github.com/weirhost/weir/agent/passthrough"
)

// An Answered is a call that weir answered by itself.
type Answered struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Stub is sent in place of Text when the turn has ended; empty: Text stays.
	Stub string `json:"stub,omitempty"`
	// UUID is the id under which the whole is archived; empty: it is not.
	UUID string `json:"uuid,omitempty"`
}

// A Round is a reply that the client has not seen, with the results of its calls.
type Round struct {
	Reply   json.RawMessage `json:"reply"`
	Results []Answered      `json:"results"`
}

// A Placed is a call that weir answered by itself in a reply whose other calls are the client's.
type Placed struct {
	// At is the index of the call among all calls of the reply.
	At   int             `json:"at"`
	Call json.RawMessage `json:"call"`
	Answered
}

// Rounds are what the model's server gets in front of an answer that the client knows, and
// within it.
type Rounds struct {
	Before []Round  `json:"before,omitempty"`
	Calls  []Placed `json:"calls,omitempty"`
}

// Note returns the note of the rounds in front of an answer to this history, and the digest
// under which it belongs. text and calls are what the client got of the answer.
func (h *History) Note(r Rounds, answer string, calls []passthrough.Call) (digestOf, note string) {
	return digest(h.end(), fingerprint(answer, calls)), text(r)
}

func readRounds(s string) (r Rounds) {
	if s != "" {
		_ = json.Unmarshal([]byte(s), &r) // a note that cannot be read is none
	}
	return r
}

// messages returns a round as messages.
func (r Round) messages(ended bool) []json.RawMessage {
	out := []json.RawMessage{r.Reply}
	for _, a := range r.Results {
		out = append(out, a.message(ended))
	}
	return out
}

func (a Answered) message(ended bool) json.RawMessage {
	m := struct {
		Role    string `json:"role"`
		CallID  string `json:"tool_call_id"`
		Content string `json:"content"`
	}{"tool", a.ID, a.Text}
	if ended && a.Stub != "" {
		m.Content = a.Stub
	}
	return json.RawMessage(text(m))
}

// withCalls returns an answer with weir's calls in their places.
func withCalls(raw json.RawMessage, calls []Placed) json.RawMessage {
	b, err := passthrough.ReadBody(raw)
	var list []json.RawMessage
	if err != nil || json.Unmarshal(b.Get("tool_calls"), &list) != nil {
		return raw
	}
	for _, p := range calls {
		at := min(max(p.At, 0), len(list))
		list = append(list[:at], append([]json.RawMessage{p.Call}, list[at:]...)...)
	}
	return b.With("tool_calls", joined(list)).Bytes()
}

// withResults returns the results of the client's calls and those of weir's in the order of
// the calls.
func withResults(client []json.RawMessage, calls []Placed, ended bool) (out []json.RawMessage) {
	for _, p := range calls {
		for len(client) > 0 && len(out) < p.At {
			out, client = append(out, client[0]), client[1:]
		}
		out = append(out, p.message(ended))
	}
	return append(out, client...)
}

// joined returns a JSON list.
func joined(list []json.RawMessage) json.RawMessage {
	size := 2
	for _, v := range list {
		size += len(v) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
