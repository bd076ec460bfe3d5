package catalog

import (
	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
)

// Review returns what a person reads about a plugin. e is its entry; nil if it is
// invalid, or not a plugin.
func (c *Catalog) Review(info plugin.Info, e *Entry) plugin.Review {
	r := plugin.Review{Plugin: info, History: c.history(info.Name)}
	if e == nil {
		return r
	}
	if e.Plugin != nil {
		r.Serving = c.version(e.Plugin)
		r.Serving.Source = info.Source
	}
	if e.Offered != nil {
		r.Pending = c.version(e.Offered)
	}
	if r.Serving != nil && r.Pending != nil {
		r.Changes = append(differences(e.Plugin, e.Offered), scriptDifference(e.Plugin, e.Offered)...)
		if r.Serving.Source != r.Pending.Source {
			r.Changes = append(r.Changes, plugin.Difference{Kind: "source", Was: own(r.Serving.Source), Is: own(r.Pending.Source)})
		}
	}
	return r
}

// Unknown returns the error about a name that no plugin has.
func (c *Catalog) Unknown(snap *registry.Snapshot, name string) error {
	lock := c.lock()
	if lock == nil {
		lock = &lockfile.Lock{}
	}
	if lock.Plugins[name] != nil {
		return goneError(name)
	}
	return notFound(snap, lock, name)
}

// history returns the approved versions of a plugin, the newest first.
func (c *Catalog) history(name string) []plugin.ApprovedVersion {
	lock := c.lock()
	if lock == nil || lock.Plugins[name] == nil {
		return nil
	}
	var out []plugin.ApprovedVersion
	e := lock.Plugins[name]
	for _, v := range e.History {
		current := v.Digest == e.Digest
		out = append(out, plugin.ApprovedVersion{
			Approval: plugin.Approval{By: v.By, At: v.At, RolledBack: e.RolledBack && current}, Version: v.Version, Digest: v.Digest,
			Source: v.Source, Powers: v.Powers, Current: current, HasCopy: v.Copy != "",
		})
	}
	return out
}

// version returns what a plugin's bytes declare.
func (c *Catalog) version(pl *registry.Plugin) *plugin.Version {
	m := pl.Manifest
	resolver := c.cfg.Resolver()
	r := resolver.Resolve(m.Asks, resolver.Grants[m.Name])
	v := &plugin.Version{
		Version: m.Version, Digest: pl.Digest(), WasmSHA256: pl.WasmSHA256, WasmBytes: pl.WasmBytes, ManifestSHA256: pl.ManifestSHA256,
		Source: pl.Source, File: pl.WasmPath, Asks: r.Asks, SuggestedEdits: r.SuggestedEdits, Missing: r.Missing,
	}
	for _, f := range settingsOf(m) {
		v.Settings = append(v.Settings, plugin.Difference{Kind: f.kind, Name: f.name, Is: f.value})
	}
	for _, def := range m.Tools {
		v.Tools = append(v.Tools, c.cfg.Limits(def.Spec, pl))
	}
	return v
}
