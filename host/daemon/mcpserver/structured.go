package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/sdk/tool"
)

// DefaultStructuredBytes bounds a structured answer that is passed on whole.
const DefaultStructuredBytes = 1 << 20

// restName is the member at the root of a shortened answer that says what is left out.
const restName = "weir"

// restSchema describes it to clients that get shortened answers.
const restSchema = `{"type":"object","description":"Set where the answer is shortened: what is left out, and the call that loads the whole",` +
	`"required":["left_out","uuid","load"],"properties":{"left_out":{"type":"object","properties":{"items":{"type":"integer"},"characters":{"type":"integer"},"members":{"type":"integer"}}},` +
	`"uuid":{"type":"string"},"load":{"type":"string"}}}`

// A promise is the output schema of a tool as clients know it.
type promise struct {
	whole json.RawMessage // nil: there is none
	short json.RawMessage // for clients that get shortened answers; nil: they get the whole
	most  int             // characters of a shortened answer
}

// promiseOf returns what clients know of a tool's structured answers.
func promiseOf(s tool.Spec) promise {
	p := promise{most: s.Output.MaxChars}
	var head struct{ Type any }
	if len(s.OutputSchema) > 0 && json.Unmarshal(s.OutputSchema, &head) == nil && head.Type == "object" {
		p.whole, p.short = s.OutputSchema, withRest(s.OutputSchema)
	}
	return p
}

// of returns the output schema that a client knows; nil: none.
func (p promise) of(c Client) json.RawMessage {
	if c.Short && p.short != nil {
		return p.short
	}
	return p.whole
}

// withRest returns an output schema with the member restName; nil: it has one of that name.
func withRest(output json.RawMessage) json.RawMessage {
	var top struct{ Properties json.RawMessage }
	if json.Unmarshal(output, &top) != nil {
		return nil
	}
	properties := strings.TrimSpace(string(top.Properties))
	for key := range jsonscan.Members(properties) {
		if key == restName {
			return nil
		}
	}
	member := `{"` + restName + `":` + restSchema + `}`
	if len(properties) > len("{}") && properties[0] == '{' {
		member = strings.TrimSuffix(member, "}") + "," + properties[1:]
	}
	return with(output, "properties", member)
}

// with returns a JSON object with another value of a member, or with the member at its end.
func with(object json.RawMessage, key, value string) json.RawMessage {
	var b bytes.Buffer
	done := false
	for k, v := range jsonscan.Members(string(object)) {
		if k == key {
			v, done = value, true
		}
		fmt.Fprintf(&b, ",%s:%s", schema.Encode(k), v)
	}
	if !done {
		fmt.Fprintf(&b, ",%s:%s", schema.Encode(key), value)
	}
	return json.RawMessage("{" + strings.TrimPrefix(b.String(), ",") + "}")
}

// A rest says what is left out of a shortened answer.
type rest struct {
	LeftOut schema.LeftOut `json:"left_out"`
	UUID    string         `json:"uuid"`
	Load    string         `json:"load"`
}

// structured returns the structured answer of a result; nil: none. tooLong says that there
// is one which is not passed on, though the client has been promised one.
func (u *user) structured(c Client, r tool.Result) (value any, tooLong bool) {
	p := u.promise(r.Tool)
	promised := p.of(c) != nil
	n := len(r.Structured)
	switch {
	case r.Err != nil && (n == 0 || n > u.s.cfg.StructuredBytes):
		return nil, false
	case r.Err != nil: // no schema holds for the answer of a tool that failed
		return r.Structured, false
	case n == 0:
		if promised && schema.Lazy(p.of(c)).Fits(map[string]any{}) { // which the tool forgot
			return json.RawMessage("{}"), false
		}
		return nil, false
	case promised && !bytes.HasPrefix(bytes.TrimSpace(r.Structured), []byte("{")):
		return nil, false
	case c.Short && r.Ref != nil && utf8.RuneCount(r.Structured) > p.most:
		if short := shortened(p, r); short != nil {
			u.s.counted("short", len(short))
			return short, false
		}
	}
	if n > u.s.cfg.StructuredBytes {
		u.s.counted("refused", n)
		return nil, promised
	}
	u.s.counted("whole", n)
	return r.Structured, false
}

// counted counts the bytes of a structured answer.
func (s *Server) counted(outcome string, bytes int) {
	if f := s.cfg.Structured; f != nil {
		f(outcome, bytes)
	}
}

// shortened returns a structured answer as short as the tool's limit, with what is left out
// of it; nil: no such answer fits the schema.
func shortened(p promise, r tool.Result) json.RawMessage {
	var output, announced *schema.Schema
	if p.whole != nil {
		if p.short == nil {
			return nil
		}
		output, announced = schema.Lazy(p.whole), schema.Lazy(p.short)
	}
	v, err := schema.Decode(r.Structured)
	object, ok := v.(map[string]any)
	if _, taken := object[restName]; err != nil || !ok || taken {
		return nil
	}
	about := rest{UUID: r.Ref.UUID, Load: `load_tool_history(uuid="` + r.Ref.UUID + `")`}
	for i, part := range r.Parts {
		if part.Name == answer.StructuredName { // the text does not have it
			about.Load = partURI(r.Ref.UUID, i)
		}
	}
	const digits = 60 // of what is left out
	out, left, ok := output.Shorten(object, p.most-len(restName)-utf8.RuneCount(schema.Encode(about))-digits)
	if !ok {
		return nil
	}
	about.LeftOut = left
	text := with(schema.Encode(out), restName, string(schema.Encode(about)))
	if announced != nil {
		if v, err := schema.Decode(text); err != nil || !announced.Fits(v) {
			return nil
		}
	}
	return text
}

// promise returns what clients know of a tool's structured answers.
func (u *user) promise(name string) promise {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.listed[name].promise
}
