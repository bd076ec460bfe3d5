package scriptvm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Bounds of what a step hands over. A script that replaces what the prelude uses can name
// millions of values in a text that fits its memory; decoded they would take gigabytes.
const (
	mostWants = 4096
	mostParts = 1 << 18 // of an output; a script has no use for so many
	mostNames = 1000    // of tools, and reasons
	mostLines = 4096    // for the log
	// mostName and mostQuery are how long the name of a tool and a question for tools may
	// be, in bytes. Longer ones are cut: no tool has such a name.
	mostName  = 200
	mostQuery = 4000
	// mostMessage is how long the words of a fault may be, in bytes, and mostOutput how long
	// all parts of an output: a byte more than the host keeps of a result.
	mostMessage = 64 << 10
	mostOutput  = 8<<20 + 1
)

// The lists of a State. What is beyond their bounds is dropped while they are decoded.
type (
	Wants []Want            // at most 4,096
	Parts []json.RawMessage // at most 262,144, and no more after 8 MiB
	Lines []string          // at most 4,096 and 64 KiB
	Names []string          // at most 1,000
)

// A handover is what the prelude's take returns.
type handover struct {
	State State `json:"state"`
	Wants Wants `json:"wants"`
}

// ReadState decodes a State that another process has encoded. Whatever the text is, the
// State is bounded; text itself must be.
func ReadState(text []byte) (s State, err error) {
	if err = json.Unmarshal(text, &s); err != nil {
		return State{}, err
	}
	s.bound()
	return s, nil
}

// bound cuts the texts of a State whose lists are bounded.
func (s *State) bound() {
	for i := range s.Wants {
		w := &s.Wants[i]
		w.Tool, w.Query = clip(w.Tool, mostName), clip(w.Query, mostQuery)
	}
	for i, name := range s.Idle {
		s.Idle[i] = clip(name, mostName)
	}
	for i, why := range s.Rejected {
		s.Rejected[i] = clip(why, maxReason)
	}
	if f := s.Fault; f != nil {
		f.Code, f.Message, f.Hint = clip(f.Code, mostName), clip(f.Message, mostMessage), clip(f.Hint, mostMessage)
	}
}

// clip returns a copy of the beginning of a long text, without half a character.
func clip(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:bytes]), "")
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *Wants) UnmarshalJSON(text []byte) (err error) {
	*w, err = decode(text, mostWants, func(Want) bool { return true })
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Parts) UnmarshalJSON(text []byte) (err error) {
	size := 0
	*p, err = decode(text, mostParts, func(part json.RawMessage) bool {
		size += len(part)
		return size <= mostOutput
	})
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Lines) UnmarshalJSON(text []byte) (err error) {
	size := 0
	*l, err = decode(text, mostLines, func(line string) bool {
		size += len(line)
		return size <= mostMessage
	})
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Names) UnmarshalJSON(text []byte) (err error) {
	*n, err = decode(text, mostNames, func(string) bool { return true })
	return err
}

// decode returns the first values of a list in JSON: at most so many, and none after the
// first that is not to be followed.
func decode[T any](text []byte, most int, more func(T) bool) (list []T, err error) {
	if string(text) == "[]" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return nil, err // null
	}
	for d.More() && len(list) < most {
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		if list = append(list, v); !more(v) {
			break
		}
	}
	return list, nil
}
