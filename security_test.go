package rules

import (
	"go/ast"
	"os"
	"regexp"
	"testing"
)

// TestSecurityPageNamesRealTests keeps docs/security.md from promising what no
// test holds.
func TestSecurityPageNamesRealTests(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range load(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test {
				there[fn.Name.Name] = true
			}
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllSubmatch(page, -1)
	if len(named) < 30 {
		t.Errorf("only %d tests are named: the page is not read as it is written", len(named))
	}
	for _, m := range named {
		if name := string(m[1]); !there[name] {
			t.Errorf("docs/security.md names %s, and there is no such test", name)
		}
	}
}
