package files

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Skipped are folder names that Walk never enters: they hold copies, caches
// or history, not what people write.
func Skipped(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache", ".idea":
		return true
	}
	return false
}

// An Entry is a file or folder met by Walk.
type Entry struct {
	Name  string // inside the tree
	Depth int    // 1 for the entries of the start folder
	fs.DirEntry
}

// Walk visits what lies under a folder, folders before their content, names
// in order. Links are not followed, skipped folders are visited but not
// entered. visit may return fs.SkipDir for a folder or fs.SkipAll. A folder
// that cannot be read is passed over: one of them must not hide the rest.
func (t Tree) Walk(start string, visit func(Entry) error) error {
	err := t.walk(start, 1, visit)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (t Tree) walk(dir string, depth int, visit func(Entry) error) error {
	entries, err := fs.ReadDir(t.FS, dir)
	if err != nil && depth == 1 {
		return t.explain(dir, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, d := range entries {
		e := Entry{path.Join(dir, d.Name()), depth, d}
		err := visit(e)
		if errors.Is(err, fs.SkipDir) {
			continue
		}
		if err == nil && e.IsDir() && !Skipped(e.DirEntry.Name()) {
			err = t.walk(e.Name, depth+1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
