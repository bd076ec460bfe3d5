package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oneWay lists packages whose files do not need each other in a circle: they can be
// read from top to bottom.
var oneWay = []string{"host/daemon", "host/daemon/access", "host/daemon/setup", "host/daemon/turns", "host/internal/snapshot"}

// checkCircles reports circles among the files of the packages in oneWay. A file needs
// another that declares what it uses: a type, function, field or method.
func checkCircles(t *testing.T, files []file) {
	for _, pkg := range oneWay {
		needs := fileNeeds(pkg, files)
		if len(needs) == 0 {
			t.Errorf("%s: no file needs another; is the package there?", pkg)
		}
		left := func(name string) bool { return needs[name] != nil }
		for before := -1; before != len(needs); { // take away the files above and below all circles
			before = len(needs)
			needed := map[string]bool{}
			for _, of := range needs {
				for other := range of {
					needed[other] = true
				}
			}
			maps.DeleteFunc(needs, func(name string, of map[string]string) bool {
				return !needed[name] || !slices.ContainsFunc(slices.Collect(maps.Keys(of)), left)
			})
		}
		for name, of := range needs {
			for other, what := range of {
				if left(other) {
					t.Errorf("%s: %s uses %s of %s, in a circle of files; move one of the two", pkg, name, what, other)
				}
			}
		}
	}
}

// fileNeeds returns for each file of a package the others that it needs, with one name
// of each. The package is checked without its imports, whose names do not matter here.
func fileNeeds(pkg string, files []file) map[string]map[string]string {
	var fset *token.FileSet
	var asts []*ast.File
	needs := map[string]map[string]string{}
	for _, f := range files {
		if f.pkg == pkg && !f.test {
			fset, asts = f.fset, append(asts, f.ast)
			needs[filepath.Base(f.path)] = map[string]string{}
		}
	}
	if fset == nil {
		return nil
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	own, _ := config.Check(pkg, fset, asts, &info) // imports are missing, which are errors
	in := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	for id, o := range info.Uses {
		if _, imported := o.(*types.PkgName); imported || o.Pkg() != own || in(id.Pos()) == in(o.Pos()) {
			continue
		}
		needs[in(id.Pos())][in(o.Pos())] = o.Name()
	}
	return needs
}

// noImports gives every import an empty package.
type noImports struct{}

var _ types.Importer = noImports{}

func (noImports) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndexByte(path, '/')+1:])
	p.MarkComplete()
	return p, nil
}
