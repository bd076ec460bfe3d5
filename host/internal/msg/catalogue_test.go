package msg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// root is the root of the source tree.
const root = "../../.."

// sentences are the functions whose arguments are sentences, by their names: the
// positions of those arguments. A name without a package is that of a method or of a
// function of the same package.
var sentences = map[string][]int{
	"tool.Textf": {0}, "tool.Errorf": {1, 2},
	"msg.Errorf": {0}, "msg.Problemf": {1, 2}, "Problemf": {2, 3}, "Paramf": {2, 3}, "msg.Usagef": {0, 1}, "usagef": {0, 1},
	"WithHint": {0}, "Bad": {2}, "t.warn": {2}, "c.warn": {2}, "refuse": {0}, "m.in": {0}, "errorf": {0}, "warn": {0}, "note": {0}, "leave": {0}, "wrong": {2}, "amount": {1}, "Outf": {0}, "Errf": {0}, "Sprintf": {0}, "Label": {0}, "Table": {0}, "Confirm": {1},
	"outf": {0}, "errf": {0}, "reply": {0},
	"e.add": {2, 3}, "e.addFix": {3}, "e.private": {4}, "finding": {1}, "missing": {0}, "report": {1}, "addf": {1},
	"textOf": {0}, "pluralText": {1, 2}, "helpf": {0},
}

// others have functions of the same names that format text for no reader.
var others = []string{"fmt", "log", "t", "b", "errors"}

// untranslated are sentences that are the same in every language: commands to type,
// names, amounts and marks.
var untranslated = []*regexp.Regexp{
	regexp.MustCompile(`^\s*(weir [a-z]+|chmod |apt |rustup |cd |send \{|files=%q$|https?:/|/[a-z]+ ?)`),
	regexp.MustCompile(`^[a-z]*\s?[A-Z]+$`),
	regexp.MustCompile(`^(%\S+|--[a-z-]*|[\s,.:;()=·→←|~#]|weir|from|FAIL|sha256|KiB|MiB|GiB|ms|min|ok|no|s)*$`),
}

// pending are folders whose sentences are not keys of the catalogue yet.
var pending = []string{"examples/", "sdk/", "host/bench/", "host/internal/sandbox/http.go"}

// libraryPage is the file with translations of libraries' sentences, which no file of the
// tree has.
const libraryPage = "libraries.toml"

// found are the string literals of the tree.
type found struct {
	all    map[string]bool            // every literal; unknown parts are %s
	needed map[string]map[string]bool // the sentences, with the files that use them
}

func literals(t *testing.T) found {
	t.Helper()
	f := found{map[string]bool{}, map[string]map[string]bool{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "testdata", "build", "bin", "node_modules", "target"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f.add(strings.TrimPrefix(filepath.ToSlash(path), root+"/"), file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f found) add(path string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if s, ok := literal(e); ok {
				f.all[strings.ReplaceAll(strings.TrimSpace(s), "%w", "%s")] = true
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, i := range positions(call.Fun) {
			if i >= len(call.Args) {
				continue
			}
			s, ok := literal(call.Args[i])
			if key := strings.ReplaceAll(strings.TrimSpace(s), "%w", "%s"); ok && !slices.ContainsFunc(untranslated, func(m *regexp.Regexp) bool { return m.MatchString(key) }) {
				if f.needed[key] == nil {
					f.needed[key] = map[string]bool{}
				}
				f.needed[key][path] = true
			}
		}
		return true
	})
}

// positions returns which arguments of a function are sentences.
func positions(fun ast.Expr) []int {
	switch v := fun.(type) {
	case *ast.Ident:
		return sentences[v.Name]
	case *ast.SelectorExpr:
		if x, ok := v.X.(*ast.Ident); ok {
			if slices.Contains(others, x.Name) {
				return nil
			}
			if at := sentences[x.Name+"."+v.Sel.Name]; at != nil {
				return at
			}
		}
		return sentences[v.Sel.Name]
	}
	return nil
}

// literal returns the text of a string, with %s for each part that is not a
// literal. ok is false if no part is one.
func literal(e ast.Expr) (s string, ok bool) {
	switch v := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(v.Value)
		return s, v.Kind == token.STRING && err == nil
	case *ast.ParenExpr:
		return literal(v.X)
	case *ast.BinaryExpr:
		x, isX := literal(v.X)
		y, isY := literal(v.Y)
		if v.Op != token.ADD || !isX && !isY {
			return "", false
		}
		if !isX {
			x = "%s"
		}
		if !isY {
			y = "%s"
		}
		return x + y, true
	}
	return "", false
}

// Every sentence of the program has a translation.
func TestEverySentenceIsTranslated(t *testing.T) {
	texts, err := Chinese()
	if err != nil {
		t.Fatal(err)
	}
	needed := literals(t).needed
	for _, key := range slices.Sorted(maps.Keys(needed)) {
		for path := range needed[key] {
			if _, ok := texts[key]; !ok && !slices.ContainsFunc(pending, func(p string) bool { return strings.HasPrefix(path, p) }) {
				t.Errorf("%s: %q has no translation in zh/*.toml", path, key)
			}
		}
	}
	if len(needed) < 300 {
		t.Errorf("only %d sentences were found", len(needed))
	}
}

// Every translation belongs to a sentence of the program.
func TestEveryTranslationIsUsed(t *testing.T) {
	all := literals(t).all
	names, err := fs.Glob(files, "zh/*.toml")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		if path.Base(name) == libraryPage {
			continue
		}
		var texts map[string]string
		if _, err := toml.DecodeFS(files, name, &texts); err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			if !all[key] {
				t.Errorf("%s: no file has the sentence %q; remove its translation", name, key)
			}
		}
	}
}

// verbs are the places of a format, without their positions.
var verbs = regexp.MustCompile(`%(\[\d+\])?[-+# 0]*(\d+|\*)?(\.\d+)?[a-zA-Z%]`)

// A translation has the same arguments as its sentence.
func TestTranslationsHaveTheSameArguments(t *testing.T) {
	texts, err := Chinese()
	if err != nil {
		t.Fatal(err)
	}
	count := func(s string) int {
		used, next, most := map[int]bool{}, 0, 0
		for _, m := range verbs.FindAllStringSubmatch(s, -1) {
			if strings.HasSuffix(m[0], "%") && len(m[0]) == 2 {
				continue
			}
			if m[1] != "" {
				next, _ = strconv.Atoi(strings.Trim(m[1], "[]"))
				next--
			}
			used[next] = true
			next++
			most = max(most, next)
		}
		return len(used)
	}
	for key, text := range texts {
		if a, b := count(key), count(text); a != b {
			t.Errorf("%q has %d arguments, its translation %q has %d", key, a, text, b)
		}
	}
}

// A sentence without arguments is printed as it is written, so a doubled percent sign would
// be seen as two.
func TestSentencesWithoutArgumentsHaveNoDoubledPercent(t *testing.T) {
	texts, err := Chinese()
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range texts {
		if len(verbs.FindAllString(strings.ReplaceAll(key, "%%", ""), -1)) == 0 && strings.Contains(key+text, "%%") {
			t.Errorf("%q, %q: write it without a percent sign", key, text)
		}
	}
}
