package worker

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A failure is the same in every language after it has crossed the pipe.
func TestAFailureCrossesThePipeWithItsArguments(t *testing.T) {
	for _, e := range []*tool.Error{
		tool.Errorf(tool.Failed, "", "%s", "100% of %s"),
		tool.Errorf(tool.Failed, "call it again", "%s failed with code %d and gave no reason", "echo", 7),
		tool.Errorf(tool.OutOfMemory, "pass less text", "%s needs more than its memory limit of %s: %s", "echo", tool.Bytes(64<<20), tool.Text{Format: "its output did not fit"}),
		tool.NewError(tool.Trapped, tool.Textf("%v; it printed: %s", tool.Textf("%s crashed: %s", "echo", errors.New("boom")), "panic"), tool.Text{}),
		tool.Errorf(tool.Failed, "", "no verb, %d%%", 3),
		tool.Errorf(tool.Failed, "", "it exports %.4q", "a long name"),
		{Code: tool.Failed},
	} {
		var m resultMeta
		if err := m.unpack((&resultMeta{Error: metaOfFailure(e)}).Pack(nil)); err != nil {
			t.Errorf("%v: %v", e, err)
			continue
		}
		got, err := m.Error.failure()
		if err != nil {
			t.Errorf("%v: %v", e, err)
			continue
		}
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			if got, want := msg.ToolError(l, got).Error(), msg.ToolError(l, e).Error(); got != want {
				t.Errorf("%q; want %q", got, want)
			}
		}
	}
}

// Every sentence of the sandbox and of this package has its Chinese. The sentences
// are read from the source.
func TestEveryFailureHasItsChinese(t *testing.T) {
	chinese, err := msg.Chinese()
	if err != nil {
		t.Fatal(err)
	}
	// The argument that holds a format, and the keys of literals that hold a text.
	formats := map[string]int{"Errorf": 0, "Textf": 0, "OutOfMemory": 2, "outOfMemory": 0, "boxError": 0}
	n := 0
	check := func(at string, e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "%w", "%s")
		if n++; text != "" && text != "%s" && text != "%s; %s" && text != "none" && chinese[text] == "" {
			t.Errorf("%s: %q has no Chinese", at, text)
		}
	}
	var files []string
	for _, dir := range []string{"../sandbox", "../worker", "../quarantine"} {
		more, err2 := filepath.Glob(dir + "/*.go")
		files, err = append(files, more...), errors.Join(err, err2)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "http.go" { // its texts are for guests
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CallExpr:
				pkg, f := "", ""
				switch fun := node.Fun.(type) {
				case *ast.SelectorExpr:
					f = fun.Sel.Name
					if x, ok := fun.X.(*ast.Ident); ok {
						pkg = x.Name
					}
				case *ast.Ident:
					f = fun.Name
				}
				at, ok := formats[f]
				if pkg == "fmt" || pkg == "unix" || !ok {
					return true
				}
				if pkg == "tool" && f == "Errorf" { // its hint, then its format
					check(set.Position(node.Pos()).String(), node.Args[1])
					at = 2
				}
				if len(node.Args) > at {
					check(set.Position(node.Pos()).String(), node.Args[at])
				}
			case *ast.KeyValueExpr:
				if key, ok := node.Key.(*ast.Ident); ok && key.Name == "Format" {
					check(set.Position(node.Pos()).String(), node.Value)
				}
			case *ast.ValueSpec:
				for i, id := range node.Names {
					if strings.HasPrefix(id.Name, "hint") && i < len(node.Values) {
						check(set.Position(node.Pos()).String(), node.Values[i])
					}
				}
			}
			return true
		})
	}
	if n < 60 {
		t.Errorf("only %d sentences are found", n)
	}
}
