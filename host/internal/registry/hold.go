package registry

import (
	"path/filepath"
	"slices"
	"strings"
)

// A Held plugin is one whose files are still being written, or being looked into.
type Held struct {
	Name   string
	Source string
	Folder Folder
	// Problems are what is wrong with the files as they are now.
	Problems []Problem
	// Asked says that the files are whole, and asked for their tools.
	Asked bool
	// Serves says that the plugin of the snapshot before is in this one, too.
	Serves bool
}

// hold leaves a plugin as it was while its files are being written, or while
// what they hold now is asked for its tools, and reports whether it did.
func (s *scan) hold(c reading, bad []Problem) bool {
	old := s.opt.Previous.from(c.source)
	asked := c.pending && old != nil
	if !asked && !s.unsettled(c, old, len(bad) > 0) {
		return false
	}
	h := Held{Name: c.name, Source: c.source, Folder: c.folder, Problems: bad, Asked: asked}
	if old != nil && len(s.clashes(old)) == 0 {
		h.Name, h.Serves = old.Manifest.Name, true
		s.admit(old)
	}
	s.snap.Held = append(s.snap.Held, h)
	return true
}

// unsettled reports whether the files are not those of old, and still being
// written.
func (s *scan) unsettled(c reading, old *Plugin, broken bool) bool {
	if s.opt.Hold == nil {
		return false
	}
	if p := c.plugin; !broken && old != nil && old.WasmSHA256 == p.WasmSHA256 && old.ManifestSHA256 == p.ManifestSHA256 {
		return false
	}
	// What was refused has had its time: it waits only while it is written.
	return s.opt.Hold(c.source, broken && !s.opt.Previous.refused(c.source))
}

// refused reports whether a source is one of those that cannot be used.
func (s *Snapshot) refused(source string) bool {
	return s != nil && slices.ContainsFunc(s.Refused, func(r Refusal) bool { return r.Source == source })
}

// overlooked are plugins of the snapshot before that a folder's list lacks and
// that are there: a name that is just given to another file can be missing from
// the list, although it always stands for one of the two.
func (s *scan) overlooked(found []candidate) []candidate {
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

// folder is the one that a plugin of before lies in, as it is configured now;
// false: it is not any more.
func (s *scan) folder(old *Plugin) (Folder, bool) {
	i := slices.IndexFunc(s.folders, func(f Folder) bool { return f.Path == old.Folder.Path })
	if i < 0 {
		return Folder{}, false
	}
	return s.folders[i], true
}

// keepVanishing keeps plugins that have just gone from their folder: writers
// remove a file to put another in its place.
func (s *scan) keepVanishing(found []candidate) {
	if s.opt.Hold == nil || s.opt.Previous == nil {
		return
	}
	there := sourcesOf(found)
	for _, old := range s.opt.Previous.Plugins {
		if folder, ok := s.folder(old); !ok || folder != old.Folder || there[old.Source] || !s.opt.Hold(old.Source, false) || len(s.clashes(old)) > 0 {
			continue
		}
		s.snap.Held = append(s.snap.Held, Held{Name: old.Manifest.Name, Source: old.Source, Folder: old.Folder, Serves: true})
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

// from returns the usable plugin of a source; nil: there is none.
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
