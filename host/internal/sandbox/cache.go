package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/weirhost/weir/host/internal/msg"
)

// diskCache keeps compiled code in one folder per module. The engine guards
// its files with little and trusts their headers, so that a damaged one can
// take the process down; therefore the folder lists its files with their
// sha256, and a folder that does not fit its list is thrown away.
type diskCache struct {
	dir     string
	version string // of the engine, part of what a module's folder is named by
}

// cacheBytes is how much compiled code is kept; the modules that were not used
// for longest go first. A Go guest takes about 10 MB.
const cacheBytes = 1 << 30

const sumsFile = "SUMS"

// versionDir begins the names of folders in which the engine tells its version.
const versionDir = "version-"

// openCache finds the folder that is meant. What only reads makes and prunes
// nothing: several processes may read at once.
func openCache(c Config) (*diskCache, error) {
	dir := c.CacheDir
	if c.Unchecked {
		dir = filepath.Join(dir, uncheckedDir)
	}
	cache := &diskCache{dir: dir, version: c.CacheVersion}
	if c.ReadCache && cache.version != "" {
		return cache, nil
	}
	return cache, cache.open(!c.ReadCache)
}

// uncheckedDir keeps code without loop checks, which must never be run by an
// engine that relies on them.
const uncheckedDir = "unchecked"

// open makes the folder, for this user alone, and prunes it if that is wanted.
func (c *diskCache) open(prune bool) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return msg.Errorf("cannot make the folder for compiled plugins: %w", err)
	}
	info, err := os.Stat(c.dir)
	if err != nil {
		return msg.Errorf("cannot use the folder for compiled plugins: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(c.dir, 0o700); err != nil {
			return msg.Errorf("the folder for compiled plugins is open to other users, and its content is executed: %w", err)
		}
	}
	if c.version == "" {
		if c.version, err = engineVersion(c.dir); err != nil {
			return msg.Errorf("cannot use the folder for compiled plugins: %w", err)
		}
	}
	if prune {
		c.prune(cacheBytes)
	}
	return nil
}

// engineVersion is what the engine calls the folder of its code, which names its
// version and the machine. The engine tells nobody, so it is made to make one.
func engineVersion(dir string) (string, error) {
	tmp, err := os.MkdirTemp(dir, versionDir+"*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cache, err := wazero.NewCompilationCacheWithDir(tmp)
	if err != nil {
		return "", err
	}
	defer cache.Close(context.Background())
	made, err := os.ReadDir(tmp)
	if err != nil || len(made) != 1 {
		return "", err
	}
	return made[0].Name(), nil
}

// folder returns the module's folder, empty unless what is in it is whole.
func (c *diskCache) folder(wasm []byte) (string, error) {
	dir := c.place(wasm)
	if !intact(dir) {
		if err := c.drop(dir); err != nil {
			return "", err
		}
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// place is where a module's code lies, or would. Versions of the engine have places
// of their own: one does not take the other's code, and two may run at once.
func (c *diskCache) place(wasm []byte) string {
	h := sha256.New()
	_, _ = io.WriteString(h, c.version+"\n") // a hash takes everything
	_, _ = h.Write(wasm)
	return filepath.Join(c.dir, hex.EncodeToString(h.Sum(nil)))
}

// noteSuffix ends the names of notes. A note is named by the digest of a module as
// its author made it, and says where its code lies.
const noteSuffix = ".at"

// note remembers where the code of a module lies, and the mark of the frontend
// that it was made for, with the engine's version. Without it that is found out
// anew, so it may be missing, and it may be wrong.
func (c *diskCache) note(module, compiled []byte, mark string) {
	sum := sha256.Sum256(module)
	name := filepath.Join(c.dir, hex.EncodeToString(sum[:])+noteSuffix)
	text := []byte(filepath.Base(c.place(compiled)) + " " + c.marked(mark) + "\n")
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, text) {
		return
	}
	_ = os.WriteFile(name, text, 0o600)
}

// marked is the mark as it stands in notes.
func (c *diskCache) marked(mark string) string { return mark + " " + c.version }

// noted reports whether the code of a module with that digest, in hex, was there
// for that mark and seems to be there still. It costs two looks at the disk.
func (c *diskCache) noted(digest, mark string) bool {
	is, ok := c.readNote(digest)
	return ok && is == c.marked(mark)
}

// readNote returns the mark of a note whose code seems to be there.
func (c *diskCache) readNote(digest string) (mark string, ok bool) {
	text, err := os.ReadFile(filepath.Join(c.dir, digest+noteSuffix))
	if err != nil {
		return "", false
	}
	place, mark, ok := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
	if !ok || len(place) != 2*sha256.Size {
		return "", false
	}
	_, err = os.Stat(filepath.Join(c.dir, filepath.Base(place), sumsFile))
	return mark, err == nil
}

func (c *diskCache) drop(dir string) error { return os.RemoveAll(dir) }

// seal lists what the engine has written, and marks the folder as used.
func (c *diskCache) seal(dir string) error {
	sums, err := sumsOf(dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, sumsFile)
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, sums) {
		return os.Chtimes(name, time.Time{}, time.Now())
	}
	tmp, err := os.CreateTemp(dir, sumsFile+".*.tmp")
	if err != nil {
		return err
	}
	_, err = tmp.Write(sums)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// intact reports whether the folder holds what its list says.
func intact(dir string) bool {
	listed, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return false
	}
	found, err := sumsOf(dir)
	return err == nil && bytes.Equal(listed, found)
}

// sumsOf lists the files below dir with their sha256, sorted by name. Files
// that are still being written are left out.
func sumsOf(dir string) ([]byte, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == sumsFile || strings.HasSuffix(d.Name(), ".tmp") {
			return err
		}
		sum, err := sumFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		lines = append(lines, sum+"  "+filepath.ToSlash(rel)+"\n")
		return err
	})
	slices.Sort(lines)
	return []byte(strings.Join(lines, "")), err
}

func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// prune removes the modules unused for longest until the rest fits. Trouble
// with one folder is no reason to keep the others.
func (c *diskCache) prune(most int64) {
	type entry struct {
		dir  string
		size int64
		used time.Time
	}
	var all []entry
	var total int64
	dirs, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, d := range dirs {
		if digest, ok := strings.CutSuffix(d.Name(), noteSuffix); ok {
			if _, ok := c.readNote(digest); !ok {
				_ = os.Remove(filepath.Join(c.dir, d.Name())) // it says nothing any more
			}
			continue
		}
		if strings.HasPrefix(d.Name(), versionDir) {
			_ = os.Remove(filepath.Join(c.dir, d.Name())) // of a process that was killed; not while it holds something
			continue
		}
		if len(d.Name()) != 2*sha256.Size || !d.IsDir() {
			continue // not ours
		}
		e := entry{dir: filepath.Join(c.dir, d.Name())}
		_ = filepath.WalkDir(e.dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if info, err := d.Info(); err == nil {
				e.size += info.Size()
				if d.Name() == sumsFile {
					e.used = info.ModTime()
				}
			}
			return nil
		})
		total += e.size
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range all {
		if total <= most {
			return
		}
		if c.drop(e.dir) == nil {
			total -= e.size
		}
	}
}
