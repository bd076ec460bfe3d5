package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/wasmtest"
)

// compiled returns the files of a cache folder that hold compiled code.
func compiled(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != sumsFile && filepath.Ext(d.Name()) != noteSuffix {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The compiled code is damaged in several ways: each time the module loads and works,
// and the cache is repaired.
func TestCacheSurvivesDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	run := func() {
		t.Helper()
		m := load(t, newEngine(t, Config{CacheDir: dir}), Plugin{Name: "echo", Wasm: echoModule()})
		if got := answer(t, m, Invocation{Export: "run", Input: []byte("x")}); got != "x" {
			t.Errorf("got %q", got)
		}
	}
	run()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
	files := compiled(t, dir)
	if len(files) < 2 { // the module and Extism's kernel
		t.Fatalf("cached: %v", files)
	}
	list := filepath.Join(filepath.Dir(filepath.Dir(files[0])), sumsFile)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(list, old, old); err != nil {
		t.Fatal(err)
	}
	run()
	if info, err := os.Stat(list); err != nil || info.ModTime().Before(old.Add(time.Minute)) {
		t.Errorf("what was loaded counts as unused: %v, %v", info, err)
	}
	damage := func(f func(b []byte) []byte) func(string) error {
		return func(name string) error {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, f(b), 0o600)
		}
	}
	for _, row := range []struct {
		name string
		do   func(string) error
	}{
		{"cut short", damage(func(b []byte) []byte { return b[:len(b)/2] })},
		{"empty", damage(func([]byte) []byte { return nil })},
		{"one bit in the code", damage(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })},
		{"an absurd count in its header", damage(func(b []byte) []byte { copy(b[min(10, len(b)):], "\xff\xff\xff\xff\xff\xff"); return b })},
		{"not ours", damage(func([]byte) []byte { return []byte("#!/bin/sh") })},
		{"gone", os.Remove},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, f := range files {
				if err := row.do(f); err != nil {
					t.Fatal(err)
				}
			}
			run()
			if now := compiled(t, dir); !slices.Equal(now, files) {
				t.Errorf("cached: %v", now)
			}
			if !intact(filepath.Dir(filepath.Dir(files[0]))) {
				t.Error("the cache does not fit its list")
			}
		})
	}
}

// Modules are loaded from a cache that may only be read: neither the module nor
// Extism's kernel is compiled, because each folder has the code of both.
func TestTheKernelIsCompiledOnce(t *testing.T) {
	dir := t.TempDir()
	load(t, newEngine(t, Config{CacheDir: dir}), Plugin{Name: "echo", Wasm: echoModule()})
	before := compiled(t, dir)
	reads := newEngine(t, Config{CacheDir: dir, ReadCache: true})
	for range 2 {
		m := load(t, reads, Plugin{Name: "echo", Wasm: echoModule()})
		if got := answer(t, m, Invocation{Export: "run", Input: []byte("x")}); got != "x" {
			t.Errorf("got %q", got)
		}
	}
	if now := compiled(t, dir); len(before) != 2 || !slices.Equal(now, before) {
		t.Errorf("the cache held %v and holds %v", before, now)
	}
}

// Code of another engine version is not reported as compiled, and the code of both
// versions stays.
func TestAnotherVersionOfTheEngine(t *testing.T) {
	dir := t.TempDir()
	p := Plugin{Name: "echo", Wasm: echoModule()}
	sum := sha256.Sum256(p.Wasm)
	now := newEngine(t, Config{CacheDir: dir})
	if now.CacheVersion() == "" {
		t.Fatal("the engine has no version")
	}
	old := newEngine(t, Config{CacheDir: dir, CacheVersion: "wazero-v0.0.1-amd64-linux"})
	for i, e := range []*Engine{old, now} {
		if e.Compiled(p) || e.LikelyCompiled(hex.EncodeToString(sum[:])) {
			t.Errorf("%s: it is said to be compiled", e.CacheVersion())
		}
		load(t, e, p)
		if n := len(compiled(t, dir)); !e.Compiled(p) || n != 2*(i+1) {
			t.Errorf("%s: it is not compiled, or the cache holds %d files", e.CacheVersion(), n)
		}
	}
	reads := newEngine(t, Config{CacheDir: dir, ReadCache: true, CacheVersion: old.CacheVersion()})
	load(t, reads, p)
	if left, err := filepath.Glob(filepath.Join(dir, versionDir+"*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// A digest alone says whether a module's code is likely in the cache.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, Config{CacheDir: dir})
	p := Plugin{Name: "echo", Wasm: echoModule()}
	sum := sha256.Sum256(p.Wasm)
	digest := hex.EncodeToString(sum[:])
	without, err := New(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close(context.Background())
	if e.LikelyCompiled(digest) || without.LikelyCompiled(digest) {
		t.Error("it is noted before it is compiled")
	}
	load(t, e, p)
	if !e.LikelyCompiled(digest) {
		t.Error("it is not noted")
	}
	note := filepath.Join(dir, digest+noteSuffix)
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{"empty": "", "cut off": string(text[:10]), "elsewhere": strings.Repeat("../", 21) + "..", "another": strings.Repeat("0", 64) + string(text[64:]), "another version": string(text[:64]) + " wazero-0\n", "another engine": string(text[:len(text)-2]) + "\n"} {
		if err := os.WriteFile(note, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if e.LikelyCompiled(digest) {
			t.Errorf("%s: it is noted", name)
		}
	}
	if !e.Compiled(p) || !e.LikelyCompiled(digest) { // verifying records it again
		t.Error("it is not noted again")
	}
	if err := os.RemoveAll(filepath.Join(dir, string(text[:64]))); err != nil {
		t.Fatal(err)
	}
	if e.LikelyCompiled(digest) {
		t.Error("it is noted, and the code is gone")
	}
	load(t, newEngine(t, Config{CacheDir: dir}), Plugin{Name: "slow", Wasm: wasmtest.Slow("run", 1)}) // it prunes
	if _, err := os.Stat(note); !os.IsNotExist(err) {
		t.Errorf("a note that says nothing is kept: %v", err)
	}
}

func TestCacheOfOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	newEngine(t, Config{CacheDir: dir})
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder stayed open to others: %v, %v", info.Mode(), err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), Config{CacheDir: file}); err == nil {
		t.Error("a file serves as the cache folder")
	}
}

// A cache that cannot be written costs time, and modules load all the same.
func TestCacheThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	e := newEngine(t, Config{CacheDir: dir})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := load(t, e, Plugin{Name: "echo", Wasm: echoModule()})
	if got := answer(t, m, Invocation{Export: "run", Input: []byte("x")}); got != "x" {
		t.Errorf("got %q", got)
	}
}

// The folder is pruned before code is added to it, and not by engines that add none.
func TestPruneBeforeCompiling(t *testing.T) {
	dir := t.TempDir()
	echo := Plugin{Name: "echo", Wasm: echoModule()}
	load(t, newEngine(t, Config{CacheDir: dir}), echo)
	left := filepath.Join(dir, versionDir+"left") // by a process that was killed
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, Config{CacheDir: dir})
	load(t, e, echo)
	if _, err := os.Stat(left); err != nil {
		t.Errorf("pruned, and nothing was compiled: %v", err)
	}
	load(t, e, Plugin{Name: "slow", Wasm: wasmtest.Slow("run", 1)})
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not pruned: %v", err)
	}
}

func TestPrune(t *testing.T) {
	c := &diskCache{dir: t.TempDir()}
	now := time.Now()
	for i, name := range []string{"a", "b", "c"} {
		dir := filepath.Join(c.dir, strings.Repeat(name, 64))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "code"), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.seal(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, sumsFile), now, now.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(c.dir, "not ours")
	if err := os.WriteFile(other, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	c.prune(2500)
	var left []string
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name()[:1])
	}
	if want := []string{"b", "c", "n"}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v: the longest unused goes, foreign files stay", left, want)
	}
}
