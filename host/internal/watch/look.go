package watch

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFiles bounds one look. What lies beyond is seen by a reload by hand.
const maxFiles = 20000

// A look is what was seen of the files, by path.
type look map[string]fs.FileInfo

// kinds are the endings of files that plugins are made of.
var kinds = []string{".toml", ".wasm", ".json"}

// folder sees a plugin folder: files in it, and two levels of folders below.
func (l look) folder(path string) { l.dir(path, 2) }

// dir sees a folder and what is in it, and folders below to the given depth.
func (l look) dir(path string, depth int) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() || len(l) >= maxFiles {
		return
	}
	l[path] = st
	entries, err := os.ReadDir(path)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, below := e.Name(), filepath.Join(path, e.Name())
		switch {
		case ignored(name):
		case slices.Contains(kinds, filepath.Ext(name)):
			l.file(below)
			fallthrough // a folder may be named so too
		default:
			if depth > 0 && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
				l.dir(below, depth-1)
			}
		}
	}
}

// ignored reports whether a name is nothing of a plugin: the scan passes over
// hidden ones, and what builders fill may hold very many files.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "node_modules" || name == "target"
}

// file sees one file, if it is there.
func (l look) file(path string) {
	if st, err := os.Stat(path); err == nil && len(l) < maxFiles {
		l[path] = st
	}
}

// below returns the part of a look at one path and what is below it.
func (l look) below(path string) look {
	out, prefix := look{}, path+string(filepath.Separator)
	for p, st := range l {
		if p == path || strings.HasPrefix(p, prefix) {
			out[p] = st
		}
	}
	return out
}

// changes are the paths that one look saw differently than another. For what
// is gone it names the folder too, for nothing else of it is left.
func (l look) changes(next look) map[string]bool {
	out := map[string]bool{}
	for p, st := range next {
		if old, ok := l[p]; !ok || !same(old, st) {
			out[p] = true
		}
	}
	for p := range l {
		if _, ok := next[p]; !ok {
			out[p], out[filepath.Dir(p)] = true, true
		}
	}
	return out
}

// same reports whether a path holds what it held. Of a folder only its identity
// counts: its files speak for themselves.
func same(a, b fs.FileInfo) bool {
	if a.IsDir() && b.IsDir() {
		return os.SameFile(a, b)
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode() && os.SameFile(a, b)
}

// dirs are the folders of a look, which are to be watched, sorted.
func (l look) dirs() []string {
	set := map[string]bool{}
	for p, st := range l {
		if st.IsDir() {
			set[p] = true
			continue
		}
		set[filepath.Dir(p)] = true
		// The target of a link changes at its real path.
		if real, err := filepath.EvalSymlinks(p); err == nil && real != p {
			set[filepath.Dir(real)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
