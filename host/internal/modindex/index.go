package modindex

import (
	"io/fs"
	"maps"
	"path/filepath"
	"sync"
	"time"
)

// settle is how long a file must have been left alone before it was read, to be
// known: file systems count time in steps of up to two seconds, and a write
// within the step in which the file was read would not show.
const settle = 3 * time.Second

// Facts are what the bytes of a module say. They are shared and never changed.
type Facts struct {
	SHA256 string `json:"sha256"` // in hex
	Bytes  int    `json:"bytes"`
	// IsGo says that the Go toolchain built it.
	IsGo bool `json:"go,omitempty"`
	// Exports are the names of its exported functions, in the file's order.
	Exports []string `json:"exports,omitempty"`
	// Manifest is what the section for a manifest holds; nil: there is none.
	Manifest []byte `json:"manifest"`
	// Err is why the module is refused; nil: it is not. It is in memory only.
	Err error `json:"-"`
}

// An Index knows files. It is safe for concurrent use. A nil Index knows none.
type Index struct {
	store store

	mu    sync.Mutex
	known known
	fresh map[string]bool // paths and manifests that were asked for since Open, or kept
	dirty bool            // known is not what is on the disk
}

// known is all that an index knows.
type known struct {
	Files map[string]entry `json:"files"` // by absolute path
	Sound map[string]bool  `json:"sound"` // manifests, by sha256 in hex
}

// An entry is one file as it was when it was read.
type entry struct {
	print
	Facts
}

// Open reads the index of a program's version from a file. If the file is missing,
// damaged, of another version or writable by others, the index starts empty. An empty
// name keeps the index in memory only.
func Open(file, version string) *Index {
	x := &Index{store: store{file: file, version: version}, fresh: map[string]bool{}}
	x.known = x.store.read()
	return x
}

// Find returns what is known of the file at path, of which info was just seen.
func (x *Index) Find(path string, info fs.FileInfo) (Facts, bool) {
	if x == nil {
		return Facts{}, false
	}
	seen, ok := printOf(info)
	path, err := filepath.Abs(path)
	if !ok || err != nil {
		return Facts{}, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.known.Files[path]
	if !ok || e.print != seen {
		return Facts{}, false
	}
	x.fresh[path] = true
	return e.Facts, true
}

// Keep remembers what was found in a file. info is its state both
// before and after the reading, which began at the given time. A file that changed
// less than three seconds before is not remembered.
func (x *Index) Keep(path string, info fs.FileInfo, began time.Time, f Facts) {
	if x == nil {
		return
	}
	seen, ok := printOf(info)
	path, err := filepath.Abs(path)
	if !ok || err != nil || began.Sub(time.Unix(0, seen.Changed)) < settle {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if f.Err != nil && len(x.known.Files) >= mostFiles {
		return // a folder may get new files for ever
	}
	x.known.Files[path], x.fresh[path], x.dirty = entry{seen, f}, true, x.dirty || f.Err == nil
}

// Forget drops what is known of a file: its bytes are others.
func (x *Index) Forget(path string) {
	if x == nil {
		return
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.known.Files[path]; ok {
		delete(x.known.Files, path)
		x.fresh[path], x.dirty = true, true
	}
}

// Sound reports whether nothing was wrong with the manifest of that sha256 when
// it was read before.
func (x *Index) Sound(sha256 string) bool {
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.known.Sound[sha256] {
		return false
	}
	x.fresh[sha256] = true
	return true
}

// Vouch remembers that nothing is wrong with the manifest of that sha256.
func (x *Index) Vouch(sha256 string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.known.Sound[sha256] {
		x.known.Sound[sha256], x.dirty = true, true
	}
	x.fresh[sha256] = true
}

// Save writes the index down if there is something new, whole or not at all,
// with what other processes wrote of other plugins. Of two that save at once the
// last wins, which costs a reading. When it fails the index goes on in memory.
func (x *Index) Save() error {
	if x == nil || x.store.file == "" {
		return nil
	}
	x.mu.Lock()
	if !x.dirty {
		x.mu.Unlock()
		return nil
	}
	x.dirty = false
	mine, asked := known{maps.Clone(x.known.Files), maps.Clone(x.known.Sound)}, maps.Clone(x.fresh)
	x.mu.Unlock()
	theirs := x.store.read()
	for path, e := range theirs.Files {
		if !asked[path] {
			mine.Files[path] = e
		}
	}
	maps.Copy(mine.Sound, theirs.Sound)
	err := x.store.write(mine.pruned(asked, mostFiles, mostManifests))
	if err != nil {
		x.mu.Lock()
		x.dirty = true
		x.mu.Unlock()
	}
	return err
}
