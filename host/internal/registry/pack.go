package registry

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/within"
	"github.com/weirhost/weir/sdk/tool"
)

// Check reads one plugin like a scan. path is a folder with a manifest, the
// manifest itself, or a single .wasm. Check returns all Problems. The Plugin is
// usable if none is an error; it is nil if nothing is known. Check does not
// request the tool list of a third-party plugin.
func Check(path, version string) (*Plugin, []Problem) {
	st, err := os.Stat(path)
	if err != nil {
		p := unreadable(path, tool.Textf("the plugin cannot be read"), err)
		if errors.Is(err, fs.ErrNotExist) {
			p.Fix = tool.Textf("name the folder of a plugin, or its .wasm file")
		}
		return nil, []Problem{p}
	}
	c := candidate{source: path, packed: true}
	switch {
	case st.IsDir():
		c.source, c.packed = filepath.Join(path, ManifestName), false
	case strings.HasSuffix(path, ".toml"):
		c.packed = false
	case isScript(path), strings.HasSuffix(path, ".ts"):
		return nil, []Problem{*loneProblem(path, path)}
	}
	if !c.packed && !exists(c.source) {
		return nil, []Problem{{File: path, Msg: tool.Textf("the folder holds no %s", ManifestName), Fix: tool.Textf("add one, or name the plugin's own folder")}}
	}
	s := &scan{opt: Options{Version: version}, snap: &Snapshot{}, owner: map[string]*Plugin{}, thorough: true}
	return s.read(c)
}

// Pack writes the manifest of the plugin at path, a folder or a manifest, into
// its module, and returns the new module. strip removes the module's other custom
// sections. The same files give the same bytes. Pack returns no module if a
// Problem is an error.
func Pack(path, version string, strip bool) (p *Plugin, packed []byte, problems []Problem) {
	p, problems = Check(path, version)
	if len(errorsOf(problems)) > 0 {
		return p, nil, problems
	}
	if p.Source == p.WasmPath {
		return p, nil, append(problems, Problem{File: path, Msg: tool.Textf("a .wasm alone is no plugin in parts"), Fix: tool.Textf("name the folder with its %s", ManifestName)})
	}
	text, err := (within.Place{Name: p.Source}).ReadFile(maxManifest)
	if err != nil {
		return p, nil, append(problems, unreadable(p.Source, tool.Textf("the manifest cannot be read"), err))
	}
	if digest(text) != p.ManifestSHA256 {
		return p, nil, append(problems, Problem{File: p.Source, Msg: tool.Textf("the manifest has just changed"), Fix: tool.Textf("pack it again")})
	}
	text, problem := selfContained(p.Source, text)
	if problem != nil {
		return p, nil, append(problems, *problem)
	}
	wasm, err := p.Read()
	if err != nil {
		return p, nil, append(problems, Problem{File: p.WasmPath, Msg: msg.Of(err), Fix: tool.Textf("pack it again")})
	}
	if packed, err = sandbox.Rewrap(wasm, SectionName, text, strip); err != nil {
		return p, nil, append(problems, notAModule(p.WasmPath, err))
	}
	if len(packed) > maxWasm {
		return p, nil, append(problems, Problem{File: p.WasmPath, Msg: tool.Textf("the packed module is %d bytes long, and at most %d are read", len(packed), maxWasm), Fix: tool.Textf("build it smaller, or strip it")})
	}
	// Check that a host reads the same manifest from the packed module.
	again := &Plugin{Source: p.Source, WasmPath: p.Source}
	bad := (&scan{opt: Options{Version: version}, snap: &Snapshot{}}).readSection(again, inspectModule(packed, digest(packed)))
	for i, t := range again.Manifest.Tools {
		if i < len(p.Manifest.Tools) && !sameSchema(t, p.Manifest.Tools[i]) {
			bad = append(bad, Problem{File: p.Source, Key: "tool.params_file", Msg: tool.Textf("the schema of %s is another one when it is packed", t.Spec.Name), Fix: tool.Textf("write the schema into [tool.params]")})
		}
	}
	if bad = errorsOf(bad); len(bad) > 0 {
		return p, nil, append(problems, bad...)
	}
	return p, packed, problems
}

// sameSchema reports whether two tools have the same parameters in the same order.
func sameSchema(a, b Tool) bool {
	var x, y any
	return json.Unmarshal(a.Spec.Params, &x) == nil && json.Unmarshal(b.Spec.Params, &y) == nil && reflect.DeepEqual(x, y) &&
		slices.Equal(a.Schema.Names(), b.Schema.Names())
}
