package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// DeclaredTools returns the tools that the manifests of a plugin folder declare. It
// opens only modules that contain their manifest: a tool whose module is not built yet
// can be tried. leftOut receives a sentence for each manifest that a host of this
// version would not accept.
func DeclaredTools(ctx context.Context, dir, version string, leftOut func(tool.Text)) ([]tool.Spec, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, msg.Usagef("give --plugins the folder that the plugins lie in", "the plugin folder %s cannot be read", dir)
	}
	var specs []tool.Spec
	add := func(m registry.Manifest) {
		for _, t := range m.Tools {
			if slices.ContainsFunc(specs, func(s tool.Spec) bool { return s.Name == t.Spec.Name }) {
				leftOut(tool.Textf("the tool %s of %s is left out: another plugin declares that name", t.Spec.Name, m.Name))
				continue
			}
			specs = append(specs, t.Spec)
		}
	}
	packed := false
	for _, e := range entries {
		packed = packed || strings.HasSuffix(e.Name(), ".wasm")
		if m, ok := manifest(filepath.Join(dir, e.Name(), registry.ManifestName), leftOut); ok {
			add(m)
		}
	}
	if packed {
		for _, p := range registry.Scan(ctx, []plugin.Folder{{Path: dir}}, registry.Options{Version: version}).Plugins {
			if p.Source == p.WasmPath {
				add(p.Manifest)
			}
		}
	}
	if len(specs) == 0 {
		return nil, msg.Usagef("give --plugins a folder of folders that each hold a "+registry.ManifestName, "no plugin in %s declares a tool", dir)
	}
	return specs, ctx.Err()
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

// Declared returns the tool of a name. The error suggests similar names.
func Declared(specs []tool.Spec, name, dir string) (tool.Spec, error) {
	var names []string
	for _, s := range specs {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	hint := tool.Textf("the tools are: %s", strings.Join(names, ", "))
	if near := text.Nearest(name, names); len(near) > 0 {
		hint = didYouMean(near)
	}
	return tool.Spec{}, &msg.Problem{Code: msg.Usage, Text: tool.Textf("no plugin in %s declares a tool named %q", dir, name), Hint: hint}
}
