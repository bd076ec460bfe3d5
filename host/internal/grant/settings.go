package grant

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/tool"
)

// Settings returns a plugin's settings for one of its tools, as the guest reads
// them: the operator's value for the tool, else that for the plugin, else the
// default. It records invalid and missing settings as missing.
func (r *Resolution) Settings(m registry.Manifest, toolName string, forTool, forPlugin map[string]any) map[string]string {
	out := map[string]string{}
	values := maps.Clone(forPlugin)
	if values == nil {
		values = map[string]any{}
	}
	maps.Copy(values, forTool)
	table := func(key string) string {
		if _, ok := forTool[key]; !ok && values[key] != nil {
			return "[grants." + m.Name + "]"
		}
		return "[tools." + toolName + "]"
	}
	var names []string
	for _, s := range m.Settings {
		names = append(names, s.Name)
		v, ok := values[s.Name]
		if !ok {
			if s.Default == nil {
				r.miss(tool.Textf("its setting %s has no default and is not set", s.Name))
				r.advise(tool.Textf("in tools.toml, below %s, write: config = { %s = … }", table(s.Name), s.Name))
				continue
			}
			v = s.Default
		}
		value, err := s.Value(v)
		if err != nil {
			r.miss(tool.Textf("the setting %s of %s %s", s.Name, table(s.Name), err))
			r.advise(tool.Textf("correct config below %s in tools.toml", table(s.Name)))
			continue
		}
		out[s.Name] = settingText(value)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			r.miss(tool.Textf("%s sets %s, which the plugin does not have", table(name), name))
			r.advise(tool.Textf("take it out of config below %s in tools.toml; the plugin has: %s", table(name), strings.Join(names, ", ")))
		}
	}
	return out
}

// ThirdPartySettings returns the settings of a tool of a plugin made for another
// host, which does not declare them: the plugin's values, replaced by the tool's.
func ThirdPartySettings(forTool, forPlugin map[string]any) map[string]string {
	out := map[string]string{}
	for _, values := range []map[string]any{forPlugin, forTool} {
		for k, v := range values {
			if !strings.HasPrefix(k, "weir.") {
				out[k] = settingText(v)
			}
		}
	}
	return out
}

// settingText returns a setting as a guest reads it: a string as it is, everything
// else as JSON.
func settingText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
