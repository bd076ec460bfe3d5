package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func newStore(t testing.TB) Store {
	dir := t.TempDir()
	return Store{File: filepath.Join(dir, "weir.lock"), Copies: filepath.Join(dir, "approved")}
}

func digestOf(n int) string { return fmt.Sprintf("%064x", n) }

func version(n int) *Version {
	return &Version{Digest: digestOf(n), Version: fmt.Sprint(n), Source: "/plugins/a/plugin.toml", By: "cli", At: time.Unix(int64(n), 0).UTC(), Copy: digestOf(n) + "/plugin.toml"}
}

func TestSaveThenLoad(t *testing.T) {
	s := newStore(t)
	l, err := s.Load()
	if err != nil || len(l.Plugins) != 0 {
		t.Fatal(l, err)
	}
	l.Entry("zeta").Approve(version(1))
	e := l.Entry("alpha")
	e.Approve(version(2))
	e.Approve(version(3))
	e.Disabled = &Decision{By: "page", At: time.Unix(9, 0).UTC()}
	if err := s.Save(l); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(s.File)
	if a, z := bytes.Index(text, []byte("alpha")), bytes.Index(text, []byte("zeta")); a < 0 || z < a || !bytes.HasSuffix(text, []byte("}\n")) {
		t.Errorf("the file is for people too:\n%s", text)
	}
	again, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	got := again.Plugins["alpha"]
	if got.Digest != digestOf(3) || got.Previous().Digest != digestOf(2) || got.Disabled.By != "page" || got.Current().Version != "3" {
		t.Errorf("%+v", got)
	}
	if err := s.Save(again); err != nil {
		t.Fatal(err)
	}
	if same, _ := os.ReadFile(s.File); !bytes.Equal(text, same) {
		t.Errorf("the same lock is written in other bytes:\n%s\n%s", text, same)
	}
	if left, _ := filepath.Glob(s.File + ".*"); len(left) > 0 {
		t.Errorf("temporary files remain: %v", left)
	}
}

// An older weir preserves the keys of a newer one.
func TestUnknownKeysSurvive(t *testing.T) {
	s := newStore(t)
	text := `{"schema": 1, "signed_by": "me", "plugins": {"a": {"digest": "` + digestOf(1) + `", "source": "/x", "note": {"x": [1, 2]},
		"history": [{"digest": "` + digestOf(1) + `", "source": "/x", "by": "cli", "at": "2026-01-02T03:04:05Z", "signature": "abc"}]}}}`
	if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		l.Entry("a").Approve(&Version{Digest: digestOf(1), Source: "/y", By: "page"}) // the same bytes once more
		l.Entry("b").Approve(version(7))
		if err := s.Save(l); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(s.File)
	for _, want := range []string{`"signed_by": "me"`, `"note": {`, `"signature": "abc"`, `"source": "/y"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is lost:\n%s", want, got)
		}
	}
}

// A lock of this version is decoded in one pass, with the same result as in two.
func TestBothDecodersAgree(t *testing.T) {
	s := newStore(t)
	l := &Lock{}
	for n := range 3 {
		l.Entry("a").Approve(version(n))
	}
	l.Entry("b").Disabled = &Decision{By: "cli", At: time.Unix(5, 0).UTC()}
	if err := s.Save(l); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	quick, ok := decodeKnown(text)
	if !ok {
		t.Fatal("it is read in two passes")
	}
	slow := &Lock{}
	if err := json.Unmarshal(text, slow); err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(quick)
	z, errZ := json.Marshal(slow)
	if errA != nil || errZ != nil || !bytes.Equal(a, z) {
		t.Errorf("%s and %s", a, z)
	}
	for _, other := range []string{"", "null", "[]", "{} {}", `{"schema": 1, "x": 1}`, `{"plugins": {"a": {"x": 1}}}`, `{"plugins": {"a": {"history": [{"x": 1}]}}}`, `{"plugins": {"a": null}}`} {
		if l, ok := decodeKnown([]byte(other)); ok && other != "null" {
			t.Errorf("%s was read as %+v", other, l)
		}
	}
}

func TestErrorsHaveAFix(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "it is empty",
		"{":                            "cut off",
		"[]":                           "array",
		"null":                         "schema is missing",
		"{\n\n nonsense":               "invalid in line 3",
		`{"schema": 1} x`:              "text after",
		`{"schema": 2}`:                "newer weir",
		`{"schema": "1"}`:              "schema has the wrong type",
		`{"schema": 1, "plugins": []}`: "plugins has the wrong type",
		`{"schema": 1, "plugins": {"a": {"digest": "` + digestOf(1) + `"}}}`:                                                 "not in its history",
		`{"schema": 1, "plugins": {"a": {"history": [null]}}}`:                                                               "has no digest",
		`{"schema": 1, "plugins": {"a": {"history": [{"digest": "../../../etc"}]}}}`:                                         "has no digest",
		`{"schema": 1, "plugins": {"a": {"history": [{"digest": "` + digestOf(1) + `", "copy": "../../etc/x.wasm"}]}}}`:      "leads out",
		`{"schema": 1, "plugins": {"a": {"history": [{"digest": "` + digestOf(1) + `", "copy": "` + digestOf(2) + `/x"}]}}}`: "leads out",
	} {
		s := newStore(t)
		if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Load()
		f, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(f.Error(), want) || !strings.Contains(f.Error(), s.File) || f.Fix.IsZero() || strings.Contains(f.Error(), "json:") {
			t.Errorf("%q: %#v, want %q", text, err, want)
		}
	}
}

// A lock file that is no file, or is very long, is refused before it is read.
func TestALockThatIsNoFileIsDamaged(t *testing.T) {
	for what, put := range map[string]func(file string) error{
		"a folder":   func(file string) error { return os.Mkdir(file, 0o700) },
		"very long":  func(file string) error { return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<40)) },
		"a device":   func(file string) error { return os.Symlink(os.DevNull, file) },
		"an endless": func(file string) error { return os.Symlink("/dev/zero", file) },
		"a long link": func(file string) error {
			return errors.Join(os.WriteFile(file+".x", nil, 0o600), os.Truncate(file+".x", 1<<40), os.Symlink(file+".x", file))
		},
	} {
		s := newStore(t)
		if err := put(s.File); err != nil {
			t.Logf("%s: %v", what, err) // no such thing on this system
			continue
		}
		if l, err := s.Load(); err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%s: %v, %v", what, l, err)
		}
	}
}

func TestCopies(t *testing.T) {
	s := newStore(t)
	l := &Lock{}
	for n := range 6 {
		v := version(n)
		got, err := s.AddCopy(v.Digest, map[string][]byte{"plugin.toml": []byte("x"), "build/a.wasm": []byte{byte(n)}}, "plugin.toml")
		if err != nil || got != v.Copy {
			t.Fatal(got, err)
		}
		l.Entry("a").Approve(v)
	}
	os.MkdirAll(filepath.Join(s.Copies, unfinishedPrefix+"1"), 0o700) // a crash left it
	os.WriteFile(filepath.Join(s.Copies, "notes.txt"), nil, 0o600)
	l.PruneCopies()
	s.RemoveUnused(l)
	entries, _ := os.ReadDir(s.Copies)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name()[max(0, len(e.Name())-2):])
	}
	if got := strings.Join(names, " "); got != "02 03 04 05 xt" {
		t.Errorf("kept: %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(s.CopyPath(l.Plugins["a"].Current())), "build", "a.wasm")); err != nil || text[0] != 5 {
		t.Error(text, err)
	}
	if _, err := s.AddCopy(digestOf(5), map[string][]byte{"plugin.toml": nil}, "plugin.toml"); err != nil {
		t.Fatal(err)
	}
	if files, err := s.Files(digestOf(5)); err != nil || len(files) != 1 { // the other one may be an intruder's
		t.Errorf("a copy that was replaced has %d files: %v", len(files), err)
	}
	for _, bad := range []string{"../x", "/etc/x", "a/../../x"} {
		if _, err := s.AddCopy(digestOf(9), map[string][]byte{bad: nil}, "x"); err == nil {
			t.Errorf("%s leads out and was written", bad)
		}
	}
	if _, err := s.AddCopy("../"+digestOf(9), nil, "x"); err == nil {
		t.Error("a digest that is a path was taken")
	}
	if _, err := os.Stat(filepath.Join(s.Copies, digestOf(9))); err == nil {
		t.Error("a copy that could not be made whole is there")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	e := &Entry{}
	for n := range 3 * maxHistory {
		e.Approve(version(n))
	}
	if len(e.History) != maxHistory || e.Current().Digest != digestOf(3*maxHistory-1) {
		t.Errorf("%d rows, current %+v", len(e.History), e.Current())
	}
	e = &Entry{}
	for n := range 2 * maxEarlier {
		before := slices.Clone(e.History)
		e.Approve(version(n))
		e.KeepEarlier(before)
	}
	if len(e.Earlier) != maxEarlier || e.Earlier[0] != digestOf(2*maxEarlier-maxHistory-1) || !e.Had(e.Earlier[maxEarlier-1]) || e.Had(digestOf(0)) {
		t.Errorf("%d earlier ones", len(e.Earlier))
	}
	if (*Entry)(nil).Had(digestOf(1)) || (*Entry)(nil).Current() != nil || (*Entry)(nil).Previous() != nil || (&Entry{}).Previous() != nil {
		t.Error("nothing approved has a version")
	}
}

// Any file content gives an *Error, or a lock that can be used and saved.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"schema": 1, "plugins": {"a": {"digest": "` + digestOf(1) + `", "history": [{"digest": "` + digestOf(1) + `", "copy": "` + digestOf(1) + `/x"}]}}}`))
	f.Add([]byte(`{"schema": 1, "plugins": {"a": {"history": [{"copy": 1}]}}}`))
	f.Add([]byte("{\n\"schema\": oops"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newStore(t)
		if err := os.WriteFile(s.File, text, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := s.Load()
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("%#v", err)
			}
			return
		}
		slow := &Lock{}
		if err := json.Unmarshal(text, slow); err == nil && len(l.unknown) == 0 && len(slow.unknown) == 0 && len(l.Plugins) != len(slow.Plugins) {
			t.Fatalf("%d and %d plugins", len(l.Plugins), len(slow.Plugins))
		}
		for name, e := range l.Plugins {
			if v := e.Current(); v != nil && v.Copy != "" && !strings.HasPrefix(s.CopyPath(v), s.Copies+string(filepath.Separator)+v.Digest) {
				t.Fatalf("%s has its copy at %s", name, s.CopyPath(v))
			}
			e.Previous()
		}
		l.PruneCopies()
		if err := s.Save(l); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}
