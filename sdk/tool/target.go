package tool

import (
	"bytes"
	"encoding/json"
)

// Target returns the call that a call of CallTool asks for. Its arguments are the
// member "arguments": an object, one that is written as a string, or left out for {}.
// ok is false if "name" or "arguments" have another form; the tool is not looked up.
func (c Call) Target() (target Call, ok bool) {
	var in struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(c.Args, &in) != nil || in.Name == "" {
		return c, false
	}
	args := bytes.TrimSpace(in.Args)
	var text string
	if len(args) > 0 && args[0] == '"' && json.Unmarshal(args, &text) == nil {
		args = bytes.TrimSpace([]byte(text))
	}
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	if args[0] != '{' || !json.Valid(args) {
		return c, false
	}
	c.Tool, c.Args = in.Name, args
	return c, true
}
