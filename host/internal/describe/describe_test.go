package describe

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/tool"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// What a placeholder says about a result of each kind, and where it came from.
func TestSummariesGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/summaries/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no texts", err)
	}
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "== %s\n%s\n", filepath.Base(file), Summarize(string(text), 200))
		for _, s := range Sources(string(text)) {
			fmt.Fprintf(&b, "   %s | %s\n", s.Title, s.URL)
		}
	}
	const golden = "testdata/summaries.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

// Lines of context are no matches.
func TestContextIsNoMatch(t *testing.T) {
	text := strings.Repeat("README.md-29-above\nREADME.md:30:the match\nREADME.md-31-below\n--\n", 3) + "a.go-1-x\na.go:2:y\n"
	if got, want := Summarize(text, 200), "README.md ×3, a.go ×1; README.md:30:the match"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestKinds(t *testing.T) {
	files, err := filepath.Glob("testdata/summaries/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]kind{"object.json": jsonText, "array.json": jsonText, "app.log": logText, "gotest.log": logText, "grep": matches,
		"table.csv": table, "table.md": table, "guide.md": markdown, "program.go": code, "program.py": code,
		"prose.en": prose, "prose.zh": prose, "search.zh": prose, "one_line": prose}
	if len(files) != len(want) {
		t.Errorf("%d texts for %d kinds", len(files), len(want))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if got := kindOf(string(text)); got != want[name] {
			t.Errorf("%s is of kind %d, want %d", name, got, want[name])
		}
	}
	for text, want := range map[string]kind{
		"":                             prose,
		"\n\n":                         prose,
		"[INFO] starting\n[INFO] done": logText, // brackets alone are no JSON
		"[see below]":                  prose,
		"{not json}":                   prose,
		"type of class: none\nclass of 1999\nfunction follows form\n":      prose, // words that programs use too
		"Dear Ann, Bob, and Eve,\nit rains, and rains,\nand, well, rains.": prose,
	} {
		if got := kindOf(text); got != want {
			t.Errorf("%q is of kind %d, want %d", text, got, want)
		}
	}
}

// wantSummary checks the laws of a summary.
func wantSummary(t interface{ Fatalf(string, ...any) }, text string, chars int) {
	s := Summarize(text, chars)
	if n := utf8.RuneCountInString(s); n > max(chars, 1) {
		t.Fatalf("%d characters, want at most %d: %q", n, chars, s)
	}
	if utf8.ValidString(text) && !utf8.ValidString(s) {
		t.Fatalf("%q is not UTF-8", s)
	}
	if strings.ContainsAny(s, "\n\r\t\x00\x1b") {
		t.Fatalf("%q is not one line", s)
	}
	if s != Summarize(text, chars) {
		t.Fatalf("the second time it differs")
	}
	if s == "" && strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz权") {
		t.Fatalf("nothing about %q", text)
	}
}

func TestSummaryLaws(t *testing.T) {
	for name, text := range awkward {
		for _, chars := range []int{1, 2, 20, 200, 5000} {
			t.Run(fmt.Sprint(name, chars), func(t *testing.T) { wantSummary(t, text, chars) })
		}
	}
	for _, chars := range []int{0, -1} {
		if n := utf8.RuneCountInString(Summarize(strings.Repeat("word ", 1000), chars)); n > DefaultChars || n < DefaultChars/2 {
			t.Errorf("%d: %d characters", chars, n)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		wantSummary(rt, anyText().Draw(rt, "text"), rapid.IntRange(1, 30).Draw(rt, "chars"))
	})
}

// FuzzSummarize: nothing that a tool prints breaks what Put makes of it.
func FuzzSummarize(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"c"}],`, "a.go:1:x\na.go-2-y\n--\n", "2026-01-02T ERROR x\n", "a,b,c\n1,2,3\n4,5,6\n", "# h\n\ntext\n",
		"[t](http://a.b/(c))", "1. t\nURL: http://u:p@h/\n", "func f() {\n", "词。词！\xff"} {
		f.Add(seed, 20)
	}
	f.Fuzz(func(t *testing.T, text string, chars int) {
		chars = 1 + (chars%300+300)%300
		if s := Summarize(text, chars); utf8.RuneCountInString(s) > chars {
			t.Errorf("%q has more than %d characters", s, chars)
		}
		found := Sources(text)
		seen := map[string]bool{}
		for _, s := range found {
			if s.URL == "" || seen[s.URL] || len(found) > maxSources || utf8.RuneCountInString(s.Title) > maxTitle {
				t.Errorf("%+v among %d", s, len(found))
			}
			seen[s.URL] = true
		}
		if q := Query("t", []byte(text)); q == "" || utf8.RuneCountInString(q) > MaxQuery || strings.Contains(q, "\n") {
			t.Errorf("query %q", q)
		}
	})
}

func TestSources(t *testing.T) {
	type list = []tool.Source
	for name, row := range map[string]struct {
		text string
		want list
	}{
		"none":                  {"no address here, not even http or https", nil},
		"bare":                  {"see https://a.example/x?y=1#z and http://b.example.", list{{URL: "https://a.example/x?y=1#z"}, {URL: "http://b.example"}}},
		"twice":                 {"https://a.example https://a.example", list{{URL: "https://a.example"}}},
		"in a Chinese sentence": {"参见（https://a.example/文档）。", list{{URL: "https://a.example/文档"}}},
		"in brackets":           {"(https://en.example/wiki/A_(b)), <https://c.example>", list{{URL: "https://en.example/wiki/A_(b)"}, {URL: "https://c.example"}}},
		"a Markdown link":       {"[The *guide*](https://a.example/g) and more", list{{Title: "The *guide", URL: "https://a.example/g"}}},
		"a list of results":     {"1. First title\n来源：https://a.example\n内容：…\n\n2. Second\nURL: https://b.example\n", list{{Title: "First title", URL: "https://a.example"}, {Title: "Second", URL: "https://b.example"}}},
		"labels":                {"Title: The paper\nAuthor: N.\nURL: https://a.example/p.pdf\n", list{{Title: "The paper", URL: "https://a.example/p.pdf"}}},
		"a title too far off":   {"1. Not its title\n\nhttps://a.example\n", list{{URL: "https://a.example"}}},
		"a file as source":      {"来源: docs/权限.md\n", list{{URL: "docs/权限.md"}}},
		"a label in a sentence": {"Source: the minister himself\n", nil},
		"matches":               {"host/a.go:12:\tx\nhost/a.go-13-\ty\n--\nb_test.go:1:z\n", list{{URL: "host/a.go"}, {URL: "b_test.go"}}},
		"times are no files":    {"12:30:05: started\n10.5:3: no\n", nil},
		"JSON":                  {`{"results":[{"title":"A","url":"https://a.example"},{"name":"B","link":"https://b.example","path":"/x.y"}],"url":"not one"}`, list{{Title: "A", URL: "https://a.example"}, {Title: "B", URL: "https://b.example"}}},
		"JSON with a file":      {`[{"file":"src/main.rs","line":3}]`, list{{URL: "src/main.rs"}}},
		"a password":            {"https://user:secret@a.example/x", list{{URL: "https://a.example/x"}}},
		"half an address":       {"https:// http://", nil},
		"a very long one":       {"https://a.example/" + strings.Repeat("x", 600), nil},
	} {
		got := Sources(row.text)
		if fmt.Sprint(got) != fmt.Sprint(row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, "https://a.example/%d\n", i)
	}
	if n := len(Sources(many.String())); n != maxSources {
		t.Errorf("%d sources", n)
	}
}

func TestQuery(t *testing.T) {
	for input, want := range map[string]string{
		`{"query":"权限管理怎么配置","mode":"deep"}`: "权限管理怎么配置, mode=deep",
		`{"mode":"deep","query":"x"}`:        "x, mode=deep", // the telling one first
		`{"path":"/w","pattern":"Err.*"}`:    "Err.*, path=/w",
		`{"expression":"1+1"}`:               "1+1",
		`{"a":1,"b":[1,2],"c":{"d":true}}`:   `a=1, b=[1,2], c={"d":true}`,
		`{"n":5}`:                            "5",
		`{"query":"two\nlines\t\u0000here"}`: "two lines here",
		`{"query":"","q":null}`:              "grep",
		`{}`:                                 "grep",
		``:                                   "grep",
		`null`:                               "grep",
		`"just a string"`:                    `"just a string"`,
		`{"query":`:                          `{"query":`, // as it came
		`{"text":"` + strings.Repeat("长", 600) + `"}`: strings.Repeat("长", 159) + "…",
	} {
		if got := Query("grep", []byte(input)); got != want {
			t.Errorf("%s is told as %q, want %q", input, got, want)
		}
	}
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `,"argument_%d":"some value"`, i)
	}
	if n := utf8.RuneCountInString(Query("t", []byte("{"+b.String()[1:]+"}"))); n != MaxQuery {
		t.Errorf("%d characters", n)
	}
}

// anyText draws texts of few lines and many kinds of characters.
func anyText() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"a", "word ", "\n", "\n\n", "权限", "👨‍👩‍👧", "e\u0301", "\x00", "\t", "\r\n", "ש", "\xff", "{", `"`})
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 40).Draw(t, "n") // a slice's own length is mostly small
		return strings.Join(rapid.SliceOfN(piece, n, n).Draw(t, "pieces"), "")
	})
}

// awkward are texts that stores and scanners get wrong.
var awkward = map[string]string{
	"empty":            "",
	"one newline":      "\n",
	"only newlines":    strings.Repeat("\n", 1000),
	"no last newline":  "a\nb",
	"NULs":             "a\x00b\x00\x00\n\x00",
	"Chinese":          "权限管理的配置步骤：第一步……\n第二步。",
	"joined emoji":     strings.Repeat("👨‍👩‍👧‍👦🏳️‍🌈🇨🇳", 50),
	"combining marks":  strings.Repeat("e\u0301\u0323", 500),
	"right to left":    "שלום עולם\nمرحبا بالعالم\n",
	"invalid UTF-8":    "a\xff\xfe\xc3(b", // cannot come from Normalise; must survive all the same
	"carriage returns": "a\r\nb\rc\r\n",
	"a long line":      strings.Repeat("0123456789abcdef", 1<<16),
	"quotes":           `'"` + "`" + `; DROP TABLE tool_result_archive; --`,
	"a number":         "0123", // SQLite must not make it 123
}
