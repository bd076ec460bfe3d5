package rules

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A term is a row of docs/glossary.md.
type term struct{ english, chinese, retired string }

// terms returns the rows of a glossary. In the Chinese page the columns with the terms
// are exchanged.
func terms(t *testing.T, page string, english, chinese int) (out []term) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || strings.HasPrefix(cells[0], "-") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[english] != "term" && cells[english] != "English" {
			out = append(out, term{cells[english], cells[chinese], cells[3]})
		}
	}
	return out
}

// retired returns the names that docs/glossary.md gives up, each with the term in its
// place.
func retired(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	quoted := regexp.MustCompile("`([a-z]+)`")
	for _, term := range terms(t, "docs/glossary.md", 0, 1) {
		for _, m := range quoted.FindAllStringSubmatch(term.retired, -1) {
			names[m[1]] = term.english
		}
	}
	if len(names) < 15 {
		t.Fatalf("only %d names are given up: the page is not read as it is written", len(names))
	}
	return names
}

// Both pages of the glossary have the same terms in the same order.
func TestGlossaryInBothLanguages(t *testing.T) {
	english, chinese := terms(t, "docs/glossary.md", 0, 1), terms(t, "docs/glossary.zh-CN.md", 1, 0)
	if len(english) != len(chinese) {
		t.Errorf("%d terms in English, %d in Chinese", len(english), len(chinese))
	}
	for i := range min(len(english), len(chinese)) {
		if english[i] != chinese[i] {
			t.Errorf("docs/glossary.md has %q, docs/glossary.zh-CN.md %q", english[i], chinese[i])
		}
	}
}

// A name that the glossary gives up is no type, function, method, field or file.
func TestGlossary(t *testing.T) {
	names := retired(t)
	check := func(path, name string) {
		if term, ok := names[strings.ToLower(name)]; ok {
			t.Errorf("%s declares %s; docs/glossary.md calls it %s", path, name, term)
		}
	}
	for _, f := range load(t) {
		if strings.HasPrefix(f.path, "plugins/") || strings.HasPrefix(f.path, "examples/") { // a tool has words of its own
			continue
		}
		base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.path), ".go"), "_test")
		check(f.path, base)
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(f.path, d.Name.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					checkSpec(s, func(name string) { check(f.path, name) })
				}
			}
		}
	}
}

func checkSpec(s ast.Spec, check func(name string)) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			check(n.Name)
		}
	case *ast.TypeSpec:
		check(s.Name.Name)
		ast.Inspect(s.Type, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				for _, name := range field.Names {
					check(name.Name)
				}
			}
			return true
		})
	}
}
