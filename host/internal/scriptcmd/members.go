package scriptcmd

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
)

// members returns the members of a JSON object in the order of their names: texts as they
// are, other values as JSON.
func members(object json.RawMessage) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		values := map[string]json.RawMessage{}
		if json.Unmarshal(object, &values) != nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			var text string
			if json.Unmarshal(values[name], &text) != nil {
				text = string(values[name])
			}
			if !yield(name, text) {
				return
			}
		}
	}
}
