package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Keep stores the files of a version, by slash path, and returns what its Copy
// is: the path of source. A copy that is there already is replaced, since
// nobody knows what became of it. The error is a *Fault.
func (b Book) Keep(digest string, files map[string][]byte, source string) (string, error) {
	err := b.keep(digest, files)
	if err != nil {
		return "", &Fault{fmt.Sprintf("no copy can be kept in %s: %s", b.Dir, cause(err)), "free some space, or let the user that runs weir write there"}
	}
	return digest + "/" + source, nil
}

func (b Book) keep(digest string, files map[string][]byte) error {
	if !hexDigest().MatchString(digest) {
		return fmt.Errorf("%q is no digest", digest)
	}
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(b.Dir, unfinished)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for name, text := range files {
		if name = filepath.FromSlash(name); !filepath.IsLocal(name) {
			return fmt.Errorf("%q leads out of the plugin's folder", name)
		}
		path := filepath.Join(tmp, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := write(path, text); err != nil {
			return err
		}
	}
	to := filepath.Join(b.Dir, digest)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Rename(tmp, to); err != nil {
		return err
	}
	return syncDir(b.Dir)
}

// unfinished begins the name of a copy that is being written.
const unfinished = ".new-"

// Path is where a version's source lies.
func (b Book) Path(v *Version) string { return filepath.Join(b.Dir, filepath.FromSlash(v.Copy)) }

// Drop forgets the copies that are too many, in l and then on the disk: of
// each plugin the one in force and the Previous newest others stay. Call it
// before l is written, and Sweep behind.
func (l *Lock) Drop() {
	for _, e := range l.Plugins {
		kept := 0
		for _, v := range e.History {
			if v.Copy == "" || v.Digest == e.Digest {
				continue
			}
			if kept++; kept > Previous {
				v.Copy = ""
			}
		}
	}
}

var copyName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(` + regexp.QuoteMeta(unfinished) + `.*|[0-9a-f]{64})$`)
})

// Sweep removes the copies that l does not name. What cannot be removed now is
// tried the next time.
func (b Book) Sweep(l *Lock) {
	entries, err := os.ReadDir(b.Dir)
	if err != nil {
		return
	}
	named := map[string]bool{}
	for _, e := range l.Plugins {
		for _, v := range e.History {
			if v.Copy != "" {
				named[v.Digest] = true
			}
		}
	}
	for _, e := range entries {
		if copyName().MatchString(e.Name()) && !named[e.Name()] {
			_ = os.RemoveAll(filepath.Join(b.Dir, e.Name()))
		}
	}
}

// write makes a file whose bytes are on the disk when it returns.
func write(path string, text []byte) error {
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

// replace puts text in the place of a file, all of it or nothing.
func replace(file string, text []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp := file + ".new" // one name: a crash leaves one file, which the next write takes
	if err := write(tmp, text); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, file); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return syncDir(dir)
}

// syncDir puts a folder's names on the disk. Windows has no way to do so.
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

// cause is what went wrong, without the path that the sentence names already.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err.Error()
	}
	return err.Error()
}

// quoted writes a path as one word of a shell.
func quoted(path string) string {
	if !slices.ContainsFunc([]rune(path), func(r rune) bool { return strings.ContainsRune(" '\"\\$`&;|<>()*?[]{}!#~\t\n", r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
