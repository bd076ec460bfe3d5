package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/openapi"
)

const pageTypes = "web/src/api.ts"

// The page's types are those of the routes; `go test ./host/daemon -run OpenAPI -update`
// writes them.
func TestOpenAPITypesOfThePage(t *testing.T) {
	raw, err := json.Marshal(openapi.NewWriter(false).Document(theRoutes()))
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	want := typeScript(doc)
	if *update {
		if err := os.WriteFile(pageTypes, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pageTypes)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the routes say (%v): go test ./host/daemon -run OpenAPI -update", pageTypes, err)
	}
}

// object is one of JSON.
type object = map[string]any

// typeScript writes the schemas and the events of a document as types of TypeScript.
func typeScript(doc object) string {
	var b strings.Builder
	b.WriteString("// The types of the daemon's routes. go test ./host/daemon -run OpenAPI -update writes this file.\n")
	schemas := doc["components"].(object)["schemas"].(object)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		fmt.Fprintf(&b, "\nexport interface %s %s\n", name, typeOf(schemas[name].(object), ""))
	}
	b.WriteString("\n// Events are the events of an answer's stream, by name.\nexport interface Events {\n")
	events := doc["x-events"].(object)
	for _, name := range slices.Sorted(maps.Keys(events)) {
		fmt.Fprintf(&b, "  %q: %s;\n", name, typeOf(events[name].(object), "  "))
	}
	b.WriteString("}\n")
	return b.String()
}

// typeOf returns the type of a schema; its further lines begin with indent.
func typeOf(s object, indent string) string {
	if ref, ok := s["$ref"].(string); ok {
		return ref[strings.LastIndexByte(ref, '/')+1:]
	}
	for _, key := range []string{"allOf", "anyOf"} {
		if all, ok := s[key].([]any); ok {
			var parts []string
			for _, one := range all {
				parts = append(parts, typeOf(one.(object), indent))
			}
			return strings.Join(parts, " | ") // allOf has one member
		}
	}
	kinds, ok := s["type"].([]any)
	if !ok {
		kinds = []any{s["type"]}
	}
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, typeOfKind(kind, s, indent))
	}
	return strings.Join(parts, " | ")
}

func typeOfKind(kind any, s object, indent string) string {
	switch kind {
	case "string", "boolean", "null":
		return kind.(string)
	case "integer", "number":
		return "number"
	case "array":
		inner := typeOf(s["items"].(object), indent)
		if strings.Contains(inner, " | ") {
			inner = "(" + inner + ")"
		}
		return inner + "[]"
	case "object":
		if inner, ok := s["additionalProperties"].(object); ok {
			return "Record<string, " + typeOf(inner, indent) + ">"
		}
		return membersOf(s, indent)
	}
	return "unknown"
}

func membersOf(s object, indent string) string {
	props, ok := s["properties"].(object)
	if !ok {
		return "Record<string, unknown>"
	}
	required, _ := s["required"].([]any)
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(props)) {
		mark := "?"
		if slices.Contains(required, any(name)) {
			mark = ""
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, quotedName(name), mark, typeOf(props[name].(object), indent+"  "))
	}
	return b.String() + indent + "}"
}

// quotedName returns a member's name as TypeScript takes it.
func quotedName(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
		return name
	}
	return fmt.Sprintf("%q", name)
}
