package registry

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/plugin"
)

// An InFlux plugin has files that are still being written, or a tool list that is
// still being requested.
type InFlux struct {
	Name   string
	Source string
	Folder plugin.Folder
	// Problems are those of the current files.
	Problems []Problem
	// Asked reports that the files are complete and the tool list is requested.
	Asked bool
	// Serves reports that this snapshot contains the earlier version.
	Serves bool
}

// keepInFlux keeps the earlier version of a plugin while its files are being
// written or its tool list is requested. It reports whether it did.
func (s *scan) keepInFlux(c reading, bad []Problem) bool {
	old := s.opt.Previous.from(c.source)
	asked := c.pending && old != nil
	if !asked && !s.unsettled(c, old, len(bad) > 0) {
		return false
	}
	h := InFlux{Name: c.name, Source: c.source, Folder: c.folder, Problems: bad, Asked: asked}
	if old != nil && len(s.clashes(old)) == 0 {
		h.Name, h.Serves = old.Manifest.Name, true
		s.admit(old)
	}
	s.snap.InFlux = append(s.snap.InFlux, h)
	return true
}

// unsettled reports whether the files differ from old and are still being written.
func (s *scan) unsettled(c reading, old *Plugin, broken bool) bool {
	if s.opt.InFlux == nil {
		return false
	}
	if p := c.plugin; !broken && old != nil && old.WasmSHA256 == p.WasmSHA256 && old.ManifestSHA256 == p.ManifestSHA256 {
		return false
	}
	// A refused plugin already had its grace period. It waits only during a write.
	return s.opt.InFlux(c.source, broken && s.opt.Previous.refused(c.source) == nil)
}

// refused returns why the snapshot refuses the plugin of a source; nil: it does not. Refused
// is sorted by it.
func (s *Snapshot) refused(source string) *Refusal {
	if s == nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(s.Refused, source, func(r Refusal, source string) int { return cmp.Compare(r.Source, source) })
	if !found {
		return nil
	}
	return &s.Refused[i]
}

// Writing reports whether the files of a source are still being written.
func (s *Snapshot) Writing(source string) bool {
	return slices.ContainsFunc(s.InFlux, func(one InFlux) bool { return one.Source == source })
}

// missedByListing returns plugins of the previous snapshot that a folder's listing
// lacks although they exist: a listing can miss a name while a rename replaces its
// file.
func (s *scan) missedByListing(found []candidate) []candidate {
	if s.opt.Previous == nil {
		return nil
	}
	var out []candidate
	there := sourcesOf(found)
	for _, old := range s.opt.Previous.Plugins {
		folder, ok := s.folder(old)
		if !ok || there[old.Source] || !exists(old.Source) {
			continue
		}
		c := candidate{folder: folder, source: old.Source, packed: old.Source == old.WasmPath}
		if c.name = strings.TrimSuffix(filepath.Base(old.Source), ".wasm"); !c.packed {
			c.name = filepath.Base(filepath.Dir(old.Source))
		}
		out = append(out, c)
	}
	return out
}

// folder returns the current configuration of an earlier plugin's folder, or false
// if the folder is no longer configured.
func (s *scan) folder(old *Plugin) (plugin.Folder, bool) {
	i := slices.IndexFunc(s.folders, func(f plugin.Folder) bool { return f.Path == old.Folder.Path })
	if i < 0 {
		return plugin.Folder{}, false
	}
	return s.folders[i], true
}

// keepVanished keeps plugins whose file has just disappeared, because some writers
// remove a file before they write the new one.
func (s *scan) keepVanished(found []candidate) {
	if s.opt.InFlux == nil || s.opt.Previous == nil {
		return
	}
	there := sourcesOf(found)
	for _, old := range s.opt.Previous.Plugins {
		if folder, ok := s.folder(old); !ok || folder != old.Folder || there[old.Source] || !s.opt.InFlux(old.Source, false) || len(s.clashes(old)) > 0 {
			continue
		}
		s.snap.InFlux = append(s.snap.InFlux, InFlux{Name: old.Manifest.Name, Source: old.Source, Folder: old.Folder, Serves: true})
		s.admit(old)
	}
}

func sourcesOf(all []candidate) map[string]bool {
	out := make(map[string]bool, len(all))
	for _, c := range all {
		out[c.source] = true
	}
	return out
}

// from returns the usable plugin of a source, or nil.
func (s *Snapshot) from(source string) *Plugin {
	if s == nil {
		return nil
	}
	s.once.Do(func() {
		s.bySource = make(map[string]*Plugin, len(s.Plugins))
		for _, p := range s.Plugins {
			s.bySource[p.Source] = p
		}
	})
	return s.bySource[source]
}
