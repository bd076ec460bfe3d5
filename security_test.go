package rules

import (
	"go/ast"
	"os"
	"regexp"
	"testing"
)

// TestSecurityPageNamesRealTests keeps docs/security.md, and its Chinese page, from
// promising what no test holds.
func TestSecurityPageNamesRealTests(t *testing.T) {
	there := map[string]bool{}
	for _, f := range load(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test {
				there[fn.Name.Name] = true
			}
		}
	}
	english, chinese := namedTests(t, "docs/security.md"), namedTests(t, "docs/security.zh-CN.md")
	if len(english) < 30 {
		t.Errorf("only %d tests are named: the page is not read as it is written", len(english))
	}
	for _, name := range english {
		if !there[name] {
			t.Errorf("docs/security.md names %s, and there is no such test", name)
		}
	}
	for i := range max(len(english), len(chinese)) {
		if i >= len(english) || i >= len(chinese) || english[i] != chinese[i] {
			t.Errorf("from here on docs/security.md names %q, and docs/security.zh-CN.md %q", english[min(i, len(english)):], chinese[min(i, len(chinese)):])
			break
		}
	}
}

// namedTests returns the names of tests and fuzz tests that a page puts in backticks, in
// its order.
func namedTests(t *testing.T, page string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	return names
}
