package modindex

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/weirhost/weir/internal/testtime"
)

// later is long after any file of a test was written.
func later() time.Time { return time.Now().Add(time.Hour) }

func put(t *testing.T, path, text string) fs.FileInfo {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return stat(t, path)
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func facts(name string) Facts {
	return Facts{SHA256: name, Bytes: 4, IsGo: true, Exports: []string{"run", name}, Manifest: []byte("name = \"" + name + "\"")}
}

// oneFile is an index that knows one file, both in folders of their own.
func oneFile(t *testing.T) (x *Index, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.wasm")
	info := put(t, path, "abcd")
	x = Open(filepath.Join(t.TempDir(), "index.json"), "1")
	x.Keep(path, info, later(), facts("a"))
	return x, path
}

func TestAFileIsKnownAsItWas(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// tick repeats a change until the clock of the file system has advanced: its
	// step is some milliseconds.
	tick := func(path string, change func()) {
		before := stat(t, path)
		testtime.Until(t, "the clock of the file system has advanced", func() bool {
			change()
			return !Same(before, stat(t, path))
		})
	}
	for _, tt := range []struct {
		name  string
		do    func(x *Index, path string)
		known bool
	}{
		{"nothing has happened", func(*Index, string) {}, true},
		{"it was read", func(_ *Index, path string) { _, err := os.ReadFile(path); must(err) }, true},
		{"it is longer", func(_ *Index, path string) { put(t, path, "abcde") }, false},
		{"other bytes, and the time of before", func(_ *Index, path string) {
			was := stat(t, path)
			tick(path, func() {
				put(t, path, "dcba")
				must(os.Chtimes(path, was.ModTime(), was.ModTime()))
			})
		}, false},
		{"another file in its place, with its time", func(_ *Index, path string) {
			was := stat(t, path)
			put(t, path+".new", "dcba")
			must(os.Chtimes(path+".new", was.ModTime(), was.ModTime()))
			must(os.Rename(path+".new", path))
		}, false},
		{"other rights", func(_ *Index, path string) {
			tick(path, func() { must(os.Chmod(path, 0o600)) })
		}, false},
		{"a link to it in its place", func(_ *Index, path string) {
			must(os.Rename(path, path+".old"))
			must(os.Symlink(path+".old", path))
		}, false},
		{"its bytes were found to be others", func(x *Index, path string) { x.Forget(path) }, false},
	} {
		x, path := oneFile(t)
		tt.do(x, path)
		f, ok := x.Find(path, stat(t, path))
		if ok != tt.known {
			t.Errorf("%s: known is %v", tt.name, ok)
		}
		if ok && !reflect.DeepEqual(f, facts("a")) {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}

// Within the step of the file system's clock in which a file was read, a write
// would not show: such a file is read again.
func TestAFileThatHasHardlyComeToRestIsNotKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.wasm")
	info := put(t, path, "abcd")
	changed, ok := printOf(info)
	if !ok {
		t.Fatal("the system tells too little")
	}
	x := Open("", "1")
	for _, tt := range []struct {
		after time.Duration
		known bool
	}{{-time.Hour, false}, {0, false}, {settle - 1, false}, {settle, true}} {
		x.Keep(path, info, time.Unix(0, changed.Changed).Add(tt.after), facts("a"))
		if _, known := x.Find(path, info); known != tt.known {
			t.Errorf("read %s after its last change: known is %v", tt.after, known)
		}
	}
}

func TestNothingIsKnownWithoutAnIndex(t *testing.T) {
	var x *Index
	path := filepath.Join(t.TempDir(), "a.wasm")
	info := put(t, path, "abcd")
	x.Keep(path, info, later(), facts("a"))
	x.Forget(path)
	if _, ok := x.Find(path, info); ok || x.Save() != nil {
		t.Error("a nil Index knows something")
	}
	x = Open("", "1")
	x.Keep(filepath.Dir(path), stat(t, filepath.Dir(path)), later(), facts("a"))
	if _, ok := x.Find(filepath.Dir(path), stat(t, filepath.Dir(path))); ok {
		t.Error("a folder is no file")
	}
	if err := x.Save(); err != nil {
		t.Error(err)
	}
}

func TestSame(t *testing.T) {
	dir := t.TempDir()
	a, b := put(t, filepath.Join(dir, "a"), "x"), put(t, filepath.Join(dir, "b"), "x")
	if !Same(a, stat(t, filepath.Join(dir, "a"))) || Same(a, b) || Same(stat(t, dir), stat(t, dir)) {
		t.Error("a file is the same as itself, and as no other; a folder is no file")
	}
}
