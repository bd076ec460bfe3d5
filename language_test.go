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

// plain lists the folders and files whose English the test below holds to plain
// words; "" is everything, and "folder/*.go" the Go files directly in a folder.
var plain = []string{
	"agent",
	"host/internal/app",
	"host/internal/config",
	"host/internal/jsonedit",
	"host/internal/otlp",
	"host/internal/cancelscope",
	"host/internal/confine",
	"host/internal/conform",
	"host/internal/cpusched",
	"host/internal/cputime",
	"host/internal/hostile",
	"host/internal/lines",
	"host/internal/panics",
	"host/internal/pipe",
	"host/internal/quarantine",
	"host/internal/sandbox",
	"host/internal/shmring",
	"host/internal/soak",
	"host/internal/worker",
	"host/internal/term",
	"host/internal/chat",
	"host/daemon/client",
	"host/daemon/approvals",
	"host/daemon/export",
	"host/daemon/openapi",
	"host/daemon/resume",
	"host/internal/backup",
	"host/internal/doctor",
	"host/internal/mcpbridge",
	"host/internal/plugincmd",
	"host/cmd/weir",
	"agent/parse",
	"host/internal/modindex",
	"host/internal/jail",
	"host/internal/egress",
	"host/internal/jsonscan",
	"host/internal/tomlpos",
	"host/internal/watch",
	"host/internal/wasmcheck",
	"host/internal/memsnap",
	"host/internal/instrument",
	"sdk/limit",
	"host/plugintest",
	"sdk/tool",
	"host/internal/registry",
	"host/internal/mcpclient",
	"host/internal/wasmtest",
	"sdk/guest",
	"sdk/c",
	"sdk/rust",
	"sdk/assemblyscript",
	"sdk/js/README.md",
	"plugins",
	"examples",
	"host/bench",
	"host/internal/author",
	"host/internal/toolchain",
	"host/internal/guesttest",
	"host/internal/schema",
	"host/internal/describe",
	"host/internal/text",
	"host/internal/msg/msg.go",
	"host/internal/msg/localize.go",
	"host/internal/sched",
	"host/plugin",
	"host/approval",
	"host/internal/grant",
	"host/internal/catalog",
	"host/*.go",
	"host/internal/lockfile",
	"host/internal/text",
	"host/internal/callargs",
	"host/internal/answer",
	"host/internal/history",
	"host/daemon/api",
	"host/internal/runner",
	"host/daemon/httpjson",
	"host/daemon/openai",
	"host/daemon/routes.go",
	"host/daemon/observe.go",
	"host/daemon/sse",
	"host/daemon/telemetry",
	"host/archive",
	"host/daemon/store",
	"host/daemon/usage",
	"host/internal/sqlite",
	"host/internal/snippet",
	"host/internal/upstream",
	"host/daemon/turns",
	"README.md",
	"README.zh-CN.md",
	"CHANGELOG.md",
	"docs/abi.md",
	"docs/api.md",
	"docs/languages.md",
	"docs/operations.md",
	"docs/tutorial.md",
	"docs/approvals.md",
	"docs/limits.md",
	"docs/manifest.md",
	"docs/mcp.md",
	"docs/models.md",
	"docs/change.md",
	"docs/glossary.md",
	"docs/operate.md",
	"docs/plugins.md",
	"docs/use.md",
	"docs/write.md",
	"RATIONALE.md",
	"tools.toml",
	"docs/engine.md",
	"docs/security.md",
	"docs/tutorial.zh-CN.md",
}

// isPlain reports whether plain lists the file or a folder above it.
func isPlain(path string) bool {
	return slices.ContainsFunc(plain, func(p string) bool {
		if folder, ok := strings.CutSuffix(p, "/*.go"); ok {
			return strings.HasSuffix(path, ".go") && path[:max(0, strings.LastIndexByte(path, '/'))] == folder
		}
		return p == "" || path == p || strings.HasPrefix(path, p+"/")
	})
}

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
// WEIR_LANGUAGE to a folder to see what is left to do in it.
func TestLanguage(t *testing.T) {
	only, all := os.LookupEnv("WEIR_LANGUAGE")
	held := func(path string) bool {
		if all {
			return strings.HasPrefix(path, only)
		}
		return isPlain(path)
	}
	check := func(path string, line int, s string) {
		if phrase, instead := riddle(s); phrase != "" {
			t.Errorf("%s:%d says %q; write: %s", path, line, phrase, instead)
		}
	}
	for _, f := range load(t) {
		if !held(f.path) || f.path == "language_test.go" { // it has to name what it looks for
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
