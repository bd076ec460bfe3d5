package guesttest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Made returns a file that the shared folder keeps for all tests, and that build makes if
// none was made of the same inputs before; callers must not change it. An input that is a
// file or a folder stands for what is in it, any other for itself. A compiler's file stands
// for the compiler.
func Made(tb testing.TB, build func(out string), inputs ...string) (path string) {
	tb.Helper()
	h := sha256.New()
	for _, input := range inputs {
		info, err := os.Stat(input)
		if err != nil {
			fmt.Fprintf(h, "%q\n", input)
			continue
		}
		if info.Size() > 1<<20 && info.Mode().IsRegular() { // a compiler: the system changes its time with it
			fmt.Fprintf(h, "%q %d %d\n", input, info.Size(), info.ModTime().UnixNano())
			continue
		}
		err = filepath.WalkDir(input, func(at string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			return add(h, filepath.Dir(input), at)
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	path = filepath.Join(Cache(tb), "built", fmt.Sprintf("%x", h.Sum(nil)))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			tb.Fatal(err)
		}
		return path
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), "new-") // beside it: renaming must not cross file systems
	if err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, "made")
	build(made)
	if err := os.Rename(made, path); err != nil {
		tb.Fatal(err)
	}
	return path
}
