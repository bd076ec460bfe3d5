// Package plugins_test checks what the shipped plugins promise: that their
// manifests declare the limits the project states, in both languages, and
// that their code and README agree with them.
package plugins_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared are the limits of the shipped tools. A change here is a change of
// what every model is shown.
var declared = map[string]struct {
	output []string // lines of [tool.output]
	also   []string // lines elsewhere in the manifest
}{
	"read_file":            {output: []string{"max_chars = 5000", "max_lines = 200", "open_ended = true"}},
	"grep_search":          {output: []string{`strategy = "head_only"`}, also: []string{"default = 2", "default = 100"}},
	"calculator":           {output: []string{"max_chars = 1000"}},
	"long_text":            {output: []string{"max_chars = 8000", "open_ended = true"}},
	"get_repo_structure":   {output: []string{"max_chars = 8000", "max_lines = 800", "open_ended = true"}, also: []string{"default = 3", "default = 500"}},
	"repo_map":             {output: []string{"max_chars = 10000", "max_lines = 1000", "open_ended = true"}, also: []string{"the best 2,000 tokens first"}},
	"read_data_from_excel": {output: []string{"max_chars = 8000", "max_lines = 500", "open_ended = true"}, also: []string{`default = "A1"`}},
	"current_time":         {output: []string{"max_chars = 1000"}, also: []string{`default = "UTC"`}},
	"database":             {output: []string{"max_chars = 4000", "max_lines = 200", "open_ended = true"}},
	"http_request":         {output: []string{"max_chars = 3000", "open_ended = true"}, also: []string{"read_only = false", "idempotent = false"}},
	"json_query":           {output: []string{"max_chars = 6000", "max_lines = 300", "open_ended = true"}},
	"text_diff":            {output: []string{"max_chars = 8000", "max_lines = 400", "open_ended = true"}},
	"search_wikipedia":     {output: []string{"max_chars = 6000", "open_ended = true"}, also: []string{`host = "*.wikipedia.org"`}},
	"search_web":           {output: []string{"max_chars = 8000", "open_ended = true"}, also: []string{`cache = { ttl = "10m" }`, "rate = { per_minute = 10 }"}},
	"fetch_url":            {output: []string{"max_chars = 8000", "open_ended = true"}, also: []string{`{ host = "*", reason`}},
	"image_gen":            {output: []string{"max_chars = 1000", `archive = "always"`}, also: []string{"read_only = true", "idempotent = false", `default = "1024x1024"`}},
}

var (
	spaces   = regexp.MustCompile(`[ \t]+`)
	section  = regexp.MustCompile(`(?m)^\[+([^\]]+)\]+$`)
	param    = regexp.MustCompile(`(?m)^\[tool\.params\.properties\.(\w+)\]$`)
	example  = regexp.MustCompile(`(?m)^ +\{ ask = .*$`)
	argsType = regexp.MustCompile(`(?s)\ntype (?:args|\w+Args) struct \{\n(.*?)\n\}`)
	argName  = regexp.MustCompile("`json:\"(\\w+)\"`")
)

func TestEveryPluginIsDeclared(t *testing.T) {
	found, err := filepath.Glob("*/plugin.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if name := filepath.Dir(f); len(declared[name].output) == 0 {
			t.Errorf("%s declares limits that the table here does not know", name)
		}
	}
	if len(found) != len(declared) {
		t.Errorf("%d plugins, %d in the table", len(found), len(declared))
	}
}

func TestManifests(t *testing.T) {
	for name, want := range declared {
		t.Run(name, func(t *testing.T) {
			manifest := spaces.ReplaceAllString(read(t, name, "plugin.toml"), " ")
			output := part(manifest, "tool.output")
			for _, line := range want.output {
				if !strings.Contains(output, line+"\n") {
					t.Errorf("[tool.output] does not say %s", line)
				}
			}
			must := append([]string{
				`name = "` + name + `"`, `export = "` + name + `"`, `wasm = "` + name + `.wasm"`, `format = "mcp"`,
				"description_zh = ", "timeout = ", "memory = ",
			}, want.also...)
			if name != "http_request" && name != "image_gen" { // which may change things out there, or cost money each time
				must = append(must, "read_only = true", "idempotent = true")
			}
			for _, s := range must {
				if !strings.Contains(manifest, s) {
					t.Errorf("the manifest does not say %s", s)
				}
			}
			if strings.Contains(manifest, `mode = "rw"`) {
				t.Error("a shipped tool asks to write")
			}
			if asks, reasons := strings.Count(manifest, "guest = ")+strings.Count(manifest, "{ host = ")+strings.Count(manifest, "{ name = "), strings.Count(manifest, "reason = "); asks != reasons {
				t.Errorf("%d asks, %d reasons", asks, reasons)
			}
			examples := example.FindAllString(manifest, -1)
			for _, e := range examples {
				if !strings.Contains(e, "ask_zh = ") || !strings.Contains(e, "args = {") {
					t.Errorf("example without ask_zh or args: %s", e)
				}
				if wrong := otherLanguage(e); wrong != "" {
					t.Errorf("%s: %s", wrong, e)
				}
			}
			if len(examples) == 0 {
				t.Error("no example")
			}
		})
	}
}

var (
	exampleParts = regexp.MustCompile(`ask = "([^"]*)", ask_zh = "([^"]*)", args = \{(.*?)\}(?:, args_zh = \{(.*?)\})? \}`)
	prose        = regexp.MustCompile(`(?:query|prompt|zone|to) = \[?"([^"]*)"`) // arguments in the words of the question
	latin        = regexp.MustCompile(`[A-Za-z]{3,}`)
	han          = regexp.MustCompile(`\p{Han}`)
)

// otherLanguage says what is not in the language of its question: a model learns from the
// examples, so the call for a Chinese question has Chinese words, and that for an English
// one none.
func otherLanguage(example string) string {
	p := exampleParts.FindStringSubmatch(example)
	if p == nil {
		return "an example is not read by this test"
	}
	ask, askZh, args, argsZh := p[1], p[2], p[3], p[4]
	if han.MatchString(ask + args) {
		return "English with Chinese words"
	}
	for _, value := range prose.FindAllStringSubmatch(args, -1) {
		for _, word := range latin.FindAllString(value[1], -1) {
			if strings.Contains(strings.ToLower(ask), strings.ToLower(word)) && !strings.Contains(askZh, word) && !han.MatchString(argsZh) {
				return "args_zh with the words of ask_zh is missing, for " + word
			}
		}
	}
	return ""
}

// part is one section of a manifest, up to the next.
func part(manifest, name string) string {
	for _, at := range section.FindAllStringSubmatchIndex(manifest, -1) {
		if manifest[at[2]:at[3]] != name {
			continue
		}
		rest := manifest[at[1]:]
		if next := section.FindStringIndex(rest); next != nil {
			rest = rest[:next[0]]
		}
		return rest
	}
	return ""
}

// TestCodeAndREADME: the arguments of the manifest, of the code and of the
// README are the same.
func TestCodeAndREADME(t *testing.T) {
	for name := range declared {
		t.Run(name, func(t *testing.T) {
			var params []string
			for _, m := range param.FindAllStringSubmatch(read(t, name, "plugin.toml"), -1) {
				params = append(params, m[1])
			}
			readme, code := read(t, name, "README.md"), source(t, name)
			for _, p := range params {
				if !strings.Contains(readme, "| `"+p+"` |") {
					t.Errorf("README.md does not explain %s", p)
				}
			}
			for _, heading := range []string{"# " + name, "**Limits.**", "**Powers.**", "**To change it.**", "[tools." + name + "]"} {
				if !strings.Contains(readme, heading) {
					t.Errorf("README.md lacks %s", heading)
				}
			}
			got := arguments(code)
			slices.Sort(got)
			slices.Sort(params)
			if !slices.Equal(got, params) {
				t.Errorf("the code takes %v, the manifest declares %v", got, params)
			}
			if !strings.Contains(code, "//go:wasmexport "+name+"\n") {
				t.Error("the export is missing")
			}
		})
	}
}

// arguments are the json names of the structs that are called args, or end so
// where a plugin has several tools.
func arguments(code string) []string {
	var names []string
	for _, m := range argsType.FindAllStringSubmatch(code, -1) {
		for _, n := range argName.FindAllStringSubmatch(m[1], -1) {
			names = append(names, n[1])
		}
	}
	return names
}

func source(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob(name + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			fmt.Fprintln(&all, read(t, ".", f))
		}
	}
	return all.String()
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEverySentenceIsChineseToo: what a model reads of a shipped tool has a wording for
// a Chinese conversation: arguments, reasons, failures.
func TestEverySentenceIsChineseToo(t *testing.T) {
	described := regexp.MustCompile(`(?m)^description +=`)
	inChinese := regexp.MustCompile(`(?m)^description_zh +=`)
	for name := range declared {
		manifest := read(t, name, "plugin.toml")
		for _, s := range strings.Split(manifest, "\n[")[1:] {
			if strings.HasPrefix(s, "tool.params.properties.") && len(described.FindAllString(s, -1)) != len(inChinese.FindAllString(s, -1)) {
				t.Errorf("%s: [%s has no description_zh", name, s)
			}
		}
		if strings.Count(manifest, "reason = ") != strings.Count(manifest, "reason_zh = ") {
			t.Errorf("%s: a reason has no reason_zh", name)
		}
		failuresIn(t, name)
	}
	failuresIn(t, "../sdk/guest/files")
}

// failuresIn reports each failure in a folder of Go files that has no Chinese.
func failuresIn(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		made, worded := map[ast.Expr]bool{}, map[ast.Expr]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				if x, ok := f.X.(*ast.Ident); ok && x.Name == "guest" && f.Sel.Name == "Errorf" {
					made[call] = true
				}
				worded[f.X] = worded[f.X] || f.Sel.Name == "Zh"
			}
			return true
		})
		for call := range made {
			if !worded[call] {
				t.Errorf("%s: the failure has no Zh", set.Position(call.Pos()))
			}
		}
	}
}
