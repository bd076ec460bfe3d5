package passthrough

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A Body is the top level of a request: its members in their order, each name and value as the
// bytes that the client sent. It is a value: With and Without leave the Body that they are called
// on as it is.
type Body struct{ members []member }

type member struct {
	name    string
	written []byte // the name as the client wrote it: a JSON string
	value   json.RawMessage
}

// ReadBody reads the JSON object of a request. It refuses one that has a member twice, also
// in other letters: which of the two counts is different from reader to reader, and a server
// must not see another model than weir has checked. The error is a *tool.Error; the members that
// could be read come with it, to say of which request it is.
func ReadBody(raw json.RawMessage) (Body, error) {
	b, err := SplitBody(raw)
	if !json.Valid(raw) {
		err = badBody(raw)
	}
	return b, err
}

// SplitBody is ReadBody for what is JSON for certain, in a fraction of the time.
func SplitBody(valid json.RawMessage) (Body, error) {
	var b Body
	var twice error
	seen := map[string]string{}
	var written json.RawMessage // the name, until its value comes
	if !inside(valid, '{', func(v json.RawMessage) bool {
		if written == nil {
			written = v
			return true
		}
		name := ""
		_ = json.Unmarshal(written, &name) // valid, and a string
		if before, ok := seen[strings.ToLower(name)]; ok && twice == nil {
			twice = tool.Errorf(tool.BadArgs, "send one of them", "the body has the members %q and %q, of which only one can count", before, name)
		}
		seen[strings.ToLower(name)] = name
		b.members = append(b.members, member{name, written, v})
		written = nil
		return true
	}) {
		return Body{}, notObject()
	}
	return b, twice
}

// badBody says what is wrong with a body that is not JSON.
func badBody(raw json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return notObject()
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return notObject()
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return tool.Errorf(tool.BadArgs, "send a chat completion request", "the member %q of the body is not JSON", name)
		}
	}
	if _, err := d.Token(); err != nil { // the end of the object
		return notObject()
	}
	return tool.Errorf(tool.BadArgs, "send one JSON object", "the body continues after its JSON object")
}

func notObject() error {
	return tool.Errorf(tool.BadArgs, "send a chat completion request", "the body is no JSON object")
}

func (b Body) index(name string) int {
	return slices.IndexFunc(b.members, func(m member) bool { return m.name == name })
}

// Has reports whether there is a member of that name that is not null.
func (b Body) Has(name string) bool {
	v := b.Get(name)
	return len(v) > 0 && string(v) != "null"
}

// Get returns the value of a member; nil: there is none.
func (b Body) Get(name string) json.RawMessage {
	if i := b.index(name); i >= 0 {
		return b.members[i].value
	}
	return nil
}

// Names returns the names of the members in their order.
func (b Body) Names() []string {
	out := make([]string, len(b.members))
	for i, m := range b.members {
		out[i] = m.name
	}
	return out
}

// With returns a Body with a value in place of the member's, or with the member at the end.
func (b Body) With(name string, value json.RawMessage) Body {
	i := b.index(name)
	b.members = slices.Clone(b.members)
	if i < 0 {
		written, _ := json.Marshal(name) // a string always marshals
		b.members = append(b.members, member{name, written, value})
	} else {
		b.members[i].value = value
	}
	return b
}

// Without returns a Body without a member.
func (b Body) Without(name string) Body {
	if i := b.index(name); i >= 0 {
		b.members = slices.Delete(slices.Clone(b.members), i, i+1)
	}
	return b
}

// Bytes returns the JSON object.
func (b Body) Bytes() json.RawMessage {
	size := 2
	for _, m := range b.members {
		size += len(m.written) + len(m.value) + 2
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range b.members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.written...), ':'), m.value...)
	}
	return append(out, '}')
}

// Streams reports whether the request is for a stream.
func (b Body) Streams() bool { return string(b.Get("stream")) == "true" }

// AsksForUsage reports whether the request is for a chunk with the usage.
func (b Body) AsksForUsage() bool {
	var o struct {
		Usage bool `json:"include_usage"`
	}
	return json.Unmarshal(b.Get("stream_options"), &o) == nil && o.Usage
}
