package tomledit

import (
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/tomlpos"
)

func TestApply(t *testing.T) {
	for _, row := range []struct {
		why, text string
		path      string // with dots
		value     any
		want      string // "": refused
	}{
		{"a value is replaced, its comment stays", "[limits]\nmax_chars = 8000 # why\n", "limits.max_chars", int64(6000), "[limits]\nmax_chars = 6000 # why\n"},
		{"a commented default stays below", "[limits]\n# max_chars = 8000 # characters,\n#   the notice included\n[x]\n", "limits.max_chars", int64(6000),
			"[limits]\nmax_chars = 6000\n# max_chars = 8000 # characters,\n#   the notice included\n[x]\n"},
		{"the comment of another table is not one of this", "[limits]\n[x]\n# max_chars = 1\n", "limits.max_chars", int64(6), "[limits]\nmax_chars = 6\n[x]\n# max_chars = 1\n"},
		{"a table that is missing is added", "a = 1 # x\n\n\n", "tools.grep.keep", []any{"a\"b", "c"}, "a = 1 # x\n\n[tools.grep]\nkeep = [\"a\\\"b\", \"c\"]\n"},
		{"in an empty file", "", "limits.max_chars", int64(1), "[limits]\nmax_chars = 1\n"},
		{"a key without a table", "# note\n[x]\na = 1\n", "locale", "zh", "locale = \"zh\"\n# note\n[x]\na = 1\n"},
		{"a name that needs quotes", "", "tools.a b.max_chars", int64(1), "[tools.\"a b\"]\nmax_chars = 1\n"},
		{"a table with only a table in it", "[tools.x.rate]\nper_minute = 1\n", "tools.x.max_chars", int64(5), "[tools.x.rate]\nper_minute = 1\n\n[tools.x]\nmax_chars = 5\n"},
		{"dotted keys", "limits.max_chars = 1 # a\n", "limits.max_chars", int64(2), "limits.max_chars = 2 # a\n"},
		{"quoted keys", "['limits']\n\"max_chars\" = 1\n", "limits.max_chars", int64(2), "['limits']\n\"max_chars\" = 2\n"},
		{"an inline table", "limits = { max_chars = 1, max_lines = 2 } # a\n", "limits.max_chars", int64(7), "limits = { max_chars = 7, max_lines = 2 } # a\n"},
		{"a new key of an inline table is refused", "limits = { max_chars = 1 }\n", "limits.max_lines", int64(7), ""},
		{"a new table of an inline table is refused", "tools = { a = { max_chars = 1 } }\n", "tools.b.max_chars", int64(7), ""},
		{"a new key of a table of dotted keys is refused", "limits.max_chars = 1\n", "limits.max_lines", int64(7), ""},
		{"comments in a list move above it", "[agent]\ntools = [\n  \"a\", # one\n  \"#b\",\n] # end\n", "agent.tools", []any{"c"}, "[agent]\n# one\ntools = [\"c\"] # end\n"},
		{"a header in a string is none", "[a]\ns = \"\"\"\n[limits]\n# max_chars = 1\n\"\"\"\n", "limits.max_chars", int64(2), "[a]\ns = \"\"\"\n[limits]\n# max_chars = 1\n\"\"\"\n\n[limits]\nmax_chars = 2\n"},
		{"a commented default in a string is none", "[limits]\ns = '''\n# max_chars = 1\n'''\n", "limits.max_chars", int64(2), ""},
		{"what is removed stays as a comment", "[limits]\nmax_chars = 1 # why\nmax_lines = 2\n", "limits.max_chars", nil, "[limits]\n# max_chars = 1 # why\nmax_lines = 2\n"},
		{"also of several lines", "[agent]\ntools = [\n  \"a\", # one\n]\nmode = \"x\"\n", "agent.tools", nil, "[agent]\n# tools = [\n#   \"a\", # one\n# ]\nmode = \"x\"\n"},
		{"nothing is there to remove", "[limits]\n", "limits.max_chars", nil, "[limits]\n"},
		{"not even the table", "", "limits.max_chars", nil, ""},
		{"a key of an inline table is not removed", "limits = { max_chars = 1 }\n", "limits.max_chars", nil, ""},
		{"a value where a table is", "limits = 1\n", "limits.max_chars", int64(1), ""},
		{"a table where a value should be", "[limits.max_chars]\na = 1\n", "limits.max_chars", int64(1), ""},
		{"no TOML", "[limits\n", "limits.max_chars", int64(1), ""},
		{"lines of Windows", "[limits]\r\n# max_chars = 1\r\n", "limits.max_chars", int64(3), "[limits]\r\nmax_chars = 3\r\n# max_chars = 1\r\n"},
		{"no newline at the end", "[limits]", "limits.max_chars", int64(3), "[limits]\nmax_chars = 3\n"},
		{"a byte order mark", "\uFEFF[limits]\n", "locale", "en", "\uFEFFlocale = \"en\"\n[limits]\n"},
		{"a float", "", "limits.head", 1.0, "[limits]\nhead = 1.0\n"},
		{"a value that would be more than one", "", "locale", "en\"\n[server]\naddr = \"0.0.0.0:1", "locale = \"en\\\"\\n[server]\\naddr = \\\"0.0.0.0:1\"\n"},
	} {
		got, err := Apply(row.text, []Change{{strings.Split(row.path, "."), row.value}})
		if row.want == "" && row.why != "not even the table" {
			if err == nil {
				t.Errorf("%s: %q", row.why, got)
			}
			continue
		}
		if err != nil || got != row.want {
			t.Errorf("%s:\n%q, %v, want\n%q", row.why, got, err, row.want)
		}
	}
}

// Whatever is set in the shipped file, nothing else changes and no comment is lost.
func TestApplyToTheShippedFile(t *testing.T) {
	raw, err := os.ReadFile("../../../tools.toml")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"locale", "limits.max_chars", "limits.keep", "agent.max_tool_result_length", "tools.grep_search.max_chars", "archive.max_age", "agents.quick.model", "mcp.session_idle"}
	rapid.Check(t, func(t *rapid.T) {
		text := string(raw)
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			c := Change{Path: strings.Split(rapid.SampledFrom(paths).Draw(t, "path"), ".")}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				c.Value = rapid.Int64().Draw(t, "number")
			case 1:
				c.Value = rapid.String().Draw(t, "text")
			case 2:
				c.Value = []any{rapid.String().Draw(t, "element"), rapid.Bool().Draw(t, "other")}
			}
			next, err := Apply(text, []Change{c})
			if err != nil {
				t.Fatalf("%v = %v: %v", c.Path, c.Value, err)
			}
			if a, b := len(comments(text)), len(comments(next)); b < a {
				t.Fatalf("%d comments became %d", a, b)
			}
			text = next
		}
		var doc map[string]any
		if _, err := tomlpos.Decode(text, &doc); err != nil {
			t.Fatal(err)
		}
	})
}
