package settingkeys

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/tomlpos"
)

// Schema returns the keys, with what the text of the file says about each. applies reports
// whether a reload applies a key.
func Schema(file, text string, applies func(key string) bool) api.SettingsSchema {
	root, _ := tomlpos.Locate(text)
	doc := map[string]any{}
	_, _ = tomlpos.Decode(text, &doc) // what cannot be read has no values
	unset := defaults()
	out := api.SettingsSchema{File: file, Keys: []api.SettingKey{}}
	for _, r := range rows() {
		key := strings.Split(r.key, ".")
		k := api.SettingKey{
			Key: key, Type: kindOf(typeOf(key)), Unit: r.unit, Meaning: r.about, Restart: !applies(r.key), Default: at(unset, key), Written: []api.WrittenSetting{},
		}
		for _, path := range written(doc, nil, key) {
			w := api.WrittenSetting{Key: path, Value: at(doc, path)}
			if s, ok := w.Value.(string); ok {
				w.Variable = config.Variable(s)
			}
			if p := root.Find(path...); p != nil {
				w.Line, _ = tomlpos.LineCol(text, p.At)
			}
			k.Written = append(k.Written, w)
		}
		out.Keys = append(out.Keys, k)
	}
	return out
}

// written returns the paths of a document that a pattern fits.
func written(v any, before, pattern []string) (paths [][]string) {
	if len(pattern) == 0 {
		return [][]string{before}
	}
	table, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	names := []string{pattern[0]}
	if pattern[0] == "*" {
		names = slices.Sorted(maps.Keys(table))
	}
	for _, name := range names {
		if next, ok := table[name]; ok {
			paths = append(paths, written(next, append(slices.Clone(before), name), pattern[1:])...)
		}
	}
	return paths
}

// at returns the value at a path; nil: there is none.
func at(v any, path []string) any {
	for _, name := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[name]
	}
	return v
}

// defaults returns the defaults as a document, with a table * where the operator chooses
// names.
func defaults() (doc map[string]any) {
	s := config.Settings{Agents: map[string]config.AgentSettings{"*": {}}, Models: map[string]config.ModelSettings{"*": {}}, Clients: map[string]config.ClientSettings{"*": {}}}.WithDefaults()
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		return nil
	}
	return doc
}
