// Package plugindir lists what in a plugin folder may be a plugin. A folder may hold
// very many files, by mistake or on purpose: List bounds what it returns, and prefers
// plugins that are known, files that are not empty, and the newest.
package plugindir

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The bounds of one folder.
const (
	// Most is how many plugins are read.
	Most = 1000
	// maxNames is how many names are listed, in the order of the file system.
	maxNames = 100_000
	// maxStray is how many modules and scripts without a manifest are named.
	maxStray = 20
)

// A Candidate may be a plugin.
type Candidate struct {
	Name   string // of the folder or file
	Source string // the manifest, or the .wasm alone
	Packed bool   // a .wasm alone
	File   string // the module or script of a Stray; empty: the folder is empty
}

// A Listing is what List finds.
type Listing struct {
	Found []Candidate // at most Most, sorted by name
	Left  []Candidate // those over Most, sorted by name
	Stray []Candidate // folders that hold a module or script but no manifest, empty folders, and scripts alone
}

// List reads a plugin folder. The manifest of a plugin's folder has the given name.
// known reports whether a plugin is in use; nil: none is.
func List(dir, manifest string, known func(source string) bool) (Listing, error) {
	entries, err := Names(dir)
	if err != nil {
		return Listing{}, err
	}
	var l Listing
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		packed, script := strings.HasSuffix(name, ".wasm"), slices.Contains([]string{".js", ".ts"}, filepath.Ext(name))
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || e.Type().IsRegular() && !packed && !script {
			continue
		}
		c := Candidate{Name: name, Source: path, Packed: packed}
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			c = Candidate{Name: name, Source: filepath.Join(path, manifest)}
			if _, err := os.Lstat(c.Source); errors.Is(err, fs.ErrNotExist) { // a dangling link counts
				if len(l.Stray) < maxStray {
					l.lookInto(name, path)
				}
				continue
			}
		} else if script {
			l.stray(name, path, path)
			continue
		} else if !packed {
			continue
		}
		l.Found = append(l.Found, c)
	}
	l.bound(known)
	return l, nil
}

// Names returns the entries of a folder, sorted by name, but not all of a very large
// one.
func Names(dir string) ([]fs.DirEntry, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// openFolder opens a folder. The separator at the end makes the opening of a pipe that has
// taken its place an error: without it the opening would wait for a writer.
func openFolder(path string) (*os.File, error) { return os.Open(path + string(filepath.Separator)) }

// lookInto adds a folder without a manifest if it holds a module or a script, or nothing.
func (l *Listing) lookInto(name, path string) {
	entries, err := Names(path)
	if err == nil && len(entries) == 0 {
		l.stray(name, path, "")
		return
	}
	for _, ending := range []string{".wasm", ".js", ".ts"} {
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ending {
				l.stray(name, path, filepath.Join(path, e.Name()))
				return
			}
		}
	}
}

// stray notes a module or script without a manifest, or an empty folder.
func (l *Listing) stray(name, source, file string) {
	if len(l.Stray) < maxStray {
		l.Stray = append(l.Stray, Candidate{Name: name, Source: source, File: file})
	}
}

// bound moves what is over Most from Found to Left.
func (l *Listing) bound(known func(source string) bool) {
	if len(l.Found) <= Most {
		return
	}
	type ranked struct {
		Candidate
		known, empty bool
		modified     time.Time
	}
	all := make([]ranked, 0, len(l.Found))
	for _, c := range l.Found {
		r := ranked{Candidate: c, known: known != nil && known(c.Source), empty: true}
		if st, err := os.Stat(c.Source); err == nil {
			r.empty, r.modified = st.Size() == 0, st.ModTime()
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(first(a.known, b.known), first(b.empty, a.empty), b.modified.Compare(a.modified))
	})
	l.Found = nil
	for i, r := range all {
		if i < Most {
			l.Found = append(l.Found, r.Candidate)
		} else {
			l.Left = append(l.Left, r.Candidate)
		}
	}
	byName := func(a, b Candidate) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(l.Found, byName)
	slices.SortFunc(l.Left, byName)
}

// first orders what has a property before what lacks it.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
