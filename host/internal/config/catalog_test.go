package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/msg"
)

// formats are the functions with an English format, by the position of the format.
// The arguments before it are formats too, except for the code of a Problem.
var formats = map[string]int{"Textf": 0, "msg.Errorf": 0, "Usagef": 1, "Problemf": 2, "WithHint": 0}

// Every sentence of this package and of package app has a Chinese translation.
func TestEverySentenceIsInTheCatalogue(t *testing.T) {
	chinese, err := msg.Chinese()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, folder := range []string{".", "../app"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sentences(tree) {
				found++
				if chinese[s] == "" && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") && strings.Contains(strings.Trim(s, "%vsdgq:() "), " ") {
					t.Errorf("%s: there is no Chinese for %q; add it to host/internal/msg/zh/config.toml", file, s)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d sentences were found", found)
	}
}

// sentences returns the formats in a file.
func sentences(tree *ast.File) []string {
	var out []string
	ast.Inspect(tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
			if x, ok := f.X.(*ast.Ident); ok && name == "Errorf" {
				name = x.Name + ".Errorf"
			}
		}
		last, ok := formats[name]
		for i := 0; ok && i <= last && i < len(call.Args); i++ {
			if lit, is := call.Args[i].(*ast.BasicLit); is && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					out = append(out, strings.TrimSpace(s))
				}
			}
		}
		return true
	})
	return out
}
