package archive

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/host/internal/jsonscan"
)

// storedInput returns the arguments of a call as a JSON column holds them: without
// white space, {} for nothing, and a JSON string for text that is not JSON.
func storedInput(input json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(input)) == 0 {
		return json.RawMessage("{}")
	}
	if len(input) >= longInput {
		if packed, ok := compactLong(input, longInput/4); ok {
			return packed
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, input) == nil {
		return b.Bytes()
	}
	quoted, err := json.Marshal(string(input))
	if err != nil { // a Go string always marshals
		return json.RawMessage("{}")
	}
	return quoted
}

// longInput is the size in bytes from which an input is expected to be mostly long
// strings.
const longInput = 256 << 10

// compactLong is json.Compact for an input that consists mostly of a few strings of at
// least long bytes: it only parses the text between them. ok is false if the input is
// not JSON.
func compactLong(input json.RawMessage, long int) (packed json.RawMessage, ok bool) {
	text := string(input)
	var rest, out bytes.Buffer
	out.Grow(len(text))
	last := 0
	for begin, end := range jsonscan.Long(text, long) {
		between := text[last : begin-1]
		rest.WriteString(between + `""`)
		tighten(&out, between)
		out.WriteString(text[begin-1 : end+1])
		last = end + 1
	}
	rest.WriteString(text[last:])
	tighten(&out, text[last:])
	return out.Bytes(), json.Valid(rest.Bytes())
}

// tighten appends a part of a JSON text without its white space. The part must not end
// within a string.
func tighten(to *bytes.Buffer, json string) {
	for len(json) > 0 {
		switch n := strings.IndexAny(json, "\" \t\r\n"); {
		case n < 0:
			to.WriteString(json)
			return
		case json[n] == '"':
			end := jsonscan.StringEnd(json, n)
			to.WriteString(json[:end])
			json = json[end:]
		default:
			to.WriteString(json[:n])
			json = json[n+1:]
		}
	}
}

// sameJSON reports whether two JSON texts are equal, whatever the order of members.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	ca, errA := canonical(a)
	cb, errB := canonical(b)
	return errA == nil && errB == nil && bytes.Equal(ca, cb)
}

func canonical(b []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
