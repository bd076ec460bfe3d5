package modindex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// knows reports whether a fresh reader of the index finds the file.
func knows(t *testing.T, file, version, path string) bool {
	t.Helper()
	_, ok := Open(file, version).Find(path, stat(t, path))
	return ok
}

func save(t *testing.T, x *Index) {
	t.Helper()
	if err := x.Save(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsSavedIsRead(t *testing.T) {
	x, path := oneFile(t)
	save(t, x)
	again := Open(x.store.file, "1")
	if f, ok := again.Find(path, stat(t, path)); !ok || string(f.Manifest) != `name = "a"` || f.Exports[1] != "a" || f.Bytes != 4 || !f.IsGo {
		t.Errorf("%+v %v", f, ok)
	}
	if info := stat(t, x.store.file); info.Mode().Perm() != 0o600 {
		t.Errorf("others may use it: %s", info.Mode())
	}
	before := stat(t, x.store.file)
	save(t, again)
	if !os.SameFile(before, stat(t, x.store.file)) {
		t.Error("written again, with nothing new")
	}
	again.Forget(path)
	save(t, again)
	if knows(t, x.store.file, "1", path) {
		t.Error("what was forgotten is known")
	}
	left, err := filepath.Glob(x.store.file + ".*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestManifestsAreVouchedFor(t *testing.T) {
	x, path := oneFile(t)
	if x.Sound("m") {
		t.Error("nobody has vouched for it")
	}
	x.Vouch("m")
	x.Vouch("m")
	save(t, x)
	again := Open(x.store.file, "1")
	if !again.Sound("m") || again.Sound("n") || Open(x.store.file, "2").Sound("m") {
		t.Error("it is vouched for by its own version alone")
	}
	other := Open(x.store.file, "1")
	other.Vouch("n")
	save(t, other)
	if last := Open(x.store.file, "1"); !last.Sound("m") || !last.Sound("n") || !knows(t, x.store.file, "1", path) {
		t.Error("what another process knew is lost")
	}
	var none *Index
	if none.Vouch("m"); none.Sound("m") {
		t.Error("a nil Index knows something")
	}
}

// An empty manifest is one, and not none.
func TestAnEmptyManifestIsOne(t *testing.T) {
	x, path := oneFile(t)
	info := stat(t, path)
	for _, manifest := range [][]byte{{}, nil} {
		x.Keep(path, info, later(), Facts{SHA256: "a", Manifest: manifest})
		save(t, x)
		if f, ok := Open(x.store.file, "1").Find(path, info); !ok || (f.Manifest == nil) != (manifest == nil) {
			t.Errorf("%#v became %#v", manifest, f.Manifest)
		}
	}
}

// An index that is not ours, or not whole, says nothing, and the next one takes
// its place.
func TestADamagedIndexIsBegunAnew(t *testing.T) {
	replace := func(old, with string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, with, 1) }
	}
	for name, damage := range map[string]func(text string) string{
		"empty":          func(string) string { return "" },
		"no JSON":        func(string) string { return "\x00\xff nonsense\nmore" },
		"null":           func(string) string { return "null\nnull" },
		"cut in half":    func(text string) string { return text[:len(text)/2] },
		"cut at its end": func(text string) string { return text[:len(text)-1] },
		"longer":         func(text string) string { return text + " " },
		"one letter":     replace(`"sha256":"a"`, `"sha256":"b"`),
		"a newer form":   replace(fmt.Sprintf(`"weir_index":%d`, form), fmt.Sprintf(`"weir_index":%d`, form+1)),
		"of another weir": func(text string) string {
			return strings.Replace(text, `"version":"1"`, `"version":"2"`, 1)
		},
		"its head alone": func(text string) string { head, _, _ := strings.Cut(text, "\n"); return head },
	} {
		x, path := oneFile(t)
		save(t, x)
		file := x.store.file
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bad := damage(string(text))
		if bad == string(text) {
			t.Fatalf("%s: nothing was damaged", name)
		}
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if knows(t, file, "1", path) {
			t.Errorf("%s: it was believed", name)
		}
		again := Open(file, "1")
		again.Keep(path, stat(t, path), later(), facts("a"))
		save(t, again)
		if !knows(t, file, "1", path) {
			t.Errorf("%s: it was not begun anew", name)
		}
	}
}

func TestNoPartOfAnIndexIsBelieved(t *testing.T) {
	x, path := oneFile(t)
	save(t, x)
	text, err := os.ReadFile(x.store.file)
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		if err := os.WriteFile(x.store.file, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if knows(t, x.store.file, "1", path) {
			t.Fatalf("its first %d bytes of %d were believed", n, len(text))
		}
	}
}

// What others may write, or have put there, is not read.
func TestAnIndexOfOthersIsNotRead(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"the group writes": func(file string) error { return os.Chmod(file, 0o660) },
		"everybody writes": func(file string) error { return os.Chmod(file, 0o606) },
		"a link": func(file string) error {
			if err := os.Rename(file, file+".real"); err != nil {
				return err
			}
			return os.Symlink(file+".real", file)
		},
		"a folder": func(file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.Mkdir(file, 0o700)
		},
		"too long": func(file string) error { return os.Truncate(file, maxFile+1) },
	} {
		x, path := oneFile(t)
		save(t, x)
		if err := spoil(x.store.file); err != nil {
			t.Fatal(err)
		}
		if knows(t, x.store.file, "1", path) {
			t.Errorf("%s: it was read", name)
		}
	}
}

// Where nothing can be written the index goes on in memory, and is written as
// soon as it can be.
func TestAnIndexThatCannotBeWritten(t *testing.T) {
	x, path := oneFile(t)
	dir := filepath.Dir(x.store.file)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a file in the folder's place")
	if x.Save() == nil {
		t.Fatal("it was written")
	}
	if _, ok := x.Find(path, stat(t, path)); !ok {
		t.Error("it does not go on in memory")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	save(t, x)
	if !knows(t, x.store.file, "1", path) {
		t.Error("what could not be written is lost")
	}
}

// Two processes share a file: each keeps what the other found in other files.
func TestTwoProcessesShareAnIndex(t *testing.T) {
	x, path := oneFile(t)
	other := Open(x.store.file, "1") // before anything was saved
	second := filepath.Join(filepath.Dir(path), "b.wasm")
	info := put(t, second, "efgh")
	other.Keep(second, info, later(), facts("b"))
	other.Keep(path, stat(t, path), later(), facts("other"))
	save(t, x)
	save(t, other)
	all := Open(x.store.file, "1")
	if f, _ := all.Find(path, stat(t, path)); f.SHA256 != "other" {
		t.Errorf("the last one wins: %+v", f)
	}
	if f, _ := all.Find(second, info); f.SHA256 != "b" {
		t.Errorf("%+v", f)
	}
	third := Open(x.store.file, "1")
	third.Keep(second, info, later(), facts("c"))
	save(t, third)
	if !knows(t, x.store.file, "1", path) {
		t.Error("what another process found was dropped")
	}
}

// Whoever reads while others write reads a whole index.
func TestAnIndexIsWholeWhileItIsWritten(t *testing.T) {
	x, path := oneFile(t)
	save(t, x)
	info := stat(t, path)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for n := range 25 {
				mine := Open(x.store.file, "1")
				mine.Keep(path, info, later(), facts(fmt.Sprint(w, n)))
				if err := mine.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		if _, ok := Open(x.store.file, "1").Find(path, info); !ok {
			t.Error("a reader found it broken")
		}
	}
	writers.Wait()
}

func TestWhatIsGoneIsDropped(t *testing.T) {
	x, path := oneFile(t)
	gone := filepath.Join(filepath.Dir(path), "gone.wasm")
	x.Keep(gone, put(t, gone, "x"), later(), facts("gone"))
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	save(t, x)
	if files := x.store.read().Files; len(files) != 1 {
		t.Errorf("%v", files)
	}
	x.Vouch("m")
	x.Vouch("n")
	if out := x.known.pruned(map[string]bool{path: true, "n": true}, 1, 1); len(out.Files) != 1 || out.Files[path].SHA256 != "a" || len(out.Sound) != 1 || !out.Sound["n"] {
		t.Errorf("of too many, those that were asked for stay: %v", out)
	}
}
