package rules

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// retired returns the names that docs/glossary.md gives up, each with the term in its
// place.
func retired(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	quoted := regexp.MustCompile("`([a-z]+)`")
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || strings.HasPrefix(cells[0], "-") {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			names[m[1]] = strings.TrimSpace(cells[0])
		}
	}
	if len(names) < 15 {
		t.Fatalf("only %d names are given up: the page is not read as it is written", len(names))
	}
	return names
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
