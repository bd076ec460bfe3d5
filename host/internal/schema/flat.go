package schema

import (
	"encoding/json"
	"strings"
)

// A flat schema has only arguments of simple types, some of them required. Most tools
// have one. Checking it needs no general validator.
type flat struct {
	types    map[string]string // of the arguments
	required []string
	open     bool // other arguments may be of any type
}

// flatten returns the flat form of a schema, or nil if it has any other keyword.
func flatten(object map[string]any) *flat {
	others, ruled := object["additionalProperties"]
	f := &flat{types: map[string]string{}, open: others == true || !ruled && object["properties"] == nil}
	for key, v := range object {
		switch key {
		case "type", "title", "description": // compile has checked the type
		case "additionalProperties":
			if _, ok := v.(bool); !ok {
				return nil
			}
		case "required":
			list, ok := v.([]any)
			for _, name := range list {
				s, fine := name.(string)
				f.required, ok = append(f.required, s), ok && fine
			}
			if !ok {
				return nil
			}
		case "properties":
			all, ok := v.(map[string]any)
			for name, p := range all {
				f.types[name] = simpleType(p)
				ok = ok && f.types[name] != ""
			}
			if !ok {
				return nil
			}
		default:
			return nil
		}
	}
	return f
}

// simpleType returns the type of an argument without further rules, else "".
func simpleType(schema any) string {
	object, _ := schema.(map[string]any)
	for key := range object {
		switch key {
		case "type", "title", "description", "default", "examples":
		default:
			return ""
		}
	}
	switch t, _ := object["type"].(string); t {
	case "string", "integer", "number", "boolean":
		return t
	}
	return ""
}

// fits reports whether arguments certainly fit. If it returns false they may still
// fit: the general validator decides.
func (f *flat) fits(args any) bool {
	object, ok := args.(map[string]any)
	if !ok || f == nil {
		return false
	}
	for _, name := range f.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, v := range object {
		t, ok := f.types[name]
		free, fits := !ok && f.open, false
		switch v := v.(type) {
		case string:
			fits = free || t == "string"
		case bool:
			fits = free || t == "boolean"
		case json.Number:
			fits = free || t == "number" || t == "integer" && !strings.ContainsAny(string(v), ".eE")
		}
		if !fits {
			return false
		}
	}
	return true
}
