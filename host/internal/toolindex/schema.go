package toolindex

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// maxSchemaDepth bounds how deep the properties of a JSON Schema are read.
const maxSchemaDepth = 6

// params returns the names of the properties of a JSON Schema, and the descriptions
// and fixed values of these.
func params(schema json.RawMessage) (names, about string) {
	var v any
	if len(schema) == 0 || json.Unmarshal(schema, &v) != nil {
		return "", ""
	}
	var n, a strings.Builder
	readSchema(v, &n, &a, 0)
	return n.String(), a.String()
}

// readSchema reads properties in the order of their names, so that an index is the
// same each time.
func readSchema(v any, names, about *strings.Builder, depth int) {
	m, ok := v.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return
	}
	if s, ok := m["description"].(string); ok && depth > 0 {
		about.WriteString(s + "\n")
	}
	if values, ok := m["enum"].([]any); ok {
		for _, value := range values {
			if s, ok := value.(string); ok {
				about.WriteString(s + "\n")
			}
		}
	}
	if props, ok := m["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(props)) {
			names.WriteString(name + "\n")
			readSchema(props[name], names, about, depth+1)
		}
	}
	if items, ok := m["items"]; ok {
		readSchema(items, names, about, depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := m[key].([]any); ok {
			for _, one := range list {
				readSchema(one, names, about, depth+1)
			}
		}
	}
}
