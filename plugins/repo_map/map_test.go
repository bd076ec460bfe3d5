package main

import (
	stdcmp "cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weirhost/weir/plugins/internal/tooltest"
	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
	"pgregory.net/rapid"
)

func sample() guest.Options {
	return guest.Options{FS: map[string]fs.FS{"/workspace": os.DirFS(filepath.Join("testdata", "repo"))}}
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		locale     tool.Locale
	}{
		{"whole", `{"repo_path":"."}`, tool.En},
		{"small", `{"repo_path":".","max_tokens":150}`, tool.En},
		{"small_zh", `{"repo_path":".","max_tokens":150}`, tool.Zh},
		{"folder", `{"repo_path":"core"}`, tool.En},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := sample()
			o.Locale = tt.locale
			out, err := guest.Invoke(mapRepo, tt.args, o)
			if err != nil {
				t.Fatal(err)
			}
			got := out.Text
			if out.More != nil {
				got += fmt.Sprintf("more: %d of %d, %s\n", out.More.Shown, out.More.Total, out.More.Args)
			}
			tooltest.Golden(t, tt.name, got)
		})
	}
}

// TestBudget: a map never costs more than its budget, and a larger budget
// never shows less.
func TestBudget(t *testing.T) {
	o := sample()
	last := 0
	for budget := 60; budget <= 2000; budget += 20 {
		out, err := guest.Invoke(mapRepo, fmt.Sprintf(`{"max_tokens":%d}`, budget), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := tokens(out.Text); got > budget {
			t.Errorf("%d tokens in a budget of %d", got, budget)
		}
		shown := strings.Count(out.Text, ": ") - 1
		if shown < last-1 { // a longer, better entry may take the place of two
			t.Errorf("budget %d shows %d, a smaller one %d", budget, shown, last)
		}
		last = shown
	}
}

// A call without a budget gets every definition once: the map of 2,000 tokens, which is
// shown first, and then the others.
func TestEverythingIsHandedOver(t *testing.T) {
	m := fstest.MapFS{}
	for i := range 40 {
		var src strings.Builder
		for j := range 20 {
			fmt.Fprintf(&src, "func F%dx%d() {}\n", i, j)
		}
		m[fmt.Sprintf("f%02d.go", i)] = &fstest.MapFile{Data: []byte(src.String())}
	}
	o := guest.Options{FS: map[string]fs.FS{"/workspace": m}, Limits: tool.Limits{MaxChars: 300, MaxLines: 2}}
	small, err := guest.Invoke(mapRepo, `{"max_tokens":2000}`, o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := guest.Invoke(mapRepo, `{}`, o)
	if err != nil || out.More != nil || len(out.Entries.Lines) != 800 || out.Entries.Show != small.More.Shown {
		t.Fatalf("%v, more %+v, entries %+v", err, out.More, out.Entries)
	}
	_, first, _ := strings.Cut(small.Text, "\n")
	if !strings.Contains(out.Text, "800 definitions in 40 files") || !strings.Contains(out.Text, "\n"+first+"The others:\n") {
		t.Errorf("the map does not come first:\n%.300s", out.Text)
	}
	for i := range 40 {
		for j := range 20 {
			if strings.Count(out.Text, fmt.Sprintf(" func F%dx%d(", i, j)) != 1 {
				t.Fatalf("F%dx%d is not there once", i, j)
			}
		}
	}
}

func TestDefinitions(t *testing.T) {
	for _, tt := range []struct{ file, line, name, text, why string }{
		{"a.go", "func (s *Store[T]) Put(x T) error {", "Put", "func (s *Store[T]) Put(x T) error", "a method"},
		{"a.go", "func Map[K comparable](m map[K]int) {", "Map", "func Map[K comparable](m map[K]int)", "a generic function"},
		{"a.go", "func (c *C) N() int { return 1 }", "N", "func (c *C) N() int", "a body on the line is left out"},
		{"a.go", "type T struct{ A int }", "T", "type T struct{ A int }", "what a type is stays"},
		{"a.go", "	var x = 1", "", "", "a local variable"},
		{"a.go", "func main() {", "", "", "every program has one"},
		{"a.go", "type 接口 interface {", "接口", "type 接口 interface", "names that are not ASCII"},
		{"a.py", "    def run(self):", "run", "def run(self)", "a method"},
		{"a.py", "LIMIT: int = 3", "LIMIT", "LIMIT: int = 3", "a constant with its type"},
		{"a.py", "limit = 3", "", "", "a variable"},
		{"a.py", "    def __init__(self):", "", "", "every class has one"},
		{"a.ts", "export abstract class A<T> {", "A", "export abstract class A<T>", "a class"},
		{"a.ts", "export const f = async (x: number): Promise<void> => {", "f", "export const f = async (x: number): Promise<void> =>", "an arrow function"},
		{"a.ts", "  public async get(id: string): Promise<T> {", "get", "public async get(id: string): Promise<T>", "a method"},
		{"a.ts", "  if (x) {", "", "", "a statement"},
		{"a.ts", "export type Id = string;", "Id", "export type Id = string;", "a type"},
		{"a.js", "function* walk(n) {", "walk", "function* walk(n)", "a generator"},
		{"a.rs", `pub unsafe extern "C" fn go() {`, "go", `pub unsafe extern "C" fn go()`, "a function with everything"},
		{"a.rs", "    pub(crate) fn x(&self) -> u8 {", "x", "pub(crate) fn x(&self) -> u8", "a method"},
		{"a.rs", "let x = 1;", "", "", "a variable"},
		{"a.c", "static inline const char *name(int x) {", "name", "static inline const char *name(int x)", "a function"},
		{"a.c", "int put(struct ring *r, char c);", "put", "int put(struct ring *r, char c);", "a declaration"},
		{"a.c", "#define MAX(a, b) ((a) > (b))", "MAX", "#define MAX(a, b) ((a) > (b))", "a macro"},
		{"a.c", "typedef unsigned long word_t;", "word_t", "typedef unsigned long word_t;", "a type"},
		{"a.c", "\treturn put(r, c);", "", "", "a statement"},
		{"a.c", "} else if (x) {", "", "", "another"},
		{"a.c", "struct ring *r = make();", "", "", "a variable of a type"},
		{"a.h", "enum state {", "state", "enum state", "an enumeration"},
		{"a.go", "func F(" + strings.Repeat("x int, ", 50) + ") {", "F", "func F(" + strings.Repeat("x int, ", 16) + "…", "a long line is cut"},
	} {
		found := languageOf(tt.file).definitions(tt.line + "\n")
		name, text := "", ""
		if len(found) > 0 {
			name, text = found[0].name, found[0].text
		}
		if name != tt.name || text != tt.text {
			t.Errorf("%s: %s gives %q %q, want %q %q", tt.why, tt.line, name, text, tt.name, tt.text)
		}
	}
}

func TestComments(t *testing.T) {
	src := "/*\nfunc A() {}\n*/\nfunc B() {}\n/* one line */\nfunc C() {}\n\t/* begins\nends */ func D() {}\nfunc E() {}\n"
	var got []string
	for _, d := range golang.definitions(src) {
		got = append(got, fmt.Sprint(d.name, d.line))
	}
	if want := []string{"B4", "C6", "E9"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRanking checks the order: used before unused definitions, exported before
// unexported ones, code before its tests.
func TestRanking(t *testing.T) {
	m := fstest.MapFS{}
	put := func(name, text string) { m[name] = &fstest.MapFile{Data: []byte(text)} }
	put("a/a.go", "package a\ntype Used struct{}\ntype Unused struct{}\ntype hidden struct{}\n")
	put("a/a_test.go", "package a\ntype InTest struct{}\nvar _ Used\n")
	put("a/deep/er/and/deeper/d.go", "package d\ntype Far struct{}\n")
	for i := range 4 {
		put(fmt.Sprintf("u%d.go", i), "package u\nvar _ Used\n")
	}
	out, err := guest.Invoke(mapRepo, `{}`, guest.Options{FS: map[string]fs.FS{"/workspace": m}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := scanFor(t, m)
	if err != nil {
		t.Fatal(err)
	}
	r.rank()
	best := slices.Clone(r.defs)
	slices.SortStableFunc(best, func(a, b *def) int { return stdcmp.Compare(b.score, a.score) })
	var order []string
	for _, d := range best {
		order = append(order, d.name)
	}
	want := []string{"Used", "Unused", "Far", "hidden", "InTest"}
	if !slices.Equal(order, want) || !strings.Contains(out.Text, "type Used struct{}") {
		t.Errorf("order %v, want %v", order, want)
	}
}

// scanFor scans a file system in a call of its own.
func scanFor(t *testing.T, m fstest.MapFS) (r *repo, err error) {
	t.Helper()
	_, callErr := guest.Invoke(func(c *guest.Call, _ struct{}) (guest.Result, error) {
		r, err = scan(c, files.In(c, files.Workspace), ".")
		return guest.Text("scanned"), err
	}, `{}`, guest.Options{FS: map[string]fs.FS{"/workspace": m}})
	return r, errors.Join(err, callErr)
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		args string
		code tool.Code
		why  string
	}{
		{`{"repo_path":"notes.md"}`, tool.BadArgs, "a file"},
		{`{"repo_path":"cor"}`, tool.BadArgs, "a folder that is not there"},
		{`{"repo_path":".."}`, tool.Denied, "outside"},
		{`{"max_tokens":-1}`, tool.BadArgs, "a negative budget"},
		{`{"max_tokens":20001}`, tool.BadArgs, "a budget over the highest"},
		{`{"max_tokens":"2k"}`, tool.BadArgs, "no number"},
	} {
		_, err := guest.Invoke(mapRepo, tt.args, sample())
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tt.code || e.Hint == "" {
			t.Errorf("%s: %s gives %v", tt.why, tt.args, err)
		}
	}
	out, err := guest.Invoke(mapRepo, `{"repo_path":"node_modules"}`, sample())
	if err != nil || !strings.Contains(out.Text, "ignored") {
		t.Errorf("a skipped folder that is asked for by name: %v %q", err, out.Text)
	}
	empty := guest.Options{FS: map[string]fs.FS{"/workspace": fstest.MapFS{"a.md": {}}}}
	if out, err := guest.Invoke(mapRepo, `{}`, empty); err != nil || !strings.HasPrefix(out.Text, "No definitions found") {
		t.Errorf("nothing to map: %v %q", err, out.Text)
	}
}

func TestFilesPassedOver(t *testing.T) {
	m := fstest.MapFS{
		"ok.go":           {Data: []byte("func Seen() {}\n")},
		"huge.go":         {Data: []byte("func Huge() {}\n" + strings.Repeat("//\n", maxFile/3))},
		"bin.go":          {Data: []byte("func Bin() {}\x00\n")},
		"vendor/v.go":     {Data: []byte("func Vendored() {}\n")},
		"lib.min.js":      {Data: []byte("function Min() {}\n")},
		"one_line.js":     {Data: []byte("function Line() {}" + strings.Repeat(" ", 2000) + "\n")},
		"windows_crlf.go": {Data: []byte("func Win() {\r\n}\r\n")},
	}
	out, err := guest.Invoke(mapRepo, `{}`, guest.Options{FS: map[string]fs.FS{"/workspace": m}})
	if err != nil || !strings.HasPrefix(out.Text, ".: 2 of 2 definitions in 3 files") || !strings.Contains(out.Text, "func Win()\n") {
		t.Errorf("%v %s", err, out.Text)
	}
}

func TestProgress(t *testing.T) {
	m := fstest.MapFS{}
	for i := range 250 {
		m[fmt.Sprintf("f%03d.go", i)] = &fstest.MapFile{Data: []byte("package f\nfunc F() {}\n")}
	}
	out, err := guest.Invoke(mapRepo, `{}`, guest.Options{FS: map[string]fs.FS{"/workspace": m}})
	if err != nil || len(out.Progress) != 2 || out.Progress[1].Done != 200 || out.Progress[1].Total != 250 {
		t.Errorf("%v %+v", err, out.Progress)
	}
}

// TestAnySource: no text makes a definition without a name, on a line that is
// not there, or longer than a signature may be.
func TestAnySource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.StringMatching(`((export |pub |static |async )?(func|class|def|fn|struct|const|type|#define) [\pL(){}=:;<>*, "]{0,20}\n?){0,6}`).Draw(t, "src")
		for _, ext := range []string{".go", ".py", ".ts", ".rs", ".c"} {
			for _, d := range languageOf("x" + ext).definitions(src) {
				if d.name == "" || d.line < 1 || d.line > strings.Count(src, "\n")+1 || len([]rune(d.text)) > maxSignature || strings.Contains(d.text, "\n") {
					t.Fatalf("%s: %q gives %+v", ext, src, d)
				}
			}
		}
	})
}
