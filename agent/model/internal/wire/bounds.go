package wire

import "encoding/json"

// Bounds of one answer, whatever its bytes look like. The longest replies of models have a few
// hundred thousand tokens, each an event.
const (
	// HeldCall is what a held call counts besides its texts, in bytes.
	HeldCall = 200
	// maxHeld bounds what a reply holds until it is complete, in bytes: its calls and what
	// thoughts are signed with. The agent counts them only when they are delivered.
	maxHeld = 8 << 20
	// maxSteps bounds the events of an answer. One that brings nothing counts idleSteps.
	maxSteps, idleSteps = 1_000_000, 10
	// MaxValues bounds the JSON values of an event, a whole answer or a list: 2 million empty
	// objects, 6 MB, took 400 MB.
	MaxValues = 250_000
	// MaxTold bounds an answer that is no reply, in bytes, as vectors and lists of models.
	MaxTold = 32 << 20
	// MaxNumbers bounds the JSON values of an answer with vectors.
	MaxNumbers = 2_000_000
)

// Decode decodes a JSON text of most values at most.
func Decode(data []byte, most int, into any) error {
	if heavy(data, most) {
		return ErrEndless
	}
	return json.Unmarshal(data, into)
}

// heavy reports whether a JSON text has more than most values, about.
func heavy(data []byte, most int) bool {
	if len(data) < 2*most { // a value has two bytes at least
		return false
	}
	n := 1
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[', ',':
			n++
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
	}
	return n > most
}
