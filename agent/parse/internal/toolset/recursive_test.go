package toolset

import "testing"

// TestRecursiveSchema reads a schema that leads into itself in eight places: each
// reference is read once, however deep the values nest.
func TestRecursiveSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"whole":{"$ref":"#"}},
		"$defs":{"n":{"type":"object","properties":{"id":{"type":"string"},
			"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"},"c":{"type":"array","items":{"$ref":"#/$defs/n"}},
			"d":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]},"e":{"$ref":"#/$defs/alias"},"f":{"$ref":"#/$defs/alias"},
			"g":{"$ref":"#/$defs/loop"},"h":{"$ref":"#/$defs/nowhere"}}},
			"alias":{"$ref":"#/$defs/n"},"loop":{"$ref":"#/$defs/loop"}}}`
	whole, _ := NewTool("tree", schema).Params.Prop("whole")
	at, _ := whole.Prop("a")
	for range 100 {
		for _, name := range []string{"b", "a", "e"} {
			next, ok := at.Prop(name)
			if id, known := next.Prop("id"); !ok || !known || !id.is("string") || id.is("integer") {
				t.Fatalf("%s: known %v, its id %v %v", name, ok, known, id.types)
			}
			at = next
		}
		list, _ := at.Prop("c")
		at = *list.items
	}
	if d, _ := at.Prop("d"); !d.is("object") || !d.is("null") || d.is("string") {
		t.Errorf("d has the types %v", d.types)
	}
	for _, name := range []string{"g", "h"} {
		if s, ok := at.Prop(name); !ok || !s.untyped() {
			t.Errorf("%s has the types %v; it leads nowhere", name, s.types)
		}
	}
}
