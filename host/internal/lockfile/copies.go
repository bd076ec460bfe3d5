package lockfile

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// AddCopy stores the files of a version, by slash path, and returns its Copy: the
// path of source. It replaces an existing copy, which may have been modified. The
// error is an *Error.
func (s Store) AddCopy(digest string, files map[string][]byte, source string) (string, error) {
	if err := s.addCopy(digest, files); err != nil {
		return "", &Error{tool.Textf("no copy can be kept in %s: %s", s.Copies, msg.Reason(err)), tool.Textf("free some space, or let the user that runs weir write there")}
	}
	return digest + "/" + source, nil
}

// Files returns the files of a copy, by slash path.
func (s Store) Files(digest string) (map[string][]byte, error) {
	files, dir := map[string][]byte{}, os.DirFS(filepath.Join(s.Copies, digest))
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files[name], err = fs.ReadFile(dir, name)
		}
		return err
	})
	return files, err
}

func (s Store) addCopy(digest string, files map[string][]byte) error {
	if !hexDigest().MatchString(digest) {
		return msg.Errorf("%q is no digest", digest)
	}
	if err := os.MkdirAll(s.Copies, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(s.Copies, unfinishedPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for name, text := range files {
		if name = filepath.FromSlash(name); !filepath.IsLocal(name) {
			return msg.Errorf("%q leads out of the plugin's folder", name)
		}
		path := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := writeFile(path, text); err != nil {
			return err
		}
	}
	to := filepath.Join(s.Copies, digest)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Rename(tmp, to); err != nil {
		return err
	}
	return syncDir(s.Copies)
}

// unfinishedPrefix starts the name of a copy that is being written.
const unfinishedPrefix = ".new-"

// CopyPath returns the path of the source in a version's copy.
func (s Store) CopyPath(v *Version) string {
	return filepath.Join(s.Copies, filepath.FromSlash(v.Copy))
}

// PruneCopies clears the Copy of versions that need none: each plugin keeps those
// of the current version and of the PreviousCopies newest others. Call it before
// Save, and RemoveUnused afterwards.
func (l *Lock) PruneCopies() {
	for _, e := range l.Plugins {
		kept := 0
		for _, v := range e.History {
			if v.Copy == "" || v.Digest == e.Digest {
				continue
			}
			if kept++; kept > PreviousCopies {
				v.Copy = ""
			}
		}
	}
}

var copyName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(` + regexp.QuoteMeta(unfinishedPrefix) + `.*|[0-9a-f]{64})$`)
})

// RemoveUnused deletes the copies that no lock names. It ignores errors; the next
// call tries again.
func (s Store) RemoveUnused(locks ...*Lock) {
	entries, err := os.ReadDir(s.Copies)
	if err != nil {
		return
	}
	named := map[string]bool{}
	for _, l := range locks {
		for _, e := range l.Plugins {
			for _, v := range e.History {
				if v.Copy != "" {
					named[v.Digest] = true
				}
			}
		}
	}
	for _, e := range entries {
		if copyName().MatchString(e.Name()) && !named[e.Name()] {
			_ = os.RemoveAll(filepath.Join(s.Copies, e.Name()))
		}
	}
}

// writeFile writes a file and syncs it to disk.
func writeFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return cmp.Or(err, f.Close())
}

// replaceFile atomically replaces a file.
func replaceFile(file string, text []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp := file + ".new" // one name: after a crash the next write reuses the file
	if err := writeFile(tmp, text); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, file); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return syncDir(dir)
}

// syncDir syncs a folder's names to disk. Windows has no way to do so.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return cmp.Or(d.Sync(), d.Close())
}
