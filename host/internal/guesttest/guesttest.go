// Package guesttest gives tests real plugins: the shipped ones, built from
// this repository by the Go toolchain, and one folder for all tests that keeps
// what was built and what the engine has compiled.
package guesttest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// CacheVariable names the folder of what was built and compiled; unset, a folder in the
// user's cache is used.
const CacheVariable = "WEIR_TEST_CACHE"

// Cache returns the shared folder, where the engine keeps compiled modules.
func Cache(tb testing.TB) string {
	tb.Helper()
	dir, err := CacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// CacheDir is Cache for what has no test to fail.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		return dir, nil
	}
	base, err := os.UserCacheDir()
	return filepath.Join(base, "weir-test"), err
}

// Shipped copies the named plugins of this repository into a new folder, each
// built to Wasm, and returns the folder.
func Shipped(tb testing.TB, names ...string) string {
	tb.Helper()
	root := Root(tb)
	dir := tb.TempDir()
	for _, name := range names {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(to, 0o755); err != nil {
			tb.Fatal(err)
		}
		manifest, err := os.ReadFile(filepath.Join(root, "plugins", name, "plugin.toml"))
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, "plugin.toml"), manifest, 0o644); err != nil {
			tb.Fatal(err)
		}
		Build(tb, filepath.Join(root, "plugins", name), filepath.Join(to, name+".wasm"))
	}
	return dir
}

// Build compiles the Go package in dir to a Wasm guest.
func Build(tb testing.TB, dir, out string) {
	tb.Helper()
	if err := BuildTo(dir, out); err != nil {
		tb.Fatal(err)
	}
}

// BuildTo is Build for a TestMain, which has no test to fail.
func BuildTo(dir, out string) error {
	kept, err := guest.kept(dir)
	if err != nil {
		return err
	}
	from, err := os.Open(kept)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(out)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from) // the kernel copies: megabytes are slow under the race detector
	return errors.Join(err, to.Close())
}

// Program builds the Go program in dir, a folder of this repository, and
// returns its file, which callers must not change.
func Program(dir string) (string, error) { return program.kept(dir) }

// started is the folder in which the test began: some change it.
var started, _ = os.Getwd()

// Root is the repository's root.
func Root(tb testing.TB) string {
	tb.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(here) { // built with -trimpath
		for dir := started; dir != ""; {
			if _, statErr := os.Stat(filepath.Join(dir, "tools.toml")); statErr == nil {
				return dir
			}
			if dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
		tb.Fatal("the repository's root was not found")
	}
	return filepath.Join(filepath.Dir(here), "..", "..", "..")
}
