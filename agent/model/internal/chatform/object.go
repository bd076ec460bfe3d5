package chatform

import (
	"bytes"
	"encoding/json"
)

// An Object is a JSON object that is written member by member, in their order. Values that are
// JSON already stay the bytes that they are. The zero value is an empty object.
type Object struct{ text []byte }

// Keep returns the Object of an object that is JSON already, to which members can be added.
func Keep(object json.RawMessage) *Object {
	text := bytes.TrimSpace(object)
	return &Object{bytes.Clone(bytes.TrimSpace(text[1 : len(text)-1]))}
}

// Raw adds a member whose value is JSON. It returns the Object.
func (o *Object) Raw(name string, value json.RawMessage) *Object {
	if len(o.text) > 0 {
		o.text = append(o.text, ',')
	}
	o.text = append(append(append(o.text, encode(name)...), ':'), value...)
	return o
}

// Set adds a member with a value that encodes. It returns the Object.
func (o *Object) Set(name string, value any) *Object { return o.Raw(name, encode(value)) }

// Bytes returns the JSON of the object.
func (o *Object) Bytes() json.RawMessage {
	out := make([]byte, 0, len(o.text)+2)
	return append(append(append(out, '{'), o.text...), '}')
}

// List returns the JSON of a list of objects.
func List(objects []*Object) json.RawMessage {
	size := 2
	for _, o := range objects {
		size += len(o.text) + 3
	}
	out := append(make([]byte, 0, size), '[')
	for i, o := range objects {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '{'), o.text...), '}')
	}
	return append(out, ']')
}

// encode returns the JSON of a value that encodes. Texts stay readable: <, > and & are not
// written as escapes.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // only values that encode are given
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
