package parse

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A field of the parser's structs is written by methods of its own struct alone; whoever
// reads may move the input's pos and mode. And a struct holds only those above it.
func TestOneOwner(t *testing.T) {
	layers := []any{input{}, output{}, context{}, code{}, thought{}, groups{}, lines{}}
	owner := map[string]string{}
	var above []string
	for _, l := range layers {
		typ := reflect.TypeOf(l)
		for i := range typ.NumField() {
			f := typ.Field(i)
			held := f.Type
			if held.Kind() == reflect.Pointer {
				held = held.Elem()
			}
			if held.Kind() == reflect.Struct && slices.ContainsFunc(layers, func(l any) bool { return reflect.TypeOf(l) == held }) {
				if !slices.Contains(above, held.Name()) {
					t.Errorf("%s holds %s, which is not above it", typ.Name(), held.Name())
				}
				continue
			}
			if other, double := owner[f.Name]; double {
				t.Errorf("%s and %s both have a field %s: give it another name", other, typ.Name(), f.Name)
			}
			owner[f.Name] = typ.Name()
		}
		above = append(above, typ.Name())
	}
	delete(owner, "pos")
	delete(owner, "mode")

	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		tree, err := goparser.ParseFile(set, file, src, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			self := receiver(f)
			written(f.Body, func(s *ast.SelectorExpr) {
				if in, inside := s.X.(*ast.SelectorExpr); inside && in.Sel.Name == "g" && self != "groups" {
					t.Errorf("%s: %s writes to a group: only methods of groups may", set.Position(s.Pos()), f.Name.Name)
				}
				in, inside := s.X.(*ast.SelectorExpr) // as in l.around.doc; what has one dot is a method's own or a local's
				if o := owner[s.Sel.Name]; inside && o != "" && o != self && layerOf(in.Sel.Name) == o {
					t.Errorf("%s: %s writes %s.%s: only methods of %s may", set.Position(s.Pos()), f.Name.Name, o, s.Sel.Name, o)
				}
			})
		}
	}
}

// layerOf returns the type of the field by which a struct holds another.
func layerOf(field string) string {
	switch field {
	case "in":
		return "input"
	case "out":
		return "output"
	case "around":
		return "context"
	case "calls":
		return "groups"
	}
	return field
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// written calls f with each field that is assigned to.
func written(body ast.Node, f func(*ast.SelectorExpr)) {
	ast.Inspect(body, func(n ast.Node) bool {
		var to []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			to = n.Lhs
		case *ast.IncDecStmt:
			to = []ast.Expr{n.X}
		}
		for _, x := range to {
			if s, ok := x.(*ast.SelectorExpr); ok {
				f(s)
			}
		}
		return true
	})
}
