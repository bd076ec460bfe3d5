package watch

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/plugindir"
)

// The bounds of one look at a plugin folder. A current plugin's files are seen beyond
// them, and a folder that lies beyond them is seen by a reload by hand.
const (
	maxFiles = 20000 // files and folders
	maxHere  = 1000  // of them, those in one folder; the newest count
)

// A look is what was seen of the files, by path.
type look map[string]fs.FileInfo

// A full folder holds more than a look sees of it. Its own time says whether one of the
// others came or went.
type full struct{ fs.FileInfo }

// kinds are the endings of files that plugins are made of.
var kinds = []string{".toml", ".wasm", ".json", ".js", ".ts"}

// folder sees a folder, files in it, and folders below to the given depth, level by
// level. The folders of a level share what is left of the bound: one with very many
// files hides no other.
func (l look) folder(path string, depth int) {
	end := len(l) + maxFiles
	for level := []string{path}; len(level) > 0 && depth >= 0; depth-- {
		var below []string
		for i, dir := range level {
			below = append(below, l.dir(dir, min(maxHere, (end-len(l))/(len(level)-i)), depth > 0)...)
		}
		level = below
	}
}

// dir sees a folder and at most so many files and folders in it, and returns the
// folders, if they are wanted.
func (l look) dir(path string, most int, deeper bool) (below []string) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return nil
	}
	l[path] = st
	entries, err := plugindir.Names(path)
	if err != nil {
		return nil
	}
	folder := func(e fs.DirEntry) bool { return deeper && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) }
	file := func(e fs.DirEntry) bool { return slices.Contains(kinds, filepath.Ext(e.Name())) } // or a folder that is named so
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return ignored(e.Name()) || !file(e) && !folder(e) })
	if len(entries) > most {
		l[path], entries = full{st}, newest(entries, most)
	}
	for _, e := range entries {
		if file(e) {
			l.file(filepath.Join(path, e.Name()))
		}
		if folder(e) {
			below = append(below, filepath.Join(path, e.Name()))
		}
	}
	return below
}

// newest returns the n newest entries.
func newest(entries []fs.DirEntry, n int) []fs.DirEntry {
	at := make(map[string]time.Time, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			at[e.Name()] = info.ModTime()
		}
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return at[b.Name()].Compare(at[a.Name()]) })
	return entries[:max(n, 0)]
}

// ignored reports whether a name is nothing of a plugin: the scan passes over
// hidden ones, and what builders fill may hold very many files.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "node_modules" || name == "target"
}

// file sees one file, if it is there.
func (l look) file(path string) {
	if st, err := os.Stat(path); err == nil {
		l[path] = st
	}
}

// more sees the listed files whose paths have a prefix. list may be nil.
func (l look) more(list func() []string, prefix string) {
	if list == nil {
		return
	}
	for _, f := range list() {
		if strings.HasPrefix(f, prefix) {
			l.file(f)
		}
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
		if old, ok := l[p]; ok && !same(old, st) || !ok && !l.beyond(p) {
			out[p] = true
		}
	}
	for p := range l {
		if _, ok := next[p]; !ok && !next.beyond(p) {
			out[p], out[filepath.Dir(p)] = true, true
		}
	}
	return out
}

// beyond reports whether a path may be missing from a look because a folder above it
// is full.
func (l look) beyond(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if st, ok := l[dir]; ok || dir == filepath.Dir(dir) {
			_, partly := st.(full)
			return partly
		}
	}
}

// same reports whether a path holds what it held. Of a folder only its identity
// counts: its files speak for themselves, unless it is full.
func same(a, b fs.FileInfo) bool {
	if a.IsDir() && b.IsDir() {
		_, partly := a.(full)
		_, also := b.(full)
		return os.SameFile(bare(a), bare(b)) && (!partly && !also || a.ModTime().Equal(b.ModTime()))
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode() && os.SameFile(a, b)
}

// bare returns the info that the system gave.
func bare(st fs.FileInfo) fs.FileInfo {
	if f, ok := st.(full); ok {
		return f.FileInfo
	}
	return st
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
		if at, err := os.Lstat(p); err == nil && at.Mode()&fs.ModeSymlink != 0 {
			if real, err := filepath.EvalSymlinks(p); err == nil {
				set[filepath.Dir(real)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}
