package rules

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notPlain lists files that the test passes over: this one has to name what it looks
// for, and a changed comment of the other would change the committed runtime.wasm.
var notPlain = []string{"language_test.go", "sdk/js/runtime/prelude.js"}

// riddles are phrases that a reader has to decode, with what to write instead.
var riddles = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been|being) told\b`), "name who receives it: X receives, X logs, X reports"},
	{regexp.MustCompile(`(?i)\btells? (what|who|which|how|whether|about|of|apart)\b`), "returns, reports whether, describes"},
	{regexp.MustCompile(`(?i)(^|[^"])\bnobody\b`), "no caller, no one; or the case itself: if nil, …"},
	{regexp.MustCompile(`(?i)\banew\b`), "again, new"},
	{regexp.MustCompile(`(?i)\bmend(s|ed|ing)?\b`), "fix"},
	{regexp.MustCompile(`(?i)\bl(et|ets|etting) go of\b`), "release"},
	{regexp.MustCompile(`(?i)\bstand(s|ing)?\b([^- ]|[^-]\w)`), "is, means, is written"},
	{regexp.MustCompile(`(?i)\bbehind\b( (an? |the |its |one )?(reverse |HTTP )?(proxy|proxies|load balancer|flag|interface|NAT|firewall))?`), "after"},
	{regexp.MustCompile(`(?i)\bby (itself|themselves)\b`), "automatically; or leave it out"},
	{regexp.MustCompile(`(?i)\bwhat (an? |the )?\w+ takes\b`), "the cost, the arguments, the size of"},
	{regexp.MustCompile(`(^|[.;:] )Who [a-z]+\b[^?]*$`), "a caller that …, a user who …"},
	{regexp.MustCompile(`(?i)\bso that\b[^.;]*\bso that\b`), "two sentences"},
	{regexp.MustCompile(`(?i)\b(gives?|has|have|had|without|by|asks? for|gets?|takes?) leave\b`), "permission"},
}

// riddle returns the first phrase of s that is not plain, and what to write instead.
func riddle(s string) (phrase, instead string) {
	for _, r := range riddles {
		for _, m := range r.pattern.FindAllStringSubmatch(s, -1) {
			if len(m) > 1 && strings.EqualFold(m[0][:min(6, len(m[0]))], "behind") && m[1] != "" {
				continue // "behind a proxy" is what it is called
			}
			return m[0], r.instead
		}
	}
	return "", ""
}

// Comments, messages and pages are read by people of all countries. Set
// WEIR_LANGUAGE to a folder to check only that.
func TestLanguage(t *testing.T) {
	only, all := os.LookupEnv("WEIR_LANGUAGE")
	held := func(path string) bool {
		return !slices.Contains(notPlain, path) && (!all || strings.HasPrefix(path, only))
	}
	check := func(path string, line int, s string) {
		if phrase, instead := riddle(s); phrase != "" {
			t.Errorf("%s:%d says %q; write: %s", path, line, phrase, instead)
		}
	}
	for _, f := range load(t) {
		if !held(f.path) {
			continue
		}
		for _, group := range f.ast.Comments {
			check(f.path, f.fset.Position(group.Pos()).Line, strings.Join(strings.Fields(group.Text()), " "))
		}
		if f.test {
			continue // what a test feeds to the program may be any text
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") {
				check(f.path, f.fset.Position(lit.Pos()).Line, lit.Value)
			}
			return true
		})
	}
	pages := func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "build" || d.Name() == "bin" || d.Name() == "target"):
			return fs.SkipDir
		case d.IsDir() || !held(filepath.ToSlash(path)) || !slices.Contains([]string{".md", ".toml", ".sh", ".js", ".ts", ".rs", ".c", ".h"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			check(path, i+1, strings.TrimLeft(line, "/#*- \t"))
		}
		return err
	}
	if err := filepath.WalkDir(".", pages); err != nil {
		t.Fatal(err)
	}
}
