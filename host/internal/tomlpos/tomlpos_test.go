package tomlpos

import (
	"errors"
	"fmt"
	"testing"

	"github.com/BurntSushi/toml"
)

// find follows a path of keys and element numbers.
func (s *Position) find(path ...any) *Position {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			s = s.kids[p]
		case int:
			s = s.Items[p]
		}
		if s == nil {
			return nil
		}
	}
	return s
}

func TestLocate(t *testing.T) {
	tests := []struct {
		doc        string
		path       []any
		key, value string // "line:col"
	}{
		{"a = 1", []any{"a"}, "1:1", "1:5"},
		{"\n\n  a=1", []any{"a"}, "3:3", "3:5"},
		{"\"a b\" = 1", []any{"a b"}, "1:1", "1:9"},                       // quoted key
		{`"a\"b" = 1`, []any{`a"b`}, "1:1", "1:10"},                       // an escaped quote inside a key
		{`"\u4e2d" = 1`, []any{"中"}, "1:1", "1:12"},                       // an escape decides the name
		{"'a\\b' = 1", []any{`a\b`}, "1:1", "1:9"},                        // a literal key has no escapes
		{`"=" = "="`, []any{"="}, "1:1", "1:7"},                           // an equals sign inside quotes
		{"a.b.c = 1", []any{"a", "b", "c"}, "1:5", "1:9"},                 // dotted
		{"a . \"b.c\" = 1", []any{"a", "b.c"}, "1:5", "1:13"},             // dotted with blanks and a dot in quotes
		{"x = {a = 1, b = 2}", []any{"x", "b"}, "1:13", "1:17"},           // inline
		{"x = {a.b = 1}", []any{"x", "a", "b"}, "1:8", "1:12"},            // dotted inside inline
		{"x = {\n a = 1, # }\n b = 2,\n}", []any{"x", "b"}, "3:2", "3:6"}, // inline over lines with a comment
		{"x = [1, 2]", []any{"x", 1}, "1:9", "1:9"},                       // element
		{"x = [\n 1, # ,\n 2\n]", []any{"x", 1}, "3:2", "3:2"},            // a comma in a comment
		{"x = [{a = 1}, {a = 2}]", []any{"x", 1, "a"}, "1:16", "1:20"},    // tables in an array
		{"x = [[1], [2, 3]]", []any{"x", 1, 1}, "1:15", "1:15"},           // arrays in an array
		{"[t]\na = 1", []any{"t", "a"}, "2:1", "2:5"},                     // table
		{"[t . u]\na = 1", []any{"t", "u", "a"}, "2:1", "2:5"},            // table with blanks in its header
		{"[[t]]\na = 1\n[[t]]\na = 2", []any{"t", 1, "a"}, "4:1", "4:5"},  // second table of an array
		{"[[t]]\n[t.u]\na = 1\n[[t]]\n[t.u]\na = 2", []any{"t", 1, "u", "a"}, "6:1", "6:5"},
		{"[[t]]\n[t.u]", []any{"t", 0, "u"}, "2:4", "2:1"},              // the header itself
		{"[t.u]\n[t]\na = 1", []any{"t", "a"}, "3:1", "3:5"},            // the parent after its child
		{"s = \"\"\"\na = 1\n\"\"\"\nb = 2", []any{"b"}, "4:1", "4:5"},  // a key inside a long string is none
		{"s = '''\n[x]\n'''\nb = 2", []any{"b"}, "4:1", "4:5"},          // nor a header inside a literal one
		{"s = \"\"\"a\"\"\"\"\"\nb = 2", []any{"b"}, "2:1", "2:5"},      // two quotes before the closing three
		{"s = \"\\\"\"\nb = 2", []any{"b"}, "2:1", "2:5"},               // an escaped quote in a value
		{"s = \"# no comment\" # yes\nb = 2", []any{"b"}, "2:1", "2:5"}, // a hash in a string
		{"d = 2024-01-02 03:04:05\nb = 2", []any{"b"}, "2:1", "2:5"},    // a date with a blank
		{"a = 1\r\nb = 2", []any{"b"}, "2:1", "2:5"},                    // CRLF
		{"\uFEFFa = 1", []any{"a"}, "1:2", "1:6"},                       // byte order mark
		{"s = '中文' \"\"", []any{"s"}, "1:1", "1:5"},                     // garbage after a value
		{"\"中文\" = {b = 1}", []any{"中文", "b"}, "1:9", "1:13"},           // columns are characters
	}
	for _, tt := range tests {
		root, ok := Locate(tt.doc)
		if !ok {
			t.Errorf("%q: too deep", tt.doc)
		}
		s := root.find(tt.path...)
		if s == nil {
			t.Errorf("%q: %v not found", tt.doc, tt.path)
			continue
		}
		if got := at(tt.doc, s.At); got != tt.key {
			t.Errorf("%q: key %v at %s, want %s", tt.doc, tt.path, got, tt.key)
		}
		if got := at(tt.doc, s.Value); got != tt.value {
			t.Errorf("%q: value %v at %s, want %s", tt.doc, tt.path, got, tt.value)
		}
	}
}

func at(text string, off int) string {
	l, c := LineCol(text, off)
	return fmt.Sprintf("%d:%d", l, c)
}

// FuzzLocate holds the scanner to the TOML library: whatever that accepts has
// the same keys and as many elements in the position tree.
func FuzzLocate(f *testing.F) {
	for _, s := range []string{
		"a = 1\n[t]\nb.c = {d = [1, {e = 2}]}\n[[x]]\n[[x]]\ny = '''z'''\n",
		"\"q\\\"\" = \"\"\"a\"\"\"\"\n'l' = 1979-05-27 07:32:00\n", "[a.b]\n[a]\n[[c.d]]\n[c.d.e]\nf = inf",
		"x = [\n1, # c\n2,]\n", "x = {a = {b = 1}, c.d = 2,\n}\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		root, ok := Locate(doc)
		if !ok {
			return
		}
		var m map[string]any
		if _, err := Decode(doc, &m); err != nil {
			return
		}
		same(t, doc, "", m, root)
	})
}

func same(t *testing.T, doc, path string, v any, s *Position) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if len(v) != len(s.kids) || len(v) != len(s.Order) {
			t.Fatalf("%q: %s has keys %v, the tree %v", doc, path, v, s.Order)
		}
		for k, e := range v {
			c, ok := s.kids[k]
			if !ok {
				t.Fatalf("%q: %s.%s is not in the tree: %v", doc, path, k, s.Order)
			}
			same(t, doc, path+"."+k, e, c)
		}
	case []map[string]any:
		for i, e := range v {
			same(t, doc, fmt.Sprint(path, i), e, s.Item(i))
		}
		if len(v) != len(s.Items) {
			t.Fatalf("%q: %s has %d elements, the tree %d", doc, path, len(v), len(s.Items))
		}
	case []any:
		if len(v) != len(s.Items) {
			t.Fatalf("%q: %s has %d elements, the tree %d", doc, path, len(v), len(s.Items))
		}
		for i, e := range v {
			same(t, doc, fmt.Sprint(path, i), e, s.Items[i])
		}
	}
}

// Faults are found where a person sees them, whatever the library counts.
func TestFault(t *testing.T) {
	for _, tt := range []struct {
		text      string
		line, col int
		why       string
	}{
		{"name = \"x\"\n\nname = \"y\"\n", 3, 1, "a key twice, behind an empty line"},
		{"a = 1\r\na = 2\r\n", 2, 1, "with the line ends of Windows"},
		{"[a]\nx = 1\n  x = 2\n", 3, 3, "indented"},
		{"q = { a = 1, b = \"中文\", a = 3 }\n", 1, 24, "in a line, behind Chinese characters"},
		{"[a]\nx = 1\n[b]\n[a]\n", 4, 2, "a table twice"},
		{"x = 1\nx = '''\nlong'''\n", 2, 1, "with a value of several lines"},
		{"\uFEFFa = 1\na = 2\n", 2, 1, "behind a byte order mark"},
		{"a = \n", 1, 5, "a value that is missing"},
		{"a = 1\nb = \"\\q\"\n", 2, 6, "an escape that is none"},
		{"x = 1\ny = 99999999999999999999\n", 2, 5, "a number that is too large"},
		{"a", 1, 1, "a key and nothing else"},
		{"", 1, 1, "no text at all"},
	} {
		var into map[string]any
		_, err := Decode(tt.text, &into)
		var pe toml.ParseError
		if found := errors.As(err, &pe); found != (tt.text != "") {
			t.Fatalf("%s: %v", tt.why, err)
		}
		if tt.text == "" {
			pe.Position = toml.Position{Line: 1, Start: -1}
		}
		if line, col := Fault(tt.text, pe); line != tt.line || col != tt.col {
			t.Errorf("%s: %d:%d, want %d:%d (%v)", tt.why, line, col, tt.line, tt.col, err)
		}
	}
}
