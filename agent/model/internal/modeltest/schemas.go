package modeltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A Schema says what a provider refuses of the schema of a tool's arguments, as the
// provider itself words it; empty: it takes it.
type Schema func(params json.RawMessage) string

// OpenAISchema refuses what api.openai.com does, and what the servers do that speak its
// protocol: DeepSeek, Moonshot, Ark, llama.cpp.
func OpenAISchema(params json.RawMessage) string {
	root := decoded(params)
	switch {
	case root["type"] != "object":
		return fmt.Sprintf(`schema must be a JSON Schema of 'type: "object"', got 'type: "%v"'.`, root["type"])
	case has(root, "oneOf", "anyOf", "allOf", "enum", "not"):
		return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
	}
	return walk(nil, root, func(path []string, v any) string {
		s, ok := v.(map[string]any)
		_, listed := s["type"].([]any)
		required, requires := s["required"].([]any)
		union, _ := s["anyOf"].([]any)
		pattern, _ := s["pattern"].(string)
		in := "In context=(" + strings.Join(path, ", ") + "), "
		switch {
		case !ok:
			return fmt.Sprintf("%s%v is not of type 'object', 'boolean'.", in, v)
		case s["type"] == "object" && s["properties"] == nil:
			return in + "object schema missing properties."
		case s["type"] == "array" && s["items"] == nil:
			return in + "array schema missing items."
		case has(s, "required") && !requires || slices.ContainsFunc(required, func(v any) bool { _, ok := v.(string); return !ok }):
			return in + fmt.Sprintf("%v is not of type 'array'", s["required"])
		case has(s, "$ref", "$defs"):
			return in + "reference can only point to definitions defined at the top level of the schema."
		case listed: // Ark
			return "Invalid function format: unhashable type: 'list'"
		case union != nil && s["type"] != nil: // Moonshot
			return "At path '" + dotted(path) + "': when using anyOf, type should be defined in anyOf items instead of the parent schema"
		case slices.ContainsFunc(union, func(v any) bool { o, _ := v.(map[string]any); return o["type"] == nil }): // DeepSeek
			return "Invalid tool parameters schema : field `anyOf`: missing field `type`"
		case union == nil && s["type"] == nil && len(s) > 0: // llama.cpp; Moonshot: type is not defined
			return "JSON schema conversion failed:\nUnrecognized schema: " + compact(s)
		case pattern != "" && (!strings.HasPrefix(pattern, "^") || !strings.HasSuffix(pattern, "$")): // llama.cpp
			return "JSON schema conversion failed:\nPattern must start with '^' and end with '$'"
		}
		return ""
	})
}

// AnthropicSchema refuses what api.anthropic.com does.
func AnthropicSchema(params json.RawMessage) string {
	root := decoded(params)
	plain := regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	props, _ := root["properties"].(map[string]any)
	switch {
	case root["type"] != "object":
		return "input_schema.type: Input should be 'object'"
	case has(root, "oneOf", "allOf", "anyOf"):
		return "input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
	case slices.ContainsFunc(slices.Collect(maps.Keys(props)), func(k string) bool { return !plain.MatchString(k) }):
		return "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
	}
	return walk(nil, root, func(_ []string, v any) string {
		if s, ok := v.(map[string]any); !ok || !valid2020(s) {
			return "input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"
		}
		return ""
	})
}

// valid2020 knows of the draft of 2020 what older drafts and mistakes have otherwise.
func valid2020(s map[string]any) bool {
	_, tuple := s["items"].([]any)
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if _, number := s[key].(float64); s[key] != nil && !number {
			return false
		}
	}
	required, requires := s["required"].([]any)
	if has(s, "required") && !requires {
		return false
	}
	for _, v := range required {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return !tuple && validType(s["type"])
}

func validType(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object", "null"}, v)
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(e any) bool { s, ok := e.(string); return !ok || !validType(s) })
	}
	return false
}

// GeminiSchema refuses what generativelanguage.googleapis.com does, where params are those
// of a function with arguments.
func GeminiSchema(params json.RawMessage) string {
	known := []string{"type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties", "required", "minLength", "maxLength", "pattern", "minimum", "maximum", "anyOf", "propertyOrdering"}
	root := decoded(params)
	if props, _ := root["properties"].(map[string]any); len(props) == 0 {
		return "parameters.properties: should be non-empty for OBJECT type"
	}
	return walk(nil, root, func(path []string, v any) string {
		at := "parameters." + dotted(path)
		s, ok := v.(map[string]any)
		if !ok {
			return "Invalid value at '" + at + "'"
		}
		for _, key := range slices.Sorted(maps.Keys(s)) {
			if !slices.Contains(known, key) {
				return fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", key, at)
			}
		}
		kind, isText := s["type"].(string)
		props, _ := s["properties"].(map[string]any)
		enum, _ := s["enum"].([]any)
		required, _ := s["required"].([]any)
		switch {
		case s["type"] != nil && !isText:
			return "Invalid JSON payload received. Unknown name \"type\" at '" + at + "': Proto field is not repeating, cannot start list."
		case s["anyOf"] != nil && len(s) > 1:
			return at + ": when using any_of, it must be the only field set"
		case s["anyOf"] == nil && kind == "":
			return at + ".type: must be specified when not using one_of, any_of or all_of fields"
		case kind == "null":
			return at + ".type: invalid"
		case kind == "array" && s["items"] == nil:
			return at + ".items: missing field."
		case kind != "array" && s["items"] != nil:
			return at + ".items: field predicate failed: $type == Type.ARRAY"
		case kind != "object" && props != nil:
			return at + ".properties: only allowed for OBJECT type"
		case slices.ContainsFunc(required, func(v any) bool { name, ok := v.(string); _, defined := props[name]; return !ok || !defined }):
			return at + ".required[0]: property is not defined"
		case enum != nil && kind != "string":
			return at + ".enum: only allowed for STRING type"
		case slices.ContainsFunc(enum, func(v any) bool { text, _ := v.(string); return text == "" }):
			return at + ".enum[0]: cannot be empty"
		case kind == "string" && s["format"] != nil && s["format"] != "enum" && s["format"] != "date-time":
			return at + ".format: only 'enum' and 'date-time' are supported for STRING type"
		}
		return ""
	})
}

// OllamaSchema refuses what Ollama cannot read into its fields.
func OllamaSchema(params json.RawMessage) string {
	var root struct {
		Type       string                     `json:"type"`
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	err := json.Unmarshal(params, &root)
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		if err == nil {
			err = json.Unmarshal(root.Properties[name], new(ollamaProperty))
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case root.Type == "" || root.Properties == nil:
		return "template: tools: nil properties"
	}
	return ""
}

type ollamaProperty struct {
	AnyOf       []ollamaProperty          `json:"anyOf"`
	Type        string                    `json:"type"` // older servers read no lists
	Description string                    `json:"description"`
	Enum        []any                     `json:"enum"`
	Properties  map[string]ollamaProperty `json:"properties"`
}

// walk visits a schema and those in it. It returns the first complaint.
func walk(path []string, v any, visit func(path []string, v any) string) string {
	if complaint := visit(path, v); complaint != "" {
		return complaint
	}
	s, _ := v.(map[string]any)
	step := func(more ...string) []string { return append(slices.Clip(path), more...) }
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch sub := s[key].(type) {
		case map[string]any:
			switch key {
			case "properties", "$defs", "patternProperties":
				for _, name := range slices.Sorted(maps.Keys(sub)) {
					if c := walk(step("'properties'", "'"+name+"'"), sub[name], visit); c != "" {
						return c
					}
				}
			case "items", "additionalProperties", "not", "if", "then", "else":
				if c := walk(step("'"+key+"'"), sub, visit); c != "" {
					return c
				}
			}
		case []any:
			if slices.Contains([]string{"anyOf", "oneOf", "allOf", "prefixItems"}, key) {
				for i, e := range sub {
					if c := walk(step("'"+key+"'", fmt.Sprint(i)), e, visit); c != "" {
						return c
					}
				}
			}
		}
	}
	return ""
}

func decoded(raw json.RawMessage) map[string]any {
	var v map[string]any
	_ = json.Unmarshal(raw, &v) // nil: it is no object
	return v
}

func has(s map[string]any, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := s[key]; return ok })
}

func dotted(path []string) string { return strings.ReplaceAll(strings.Join(path, "."), "'", "") }

func compact(v any) string {
	raw, _ := json.Marshal(v) // what was decoded encodes
	return string(raw)
}
