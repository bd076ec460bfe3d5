// Package guesttest gives tests real plugins: the shipped ones, built from
// this repository by the Go toolchain, and one cache of compiled modules for
// all tests, so that a run under the race detector compiles nothing.
package guesttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// CacheVariable names the folder of compiled modules; unset, a folder in the
// user's cache is used.
const CacheVariable = "WEIR_TEST_CACHE"

// Cache returns the shared folder of compiled modules.
func Cache(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv(CacheVariable); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(base, "weir-test")
}

// Shipped copies the named plugins of this repository into a new folder, each
// built to Wasm, and returns the folder. With an unchanged source the Go build
// cache makes this a matter of milliseconds.
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

// Build compiles the Go package in dir to a Wasm guest, as the Makefile does,
// but without the revision: with it every commit would give other bytes, which
// would have to be compiled anew.
func Build(tb testing.TB, dir, out string) {
	tb.Helper()
	if err := BuildTo(dir, out); err != nil {
		tb.Fatal(err)
	}
}

// BuildTo is Build for a TestMain, which has no test to fail.
func BuildTo(dir, out string) error {
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", dir, err, msg)
	}
	return nil
}

// Root is the repository's root.
func Root(tb testing.TB) string {
	tb.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(here) { // built with -trimpath
		dir, err := os.Getwd()
		for err == nil {
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
