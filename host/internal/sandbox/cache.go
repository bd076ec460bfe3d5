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
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/weirhost/weir/host/internal/atomicfile"
	"github.com/weirhost/weir/host/internal/msg"
)

// diskCache stores compiled code in one folder per module. The engine trusts its
// files, and a damaged one can crash the process. So each folder lists its files with
// their SHA-256, and a folder that does not match its list is deleted.
type diskCache struct {
	dir     string
	version string // of the engine; part of the name of a module's folder
	pruned  sync.Once
}

// cacheBytes bounds the compiled code; the least recently used modules are deleted
// first. A Go guest has about 10 MB.
const cacheBytes = 1 << 30

const sumsFile = "SUMS"

// versionDir begins the names of temporary folders that reveal the engine's version.
const versionDir = "version-"

// openCache opens the cache folder. With ReadCache it creates and deletes nothing:
// several processes may read at once.
func openCache(c Config) (*diskCache, error) {
	dir := c.CacheDir
	if c.Unchecked {
		dir = filepath.Join(dir, uncheckedDir)
	}
	cache := &diskCache{dir: dir, version: c.CacheVersion}
	if c.ReadCache && cache.version != "" {
		return cache, nil
	}
	return cache, cache.open()
}

// uncheckedDir holds code without loop checks, which an engine that relies on them
// must never run.
const uncheckedDir = "unchecked"

// open creates the folder, for this user alone.
func (c *diskCache) open() error {
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
	return nil
}

// engineVersion returns the name that the engine gives to its folder of code, which
// contains its version and the machine. The engine has no function for it, so it is
// made to create one.
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

// folder returns the module's folder, empty unless its content is whole, and reports
// whether it is. Before the first new one it prunes: a process that compiles nothing, as
// most commands are, need not look at everything that was compiled.
func (c *diskCache) folder(wasm []byte) (dir string, whole bool, err error) {
	dir = c.place(wasm)
	if intact(dir) {
		return dir, true, nil
	}
	if err := c.drop(dir); err != nil {
		return "", false, err
	}
	c.pruned.Do(func() { c.prune(cacheBytes) })
	return dir, false, os.MkdirAll(dir, 0o700)
}

// place returns the folder of a module's code. Each version of the engine has folders
// of its own, so two versions may run at once.
func (c *diskCache) place(wasm []byte) string {
	h := sha256.New()
	_, _ = io.WriteString(h, c.version+"\n") // a hash accepts everything
	_, _ = h.Write(wasm)
	return filepath.Join(c.dir, hex.EncodeToString(h.Sum(nil)))
}

// noteSuffix ends the names of notes. A note is named by the digest of a module as its
// author built it, and says where its code is.
const noteSuffix = ".at"

// note records where the code of a module is, for which mark of the frontend, and for
// which engine version. It is only a hint: it may be missing or wrong.
func (c *diskCache) note(module, compiled []byte, mark string) {
	sum := sha256.Sum256(module)
	name := filepath.Join(c.dir, hex.EncodeToString(sum[:])+noteSuffix)
	text := []byte(filepath.Base(c.place(compiled)) + " " + c.marked(mark) + "\n")
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, text) {
		return
	}
	_ = os.WriteFile(name, text, 0o600)
}

// marked returns the mark as notes contain it.
func (c *diskCache) marked(mark string) string { return mark + " " + c.version }

// likelyCompiled reports whether there is a note for a module's digest, in hex, and a
// mark, and whether its code seems to exist. It costs two file system calls.
func (c *diskCache) likelyCompiled(digest, mark string) bool {
	is, ok := c.readNote(digest)
	return ok && is == c.marked(mark)
}

// readNote returns the mark of a note whose code seems to exist.
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

// used marks a folder as used now: a byte of the list is written over itself, because a
// process that compiles may change no times.
func (c *diskCache) used(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, sumsFile), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var one [1]byte
	if _, err = f.ReadAt(one[:], 0); err == nil {
		_, err = f.WriteAt(one[:], 0)
	}
	return errors.Join(err, f.Close())
}

// seal writes the list of the engine's files, which marks the folder as used.
func (c *diskCache) seal(dir string) error {
	sums, err := sumsOf(dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, sumsFile)
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, sums) {
		return c.used(dir)
	}
	return atomicfile.Write(name, sumsFile+".*.tmp", 0o600, sums)
}

// intact reports whether the folder matches its list.
func intact(dir string) bool {
	listed, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return false
	}
	found, err := sumsOf(dir)
	return err == nil && bytes.Equal(listed, found)
}

// sumsOf lists the files below dir with their SHA-256, sorted by name, without files
// that are still being written.
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

// prune deletes the least recently used modules until the rest fits. It skips folders
// with errors.
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
				_ = os.Remove(filepath.Join(c.dir, d.Name())) // its code is gone
			}
			continue
		}
		if strings.HasPrefix(d.Name(), versionDir) {
			_ = os.Remove(filepath.Join(c.dir, d.Name())) // left by a process that was killed; fails if it is not empty
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
