// Package declared compares the configuration with what the manifests of plugins and the
// models declare.
package declared

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Tools returns the tools that the manifests of a plugin folder declare. It
// opens only modules that contain their manifest: a tool whose module is not built yet
// can be tried. leftOut receives a sentence for each manifest that a host of this
// version would not accept.
func Tools(ctx context.Context, dir, version string, leftOut func(tool.Text)) ([]tool.Spec, error) {
	var specs []tool.Spec
	err := eachManifest(ctx, dir, version, leftOut, func(m registry.Manifest, _ registry.ABI) {
		for _, t := range m.Tools {
			if slices.ContainsFunc(specs, func(s tool.Spec) bool { return s.Name == t.Spec.Name }) {
				leftOut(tool.Textf("the tool %s of %s is left out: another plugin declares that name", t.Spec.Name, m.Name))
				continue
			}
			specs = append(specs, t.Spec)
		}
	})
	if err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		return nil, msg.Usagef("give --plugins a folder of folders that each hold a "+registry.ManifestName, "no plugin in %s declares a tool", dir)
	}
	return specs, ctx.Err()
}

// eachManifest calls f for each manifest of a plugin folder.
func eachManifest(ctx context.Context, dir, version string, leftOut func(tool.Text), f func(registry.Manifest, registry.ABI)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return msg.Usagef("give --plugins the folder that the plugins lie in", "the plugin folder %s cannot be read", dir)
	}
	packed := false
	for _, e := range entries {
		packed = packed || strings.HasSuffix(e.Name(), ".wasm")
		if m, ok := manifest(filepath.Join(dir, e.Name(), registry.ManifestName), leftOut); ok {
			f(m, registry.ABIOwn)
		}
	}
	if packed {
		for _, p := range registry.Scan(ctx, []plugin.Folder{{Path: dir}}, registry.Options{Version: version}).Plugins {
			if p.Source == p.WasmPath {
				f(p.Manifest, p.ABI)
			}
		}
	}
	return nil
}

// CheckManifests returns the settings of tools and plugins that their manifests do not
// have, or have with another type. Plugins that cannot be read are not checked.
func CheckManifests(ctx context.Context, s config.Settings, version string) []config.Fault {
	var out []config.Fault
	seen := map[string]bool{}
	for _, folder := range s.Plugins.Folder {
		_ = eachManifest(ctx, folder.Path, version, func(tool.Text) {}, func(m registry.Manifest, abi registry.ABI) { // the host reports a folder that cannot be read
			if seen[m.Name] || abi != registry.ABIOwn {
				return
			}
			seen[m.Name] = true
			out = append(out, checkConfig(s, m, s.Grants[m.Name].Config, "grants", m.Name)...)
			for _, t := range m.Tools {
				out = append(out, checkConfig(s, m, s.Tools[t.Spec.Name].Config, "tools", t.Spec.Name)...)
			}
			for name, set := range s.Tools {
				fits := func(t registry.Tool) bool { return toolname.MatchAllowed(name, toolname.Names{Name: t.Spec.Name}) }
				if toolname.IsPattern(name) && slices.ContainsFunc(m.Tools, fits) {
					out = append(out, checkConfig(s, m, has(m, set.Config), "tools", name)...)
				}
			}
		})
	}
	slices.SortStableFunc(out, func(a, b config.Fault) int { return a.Line - b.Line })
	return out
}

// has returns the settings that a manifest has: of a table for many tools the others are for
// other plugins.
func has(m registry.Manifest, values map[string]any) map[string]any {
	out := map[string]any{}
	for _, one := range m.Settings {
		if v, ok := values[one.Name]; ok {
			out[one.Name] = v
		}
	}
	return out
}

// checkConfig checks the key config of one table.
func checkConfig(s config.Settings, m registry.Manifest, values map[string]any, table ...string) []config.Fault {
	var out []config.Fault
	var names []string
	for _, one := range m.Settings {
		names = append(names, one.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key := slices.Concat(table, []string{"config", name})
		i := slices.Index(names, name)
		if i < 0 {
			hint := config.DidYouMean(text.Nearest(name, names))
			switch {
			case len(names) == 0:
				hint = tool.Textf("remove it: the plugin has no settings")
			case hint.IsZero():
				hint = tool.Textf("the plugin has: %s", strings.Join(names, ", "))
			}
			out = append(out, s.Fault(tool.Textf("[%s] config sets %s, which the plugin %s does not have", strings.Join(table, "."), name, m.Name), hint, key...))
			continue
		}
		if _, err := m.Settings[i].Value(values[name]); err != nil {
			out = append(out, s.Fault(tool.Textf("[%s] config: %s %v", strings.Join(table, "."), name, err), tool.Textf("correct the value"), key...))
		}
	}
	return out
}

// manifest reads one manifest. It returns false if there is none that can be used.
func manifest(file string, leftOut func(tool.Text)) (registry.Manifest, bool) {
	if base := filepath.Base(filepath.Dir(file)); base[0] == '.' || base[0] == '_' {
		return registry.Manifest{}, false // a host skips them too
	}
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() {
		return registry.Manifest{}, false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		leftOut(tool.Textf("the manifest %s cannot be read and is left out", file))
		return registry.Manifest{}, false
	}
	m, problems := registry.ParseManifest(file, text)
	for _, p := range problems {
		if !p.Warning {
			leftOut(tool.Textf("left out: %v", p.Text()))
			return registry.Manifest{}, false
		}
	}
	return m, true
}

// Tool returns the tool of a name. The error suggests similar names.
func Tool(specs []tool.Spec, name, dir string) (tool.Spec, error) {
	var names []string
	for _, s := range specs {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	hint := tool.Textf("the tools are: %s", strings.Join(names, ", "))
	if near := text.Nearest(name, names); len(near) > 0 {
		hint = config.DidYouMean(near)
	}
	return tool.Spec{}, &msg.Problem{Code: msg.Usage, Text: tool.Textf("no plugin in %s declares a tool named %q", dir, name), Hint: hint}
}
