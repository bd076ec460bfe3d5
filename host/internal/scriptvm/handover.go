package scriptvm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Bounds of what a step hands over. A script that replaces what the prelude uses can name
// millions of requests in a text that fits its memory; as values they would take gigabytes.
const (
	mostWants = 4096
	// mostName and mostQuery are how long the name of a tool and a question for tools may
	// be, in bytes. Longer ones are cut: no tool has such a name.
	mostName  = 200
	mostQuery = 4000
)

// A handover is what the prelude's take returns.
type handover struct {
	State struct {
		Done   bool              `json:"done"`
		Output []json.RawMessage `json:"output"`
		Error  *Fault            `json:"error"`
		Idle   []string          `json:"idle"`
		Logged []string          `json:"logged"`
	} `json:"state"`
	Wants asked `json:"wants"`
}

// wants returns the requests.
func (h *handover) wants() []Want {
	for i := range h.Wants {
		w := &h.Wants[i]
		w.Tool, w.Query = clip(w.Tool, mostName), clip(w.Query, mostQuery)
	}
	return h.Wants
}

// clip returns a copy of the beginning of a long text, without half a character.
func clip(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:bytes]), "")
}

// asked are requests. Those beyond mostWants are dropped: the caller refuses even fewer.
type asked []Want

// UnmarshalJSON implements json.Unmarshaler.
func (a *asked) UnmarshalJSON(text []byte) error {
	if string(text) == "[]" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return err // null
	}
	for d.More() && len(*a) < mostWants {
		*a = append(*a, Want{})
		if err := d.Decode(&(*a)[len(*a)-1]); err != nil {
			return err
		}
	}
	return nil
}
