package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// The sentences of the packages below that a person reads: the functions that make a
// problem, its types, and the names of its parts.
var (
	tellers  = []string{"Textf", "problem", "param", "Problemf", "Paramf", "bad", "warn", "unreadable", "Bad", "BadItem", "need", "CheckHighlights"}
	tellings = []string{"Problem", "plugin.Error", "ModelError", "Fault", "plugin.Info", "plugin.PendingVersion"}
	toldAs   = regexp.MustCompile(`(?i)^(hint|fix|why|msg|missing)$|Hint$|Fix$`)
)

// problemsOf returns the sentences of a file that people read: those in its problems,
// and those that are assigned to the name of a part of one.
func problemsOf(file *ast.File) []string {
	found := map[string]bool{}
	gather := func(e ast.Node) {
		ast.Inspect(e, func(n ast.Node) bool {
			if v, ok := n.(ast.Expr); ok {
				s, ok := literal(v)
				if ok && sentence.MatchString(unplaced.ReplaceAllString(s, "%")) && !onlyTyped.MatchString(s) {
					found[s] = true
				}
				return !ok
			}
			return true
		})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch v := n.(type) {
		case *ast.FuncDecl:
			if toldAs.MatchString(v.Name.Name) {
				ast.Inspect(v, func(n ast.Node) bool {
					if r, ok := n.(*ast.ReturnStmt); ok {
						gather(r)
					}
					return true
				})
			}
		case *ast.CallExpr:
			if slices.Contains(tellers, nameOf(v.Fun)) && !saysBoth(v.Args) {
				for _, a := range v.Args {
					gather(a)
				}
			}
		case *ast.CompositeLit:
			if slices.Contains(tellings, nameOf(v.Type)) || slices.Contains(tellings, qualified(v.Type)) {
				for _, e := range v.Elts {
					gather(e)
				}
			}
		case *ast.AssignStmt:
			for i, to := range v.Lhs {
				if toldAs.MatchString(nameOf(to)) && len(v.Rhs) == len(v.Lhs) {
					gather(v.Rhs[i])
				}
			}
		}
		return true
	})
	list := make([]string, 0, len(found))
	for s := range found {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

var (
	sentence = regexp.MustCompile(`[A-Za-z]{2,}[^A-Za-z]*[ \t\n]|[ \t\n][^A-Za-z]*[A-Za-z]{2,}`)
	unplaced = regexp.MustCompile(`%[-+# 0]*[\d.]*[a-zA-Z]`)
	// Text to type, the words of a library, text that joins two others, and text with
	// its Chinese beside it.
	onlyTyped = regexp.MustCompile(`^schema = %d$|^send \{|^\{|^ \(and %d more\)$|^; and $|^"query" is missing$|\p{Han}`)
)

func nameOf(e ast.Expr) string {
	switch v := e.(type) {
	case *ast.Ident:
		return v.Name
	case *ast.SelectorExpr:
		return v.Sel.Name
	}
	return ""
}

// qualified is the name of another package's, with the package.
func qualified(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return nameOf(s.X) + "." + s.Sel.Name
	}
	return ""
}

// Every problem that the daemon and the host tell people exists in Chinese.
func TestEveryProblemIsInBothLanguages(t *testing.T) {
	for folder, least := range map[string]int{"../../daemon": 30, "../../daemon/plugins": 10, "../../daemon/archives": 10, "../../daemon/turns": 10, "../../daemon/api": 5, "../../daemon/httpjson": 3, "../../daemon/openai": 20, "../..": 7, "../../internal/snapshot": 12, "../../internal/catalog": 25, "../../internal/grant": 12, "../../internal/lockfile": 5, "../../approval": 10, "../../internal/registry": 100, "../../../agent": 3} {
		sum := 0
		eachFile(t, folder, func(name string, file *ast.File) {
			for _, s := range problemsOf(file) {
				sum++
				if k := strings.ReplaceAll(s, "%w", "%s"); msg.Format(tool.Zh, k) == k {
					t.Errorf("%s: there is no Chinese for %q; put it into host/internal/msg", name, s)
				}
			}
		})
		if sum < least {
			t.Errorf("%s: only %d texts were found", folder, sum)
		}
	}
}

// Whatever is wrong with a manifest reads Chinese where its author does, values that
// are only numbers and quotes included.
func TestManifestsAreCorrectedInChinese(t *testing.T) {
	dir := t.TempDir()
	const manifest = `schema = 1
name = "Bad__x"
version = 5
min_host = "abc"
wasm = "../x.wasm"
fresh = "yes"
[limits]
timeout = "99h"
memory = 5
[permissions]
paths = [{ guest = "workspace", mode = "rx", reason = "r" }, 3]
hosts = [{ host = "http://", reason = "r" }]
secrets = [{ name = "1", host = "x.y", format = "no", reason = "r" }]
[config.k]
description = "d"
[[tool]]
name = "t__x"
description = "d"
[tool.output]
max_chars = 5
max_lines = 1
head = 1.5
keep = [3]
[tool.rate]
per_minute = -1
[[tool.examples]]
args = 3
[tool.params]
type = "array"
`
	if err := os.WriteFile(filepath.Join(dir, "plugin.toml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runIn(t.Context(), t, t.TempDir(), "", "--lang", "zh", "plugin", "pack", dir, "-o", filepath.Join(t.TempDir(), "x.wasm"))
	if n := strings.Count(stderr, "\n"); code == 0 || n < 20 {
		t.Fatalf("exit %d, %d lines: %s", code, n, stderr)
	}
	for line := range strings.Lines(stderr) {
		what, fix, both := strings.Cut(line, "；")
		if !both || !chinese.MatchString(what) || !chinese.MatchString(fix) {
			t.Errorf("%q", line)
		}
	}
}
