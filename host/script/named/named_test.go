package named

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `/* weir
description = "Counts lines by file."
description_zh = "按文件统计行数。"
tools = ["grep_search"]
read_only = true
max_chars = 2000

[params]
required = ["word"]
[params.properties.word]
type = "string"
*/
return args.word
`

func TestParse(t *testing.T) {
	s, err := Parse("count_lines", []byte(good))
	if err != nil || s.Spec.Description != "Counts lines by file." || s.Spec.Output.MaxChars != 2000 || !s.Spec.Hints.ReadOnly || len(s.Tools) != 1 || !strings.Contains(s.Source, "return args.word") {
		t.Fatalf("%+v %v", s, err)
	}
	if fail := s.Check(map[string]any{"word": "x"}); fail != nil {
		t.Error(fail)
	}
	if fail := s.Check(map[string]any{"word": 1.0}); fail == nil {
		t.Error("a number is no text")
	}
	for name, text := range map[string]string{
		"no manifest":       "return 1",
		"no end":            "/* weir\ndescription = \"x\"",
		"no TOML":           "/* weir\ndescription\n*/",
		"an unknown key":    "/* weir\ndescription = \"x\"\ntools = [\"a\"]\npaths = [\"/\"]\n*/",
		"no description":    "/* weir\ntools = [\"a\"]\n*/",
		"no tools":          "/* weir\ndescription = \"x\"\n*/",
		"a schema of no ":   "/* weir\ndescription = \"x\"\ntools = [\"a\"]\n[params.properties.x]\ntype = \"nothing\"\n*/",
		"a limit below 0":   "/* weir\ndescription = \"x\"\ntools = [\"a\"]\nmax_chars = -5\n*/",
		"lines below 0":     "/* weir\ndescription = \"x\"\ntools = [\"a\"]\nmax_lines = -1\n*/",
		"no room for a cut": "/* weir\ndescription = \"x\"\ntools = [\"a\"]\nmax_chars = 1\n*/",
		"a long one":        "/* weir\ndescription = \"" + strings.Repeat("x", 1025) + "\"\ntools = [\"a\"]\n*/",
		"no object":         "/* weir\ndescription = \"x\"\ntools = [\"a\"]\n[params]\ntype = \"array\"\n*/",
		"longer than it is": "/* weir\ndescription = \"x\"\ntools = [\"a\"]\n*/" + strings.Repeat(" ", MaxSource),
	} {
		if _, err := Parse("x", []byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, name := range []string{"", "../x", "X", "run_script", "a-b", "load_tool_history"} {
		if _, err := Parse(name, []byte(good)); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
}

// TestRead: what was granted is the text of the file.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "count_lines.js")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(good)
	granted := DigestOf([]byte(good))
	if s, err := Read(dir, "count_lines", granted); err != nil || s.Digest != granted {
		t.Fatal(s, err)
	}
	if _, err := Read(dir, "../"+filepath.Base(dir)+"/count_lines", granted); err == nil {
		t.Error("a name leads out of the folder")
	}
	write(good + "\n")
	if _, err := Read(dir, "count_lines", granted); !errors.Is(err, ErrChanged) {
		t.Errorf("a changed script: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir, "count_lines", granted); err == nil {
		t.Error("a script that is gone")
	}
}

// The tools that a manifest asks for have their lines; a file without one asks for none.
func TestAskedTools(t *testing.T) {
	for source, want := range map[string]string{
		"/* weir\ndescription = \"d\"\ntools = [\"a\",\n # one\n 'b']\n*/\nreturn 1": "[{a 3} {b 5}]",
		"/* weir tools = ['a'] */": "[{a 1}]",
		"/* weir tools = 'a' */":   "[]", "/* weir tools = [1] */": "[]", "/* weir tools = ['a']": "[]", "/* weir tools = [['a']] */": "[]", "return 1": "[]", "": "[]",
	} {
		if got := fmt.Sprint(AskedTools(source)); got != want {
			t.Errorf("%q: %s, wanted %s", source, got, want)
		}
	}
}
