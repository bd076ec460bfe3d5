package tomlpos

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// Without returns a TOML document without a key. ok is false if it has none.
func Without(doc string, key []string) (rest string, ok bool) {
	tree := map[string]any{}
	if _, err := Decode(doc, &tree); err != nil || !remove(tree, key) {
		return "", false
	}
	var out strings.Builder
	err := toml.NewEncoder(&out).Encode(tree)
	return out.String(), err == nil
}

// remove deletes a key from a table, or from each table of a list. It reports whether
// it was there.
func remove(v any, key []string) (found bool) {
	if list, ok := v.([]map[string]any); ok {
		for _, table := range list {
			found = remove(table, key) || found
		}
		return found
	}
	table, ok := v.(map[string]any)
	if !ok || len(key) == 0 {
		return false
	}
	if _, found = table[key[0]]; found && len(key) == 1 {
		delete(table, key[0])
		return true
	}
	return found && remove(table[key[0]], key[1:])
}
