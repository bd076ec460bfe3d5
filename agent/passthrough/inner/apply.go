package inner

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/passthrough"
)

// A Sent is what the model's server gets in place of a history.
type Sent struct {
	body passthrough.Body
	msgs []json.RawMessage
	// changed says that msgs are not the client's.
	changed bool
	// Own is what of it weir has written.
	Own Own
	// Cut and Folded count the results that are sent cut, or as placeholders; Saved are the
	// characters that are not sent of them.
	Cut, Folded, Saved int
}

// Apply returns what the model's server gets: the same bytes whenever the notes and the
// client's messages are the same.
func (h *History) Apply(k Known) Sent {
	s := Sent{body: h.body}
	for i := 0; i < len(h.msgs); i++ {
		m := h.msgs[i]
		ended := m.turn < h.last
		if m.role != "assistant" {
			s.msgs = append(s.msgs, s.result(m, k, ended))
			continue
		}
		r := readRounds(k.Rounds[digest(h.before(i), m.print)])
		for _, b := range r.Before {
			s.add(b, ended)
		}
		if len(r.Calls) == 0 {
			s.msgs = append(s.msgs, m.raw)
			continue
		}
		s.changed = true
		s.msgs = append(s.msgs, withCalls(m.raw, r.Calls))
		var results []json.RawMessage
		for ; i+1 < len(h.msgs) && h.msgs[i+1].role == "tool"; i++ {
			results = append(results, s.result(h.msgs[i+1], k, ended))
		}
		for _, p := range r.Calls {
			s.Own.addAnswered(p.Answered)
		}
		s.msgs = append(s.msgs, withResults(results, r.Calls, ended)...)
	}
	return s
}

// result returns a message as it is sent.
func (s *Sent) result(m message, k Known, ended bool) json.RawMessage {
	n, ok := readNote(k.Results[m.chain])
	if m.role != "tool" || !ok {
		return m.raw
	}
	to := n.Cut
	if ended && n.Placeholder != "" {
		to = n.Placeholder
	}
	s.Own.addID(n.UUID)
	if to == "" {
		return m.raw
	}
	raw, ok := replaced(m.raw, to)
	if !ok {
		return m.raw
	}
	if ended && n.Placeholder != "" {
		s.Folded++
	} else {
		s.Cut++
	}
	s.changed = true
	s.Own.addText(to)
	s.Saved += utf8.RuneCountInString(m.text) - utf8.RuneCountInString(to)
	return raw
}

// add adds a round at the end.
func (s *Sent) add(r Round, ended bool) {
	s.changed = true
	s.msgs = append(s.msgs, r.messages(ended)...)
	for _, a := range r.Results {
		s.Own.addAnswered(a)
	}
}

// With returns the request with the rounds of the running reply at its end. Own then has what
// weir has written in them, too.
func (s *Sent) With(rounds []Round) passthrough.Body {
	out := *s
	out.msgs = slices.Clip(s.msgs)
	for _, r := range rounds {
		out.add(r, false)
	}
	s.Own = out.Own
	return out.request()
}

// Chars returns the length of the request's messages, in characters.
func (s *Sent) Chars() (n int) {
	for _, m := range s.msgs {
		n += utf8.RuneCount(m)
	}
	return n
}

func (s *Sent) request() passthrough.Body {
	if !s.changed {
		return s.body
	}
	return s.body.With("messages", joined(s.msgs))
}

// replaced returns a message with another text. Its other members and parts stay as they are.
func replaced(raw json.RawMessage, to string) (json.RawMessage, bool) {
	b, err := passthrough.ReadBody(raw)
	if err != nil {
		return nil, false
	}
	var parts []json.RawMessage
	if json.Unmarshal(b.Get("content"), &parts) != nil {
		return b.With("content", json.RawMessage(text(to))).Bytes(), true
	}
	var out []json.RawMessage
	done := false
	for _, p := range parts {
		part, err := passthrough.ReadBody(p)
		switch {
		case err != nil || string(part.Get("type")) != `"text"`:
			out = append(out, p)
		case !done:
			out, done = append(out, part.With("text", json.RawMessage(text(to))).Bytes()), true
		}
	}
	return b.With("content", joined(out)).Bytes(), done
}
