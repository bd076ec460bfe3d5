package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// made are the plugin's files except the module, as they were read. Approval and
// copies refer to these bytes, not to later ones.
type made struct {
	manifest []byte            // nil for a .wasm alone
	beside   map[string][]byte // files the manifest refers to, by path below its folder
}

// Digest returns the digest, in hex, of the plugin's module, manifest and the
// files that the manifest refers to.
func (p *Plugin) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "weir plugin 1\nwasm %s\nmanifest %s\n", p.WasmSHA256, p.ManifestSHA256)
	for _, name := range slices.Sorted(maps.Keys(p.made.beside)) {
		fmt.Fprintf(h, "file %q %s\n", name, digest(p.made.beside[name]))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Files returns all files of the plugin, by slash path, and the path of its
// source. It returns an error if the module has changed since the scan.
func (p *Plugin) Files() (files map[string][]byte, source string, err error) {
	file, _, err := p.readBoth()
	if err != nil {
		return nil, "", err
	}
	if p.made.manifest == nil {
		source = filepath.Base(p.Source)
		return map[string][]byte{source: file}, source, nil
	}
	files = map[string][]byte{ManifestName: p.made.manifest, filepath.ToSlash(filepath.Clean(p.Manifest.Wasm)): file}
	for name, text := range p.made.beside {
		files[filepath.ToSlash(filepath.Clean(name))] = text
	}
	return files, ManifestName, nil
}

// Paths returns the paths of the plugin's files on disk.
func (p *Plugin) Paths() []string {
	if p.made.manifest == nil {
		return []string{p.Source}
	}
	out := []string{p.Source, p.WasmPath}
	for _, name := range slices.Sorted(maps.Keys(p.made.beside)) {
		out = append(out, filepath.Join(filepath.Dir(p.Source), name))
	}
	return out
}

// ReadPlugin reads the plugin of a source: a manifest, or a .wasm that contains
// one or has a third-party ABI. Its module must have the digest sha. The Plugin is
// usable if there is no Problem. ReadPlugin does not compare names with others.
func ReadPlugin(ctx context.Context, source, sha string, folder plugin.Folder, opt Options) (*Plugin, []Problem) {
	s := &scan{opt: opt, snap: &Snapshot{}}
	defer s.judges(ctx)()
	found := []reading{s.open(candidate{folder: folder, name: filepath.Base(source), source: source, packed: filepath.Base(source) != ManifestName})}
	r := &found[0]
	if bad := errorsOf(r.problems); len(bad) > 0 {
		return nil, bad
	}
	if r.plugin.WasmSHA256 != sha {
		return nil, []Problem{{File: r.plugin.WasmPath, Msg: tool.Textf("the module has other bytes than it should have")}}
	}
	s.describe(ctx, found)
	if r.pending {
		return nil, []Problem{{File: source, Msg: tool.Textf("the plugin has not said yet which tools it has")}}
	}
	return r.plugin, errorsOf(r.problems)
}

// Likeness returns the same text for names that look alike.
func Likeness(name string) string { return text.Lookalike(name) }
