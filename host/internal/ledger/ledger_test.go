package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func book(t testing.TB) Book {
	dir := t.TempDir()
	return Book{File: filepath.Join(dir, "weir.lock"), Dir: filepath.Join(dir, "approved")}
}

func digestOf(n int) string { return fmt.Sprintf("%064x", n) }

func version(n int) *Version {
	return &Version{Digest: digestOf(n), Version: fmt.Sprint(n), Source: "/plugins/a/plugin.toml", By: "cli", At: time.Unix(int64(n), 0).UTC(), Copy: digestOf(n) + "/plugin.toml"}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	b := book(t)
	l, err := b.Read()
	if err != nil || len(l.Plugins) != 0 {
		t.Fatal(l, err)
	}
	l.Entry("zeta").Admit(version(1))
	e := l.Entry("alpha")
	e.Admit(version(2))
	e.Admit(version(3))
	e.Disabled = &Word{By: "page", At: time.Unix(9, 0).UTC()}
	if err := b.Write(l); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(b.File)
	if a, z := bytes.Index(text, []byte("alpha")), bytes.Index(text, []byte("zeta")); a < 0 || z < a || !bytes.HasSuffix(text, []byte("}\n")) {
		t.Errorf("the file is for people too:\n%s", text)
	}
	again, err := b.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := again.Plugins["alpha"]
	if got.Digest != digestOf(3) || got.Before().Digest != digestOf(2) || got.Disabled.By != "page" || got.Current().Version != "3" {
		t.Errorf("%+v", got)
	}
	if err := b.Write(again); err != nil {
		t.Fatal(err)
	}
	if same, _ := os.ReadFile(b.File); !bytes.Equal(text, same) {
		t.Errorf("the same lock is written in other bytes:\n%s\n%s", text, same)
	}
	if left, _ := filepath.Glob(b.File + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A key of a newer weir survives an older one.
func TestUnknownKeysSurvive(t *testing.T) {
	b := book(t)
	text := `{"schema": 1, "signed_by": "me", "plugins": {"a": {"digest": "` + digestOf(1) + `", "source": "/x", "note": {"x": [1, 2]},
		"history": [{"digest": "` + digestOf(1) + `", "source": "/x", "by": "cli", "at": "2026-01-02T03:04:05Z", "signature": "abc"}]}}}`
	if err := os.WriteFile(b.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := b.Read()
		if err != nil {
			t.Fatal(err)
		}
		l.Entry("a").Admit(&Version{Digest: digestOf(1), Source: "/y", By: "page"}) // the same bytes once more
		l.Entry("b").Admit(version(7))
		if err := b.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(b.File)
	for _, want := range []string{`"signed_by": "me"`, `"note": {`, `"signature": "abc"`, `"source": "/y"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is lost:\n%s", want, got)
		}
	}
}

// What this version writes is read in one pass; both ways come to the same.
func TestBothWaysOfReadingAgree(t *testing.T) {
	b := book(t)
	l := &Lock{}
	for n := range 3 {
		l.Entry("a").Admit(version(n))
	}
	l.Entry("b").Disabled = &Word{By: "cli", At: time.Unix(5, 0).UTC()}
	if err := b.Write(l); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.File)
	if err != nil {
		t.Fatal(err)
	}
	quick, ok := plain(text)
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
		if l, ok := plain([]byte(other)); ok && other != "null" {
			t.Errorf("%s was read as %+v", other, l)
		}
	}
}

func TestFaultsSayWhatToDo(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "it is empty",
		"{":                            "cut off",
		"[]":                           "array",
		"null":                         "schema is missing",
		"{\n\n nonsense":               "breaks in line 3",
		`{"schema": 1} x`:              "follows behind",
		`{"schema": 2}`:                "newer weir",
		`{"schema": "1"}`:              "schema has the wrong type",
		`{"schema": 1, "plugins": []}`: "plugins has the wrong type",
		`{"schema": 1, "plugins": {"a": {"digest": "` + digestOf(1) + `"}}}`:                                                 "not in its history",
		`{"schema": 1, "plugins": {"a": {"history": [null]}}}`:                                                               "has no digest",
		`{"schema": 1, "plugins": {"a": {"history": [{"digest": "../../../etc"}]}}}`:                                         "has no digest",
		`{"schema": 1, "plugins": {"a": {"history": [{"digest": "` + digestOf(1) + `", "copy": "../../etc/x.wasm"}]}}}`:      "leads out",
		`{"schema": 1, "plugins": {"a": {"history": [{"digest": "` + digestOf(1) + `", "copy": "` + digestOf(2) + `/x"}]}}}`: "leads out",
	} {
		b := book(t)
		if err := os.WriteFile(b.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := b.Read()
		f, ok := errors.AsType[*Fault](err)
		if !ok || !strings.Contains(f.Msg, want) || !strings.Contains(f.Msg, b.File) || f.Fix == "" || strings.Contains(f.Msg, "json:") {
			t.Errorf("%q: %#v, want %q", text, err, want)
		}
	}
}

func TestCopies(t *testing.T) {
	b := book(t)
	l := &Lock{}
	for n := range 6 {
		v := version(n)
		got, err := b.Keep(v.Digest, map[string][]byte{"plugin.toml": []byte("x"), "build/a.wasm": []byte{byte(n)}}, "plugin.toml")
		if err != nil || got != v.Copy {
			t.Fatal(got, err)
		}
		l.Entry("a").Admit(v)
	}
	os.MkdirAll(filepath.Join(b.Dir, unfinished+"1"), 0o700) // a crash left it
	os.WriteFile(filepath.Join(b.Dir, "notes.txt"), nil, 0o600)
	l.Drop()
	b.Sweep(l)
	entries, _ := os.ReadDir(b.Dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name()[max(0, len(e.Name())-2):])
	}
	if got := strings.Join(names, " "); got != "02 03 04 05 xt" {
		t.Errorf("kept: %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(b.Path(l.Plugins["a"].Current())), "build", "a.wasm")); err != nil || text[0] != 5 {
		t.Error(text, err)
	}
	for _, bad := range []string{"../x", "/etc/x", "a/../../x"} {
		if _, err := b.Keep(digestOf(9), map[string][]byte{bad: nil}, "x"); err == nil {
			t.Errorf("%s leads out and was written", bad)
		}
	}
	if _, err := b.Keep("../"+digestOf(9), nil, "x"); err == nil {
		t.Error("a digest that is a path was taken")
	}
	if _, err := os.Stat(filepath.Join(b.Dir, digestOf(9))); err == nil {
		t.Error("a copy that could not be made whole is there")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	e := &Entry{}
	for n := range 3 * maxHistory {
		e.Admit(version(n))
	}
	if len(e.History) != maxHistory || e.Current().Digest != digestOf(3*maxHistory-1) {
		t.Errorf("%d rows, current %+v", len(e.History), e.Current())
	}
	if (*Entry)(nil).Current() != nil || (*Entry)(nil).Before() != nil || (&Entry{}).Before() != nil {
		t.Error("nothing approved has a version")
	}
}

// Whatever stands in the file: an error that is a Fault, or a lock that can be
// used and written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema": 1, "plugins": {"a": {"digest": "` + digestOf(1) + `", "history": [{"digest": "` + digestOf(1) + `", "copy": "` + digestOf(1) + `/x"}]}}}`))
	f.Add([]byte(`{"schema": 1, "plugins": {"a": {"history": [{"copy": 1}]}}}`))
	f.Add([]byte("{\n\"schema\": oops"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := book(t)
		if err := os.WriteFile(b.File, text, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := b.Read()
		if err != nil {
			if _, ok := errors.AsType[*Fault](err); !ok {
				t.Fatalf("%#v", err)
			}
			return
		}
		slow := &Lock{}
		if err := json.Unmarshal(text, slow); err == nil && len(l.extra) == 0 && len(slow.extra) == 0 && len(l.Plugins) != len(slow.Plugins) {
			t.Fatalf("%d and %d plugins", len(l.Plugins), len(slow.Plugins))
		}
		for name, e := range l.Plugins {
			if v := e.Current(); v != nil && v.Copy != "" && !strings.HasPrefix(b.Path(v), b.Dir+string(filepath.Separator)+v.Digest) {
				t.Fatalf("%s has its copy at %s", name, b.Path(v))
			}
			e.Before()
		}
		l.Drop()
		if err := b.Write(l); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}
