package guesttest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"go/build"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const module = "github.com/weirhost/weir"

// A recipe is how a program of this repository is built.
type recipe struct {
	goos, goarch string // empty: this machine's
	flags        []string
}

var (
	// A guest is built as the Makefile does it, but without the revision: with it
	// every commit would give other bytes, which would have to be compiled again.
	guest = recipe{"wasip1", "wasm", []string{"-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}}
	// A program is never built for the race detector. Its engine takes itself for the
	// version that it takes itself for in a test, whose binary does not list the modules
	// it is made of: what the one has compiled is code for the other.
	// All else is compiled as the Makefile does it, or would be compiled again.
	program = recipe{"", "", []string{
		"-trimpath", "-buildvcs=false", "-ldflags=-s -w -X=github.com/tetratelabs/wazero/internal/version.version=dev",
		"-gcflags=all=-dwarf=false",
		"-gcflags=github.com/anthropics/anthropic-sdk-go=-l -dwarf=false",
		"-gcflags=github.com/openai/openai-go/v3=-l -dwarf=false",
		"-gcflags=github.com/openai/openai-go/v3/live=-l -dwarf=false",
		"-gcflags=github.com/openai/openai-go/v3/realtime=-l -dwarf=false",
		"-gcflags=github.com/openai/openai-go/v3/responses=-l -dwarf=false",
		"-gcflags=github.com/ncruces/go-sqlite3-wasm/v6=-l -dwarf=false",
	}}
)

// build compiles the package in dir to the file out.
func (r recipe) build(dir, out string) error {
	cmd := exec.Command("go", slices.Concat([]string{"build"}, r.flags, []string{"-o", out, "."})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if r.goos != "" {
		cmd.Env = append(cmd.Env, "GOOS="+r.goos, "GOARCH="+r.goarch)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", dir, err, text)
	}
	return nil
}

// kept returns the built file of the package in dir; callers must not change it.
// The shared folder stores it under a digest of its sources: linking, which the Go
// toolchain repeats each time, takes half a second for the smallest guest.
func (r recipe) kept(dir string) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root, err := rootAbove(dir)
	if err != nil {
		return "", err
	}
	sum, err := r.fingerprint(root, dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "built", sum)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), "new-") // beside it: renaming must not cross file systems
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, "made")
	if err := r.build(dir, made); err != nil {
		return "", err
	}
	return path, os.Rename(made, path)
}

// fingerprint is a digest of all that the package in dir is built from: the
// files of this module that it reaches, the versions of other modules, the
// toolchain and the flags.
func (r recipe) fingerprint(root, dir string) (string, error) {
	context := build.Default
	context.CgoEnabled = false
	if r.goos != "" {
		context.GOOS, context.GOARCH = r.goos, r.goarch
	}
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), context.GOOS, context.GOARCH, r.flags, os.Getenv("GOEXPERIMENT"), strings.TrimPrefix(dir, root))
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := add(h, root, filepath.Join(root, name)); err != nil {
			return "", err
		}
	}
	seen := make(map[string]bool)
	if err := reach(h, &context, root, dir, seen); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// reach adds the package in dir and, of this module, those that it imports.
func reach(h hash.Hash, context *build.Context, root, dir string, seen map[string]bool) error {
	if seen[dir] {
		return nil
	}
	seen[dir] = true
	p, err := context.ImportDir(dir, 0)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.SysoFiles) {
		if err := add(h, root, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if len(p.EmbedPatterns) > 0 { // whatever they match is below
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			return add(h, root, path)
		})
		if err != nil {
			return err
		}
	}
	for _, path := range p.Imports {
		if below, ok := strings.CutPrefix(path, module+"/"); ok {
			if err := reach(h, context, root, filepath.Join(root, filepath.FromSlash(below)), seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a file's name, length and content.
func add(h hash.Hash, root, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%q %d\n", strings.TrimPrefix(path, root), info.Size())
	_, err = io.Copy(h, f)
	return err
}

// rootAbove is the nearest folder with a go.mod, dir or one above it.
func rootAbove(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod above %s", dir)
		}
	}
}
