package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhost/weir/plugins/internal/tooltest"
	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
	"pgregory.net/rapid"
)

func workspace(files map[string]string) guest.Options {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return guest.Options{FS: map[string]fs.FS{"/workspace": m}}
}

var code = map[string]string{
	"main.go":           "package main\n\nimport \"errors\"\n\nvar ErrTimeout = errors.New(\"timeout\")\n\nfunc main() {\n\t_ = run()\n}\n\nfunc run() error {\n\treturn ErrTimeout\n}\n",
	"lib/lib.go":        "package lib\n\n// ErrTimeout is returned late.\nvar Late = 1\n",
	"docs/说明.md":        "# 说明\r\n\r\n超时返回 ErrTimeout。\r\n",
	"node_modules/x.js": "ErrTimeout",
	".git/config":       "ErrTimeout",
	"bin/tool":          "\x00ErrTimeout",
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		o          guest.Options
	}{
		{"word", `{"pattern":"ErrTimeout"}`, guest.Options{}},
		{"no_context", `{"pattern":"ErrTimeout"}`, guest.Options{Config: map[string]string{"show_context": "0"}}},
		{"chinese", `{"pattern":"超时|func"}`, guest.Options{Locale: tool.Zh}},
		{"glob_and_case", `{"pattern":"errtimeout","glob":"*.go","ignore_case":true}`, guest.Options{}},
		{"one_file", `{"pattern":"func","path":"main.go"}`, guest.Options{}},
		{"nothing", `{"pattern":"no such thing"}`, guest.Options{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.FS = workspace(code).FS
			out, err := guest.Invoke(search, tt.args, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			tooltest.Golden(t, tt.name, out.Text)
		})
	}
}

func TestSources(t *testing.T) {
	out, err := guest.Invoke(search, `{"pattern":"ErrTimeout"}`, workspace(code))
	want := []tool.Source{{Title: "docs/说明.md", URL: "docs/说明.md"}, {Title: "lib/lib.go", URL: "lib/lib.go"}, {Title: "main.go", URL: "main.go"}}
	if d := cmp.Diff(want, out.Sources); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

// TestMeansLines checks the rewritten expression against the plain one, applied to
// each line.
func TestMeansLines(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          []int
		why           string
	}{
		{`^b`, "ab\nba\nb", []int{2, 3}, "^ is a line's beginning"},
		{`b$`, "ab\nba\r\nb\r\n", []int{1, 3}, "$ is a line's end, in files of Windows too"},
		{`\Aa\z`, "a\nb\na", []int{1, 3}, "so are the ends of the text"},
		{`a[^x]*b`, "a\nb\na b", []int{3}, "a negated class matches no line end"},
		{`a\sb`, "a\nb\na b", []int{3}, "nor does white space"},
		{`(?s)a.b`, "a\nb\na b", []int{3}, "nor does a dot that may"},
		{`a\nb`, "a\nb", nil, "nor a line end that is asked for"},
		{`[\n]`, "a\nb", nil, "in a class either"},
		{`\W`, "ab\nc d", []int{2}, "no class of non-words matches it"},
		{`x*`, "a\n\nb\n", []int{1, 2, 3}, "an empty match is in every line, but after the last"},
		{`\bfoo\b`, "foo\nfoobar\na foo", []int{1, 3}, "words"},
		{`(?i)FOO`, "foo\nbar", []int{1}, "flags inside"},
		{`中.`, "中\n中文", []int{2}, "Chinese"},
		{`a|^$`, "b\n\na", []int{2, 3}, "empty lines"},
		{`(?m)^a$`, "b\na", []int{2}, "a flag that changes nothing"},
		{`\Q.*\E`, "x\n.*", []int{2}, "quoted"},
	} {
		if got := lineNumbers(t, tt.pattern, tt.text); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: %s in %q gives %v, want %v", tt.why, tt.pattern, tt.text, got, tt.want)
		}
	}
}

// lineNumbers are the lines that a search shows as matching.
func lineNumbers(t rapid.TB, pattern, text string) []int {
	o := workspace(map[string]string{"f": text})
	o.Config = map[string]string{"show_context": "0"}
	out, err := guest.Invoke(search, fmt.Sprintf(`{"pattern":%q}`, pattern), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, m := range regexp.MustCompile(`(?m)^f:(\d+): `).FindAllStringSubmatch(out.Text, -1) {
		n := 0
		fmt.Sscan(m[1], &n)
		got = append(got, n)
	}
	return got
}

func TestSameAsLineByLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SampledFrom([]string{`a`, `^a`, `a$`, `^$`, `[^a]b`, `a.*b`, `\bab`, `(a|b)c`, `c?`, `a\s*b`, `\Aab`, `b\z`}).Draw(t, "pattern")
		text := rapid.StringMatching(`([abc ]{0,4}\n){0,8}[abc]{0,3}`).Draw(t, "text")
		re := regexp.MustCompile(pattern)
		var want []int
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if text != "" && re.MatchString(line) {
				want = append(want, i+1)
			}
		}
		if got := lineNumbers(t, pattern, text); !cmp.Equal(got, want) {
			t.Fatalf("%s in %q: got %v, want %v", pattern, text, got, want)
		}
	})
}

// Every match is handed over, whatever the limits in force, and the entries say where
// each begins with the lines around it.
func TestAllMatchesAreHandedOver(t *testing.T) {
	var text strings.Builder
	for i := range 2300 {
		fmt.Fprintf(&text, "match %d\nnothing\nnothing\nnothing\nnothing\nnothing\n", i+1)
	}
	o := workspace(map[string]string{"f": text.String()})
	for _, context := range []string{"0", "2", "9"} {
		o.Config = map[string]string{"show_context": context, "max_results": "70"}
		o.Limits = tool.Limits{MaxChars: 300, MaxLines: 2}
		out, err := guest.Invoke(search, `{"pattern":"match"}`, o)
		if err != nil || out.More != nil || out.Entries == nil || len(out.Entries.Lines) != 2300 || out.Entries.Show != 70 {
			t.Fatalf("context %s: %v, more %+v, entries %+v", context, err, out.More, out.Entries)
		}
		lines := strings.Split(out.Text, "\n")
		if lines[0] != "2,300 matching lines in 1 file (1 searched in .)" {
			t.Errorf("the first line is %q", lines[0])
		}
		for i, n := range append(out.Entries.Lines[1:], len(lines)) {
			entry := strings.Join(lines[out.Entries.Lines[i]-1:n-1], "\n")
			if strings.Count(entry, ": match ") != 1 || !strings.Contains(entry+"\n", fmt.Sprintf(": match %d\n", i+1)) {
				t.Fatalf("context %s: entry %d is %q", context, i+1, entry)
			}
		}
	}
}

// Matches that make more text than the host keeps are counted, and the call that goes on
// gives the rest.
func TestMoreThanTheHostKeeps(t *testing.T) {
	line := "match " + strings.Repeat("x", 280)
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprint(i)] = strings.Repeat(line+"\n", 4000)
	}
	o := workspace(files)
	o.Config = map[string]string{"show_context": "0"}
	seen := 0
	for args := `{"pattern":"match"}`; ; {
		out, err := guest.Invoke(search, args, o)
		if err != nil || len(out.Text) > tool.MaxWhole {
			t.Fatalf("%v, %d bytes", err, len(out.Text))
		}
		if n := strings.Count(out.Text, ": match "); n != len(out.Entries.Lines) {
			t.Fatalf("%d matches, %d entries", n, len(out.Entries.Lines))
		}
		seen += len(out.Entries.Lines)
		if out.More == nil {
			break
		}
		if want := fmt.Sprintf(`{"offset":%d}`, seen); out.More.Total != 40_000 || string(out.More.Args) != want || len(out.Text) < tool.MaxWhole*9/10 {
			t.Fatalf("%+v after %d matches, %d bytes", out.More, seen, len(out.Text))
		}
		args = `{"pattern":"match",` + string(out.More.Args[1:])
	}
	if seen != 40_000 {
		t.Errorf("%d matches over all calls", seen)
	}
}

func TestLongLines(t *testing.T) {
	line := strings.Repeat("中", 400) + "HIT" + strings.Repeat("文", 400)
	out, err := guest.Invoke(search, `{"pattern":"HIT"}`, workspace(map[string]string{"f": line}))
	_, shown, _ := strings.Cut(out.Text, "\n")
	if err != nil || !strings.HasPrefix(shown, "f:1: …中") || !strings.Contains(shown, "HIT") || !strings.HasSuffix(shown, "文…\n") || len(shown) > maxLine+30 || strings.Contains(shown, "\ufffd") {
		t.Errorf("%v %q", err, shown)
	}
}

func TestNotSearched(t *testing.T) {
	files := map[string]string{"big": strings.Repeat("needle\n", maxFile/7+1), "bin": "needle\x00", "a": "needle"}
	out, err := guest.Invoke(search, `{"pattern":"needle"}`, workspace(files))
	head, _, _ := strings.Cut(out.Text, "\n")
	if err != nil || head != "1 matching line in 1 file (1 searched in .); 1 over 4 MiB not searched; 1 binary not searched" {
		t.Errorf("%v %q", err, head)
	}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		args, says string
		code       tool.Code
		why        string
	}{
		{`{}`, "pattern", tool.BadArgs, "no pattern"},
		{`{"pattern":"("}`, "missing closing )", tool.BadArgs, "a bracket that is not closed"},
		{`{"pattern":"(?<=a)b"}`, "look-around", tool.BadArgs, "the hint says what RE2 lacks"},
		{`{"pattern":"(a)\\1"}`, "invalid escape", tool.BadArgs, "back-references"},
		{`{"pattern":"a{1001}"}`, "repeat", tool.BadArgs, "a bomb"},
		{`{"pattern":"((a{100}){100}){100}"}`, "expression", tool.BadArgs, "a nested bomb"},
		{`{"pattern":"` + strings.Repeat("a", 1001) + `"}`, "1000", tool.BadArgs, "a long one"},
		{`{"pattern":"a","glob":"[z-a]"}`, "glob", tool.BadArgs, "a glob that is none"},
		{`{"pattern":"a","path":"nowhere"}`, "There is no", tool.BadArgs, "a path that is not there"},
		{`{"pattern":"a","path":"../x"}`, "leaves", tool.Denied, "a path outside"},
		{`{"pattern":"a","offset":-1}`, "negative", tool.BadArgs, "a negative offset"},
		{`{"pattern":"package","offset":2}`, "2 matching lines", tool.BadArgs, "an offset after the end"},
	} {
		_, err := guest.Invoke(search, tt.args, workspace(code))
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %s gives %v", tt.why, tt.args, err)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		glob, start, name string
		want              bool
		why               string
	}{
		{"", ".", "a/b.go", true, "nothing chooses everything"},
		{"*.go", ".", "a/b.go", true, "without a slash: the last element"},
		{"*.go", ".", "a/b.gox", false, "the whole of it"},
		{"a/*.go", ".", "a/b.go", true, "with a slash: the path"},
		{"a/*.go", ".", "a/c/b.go", false, "* stays in its folder"},
		{"a/**/*.go", ".", "a/c/d/b.go", true, "** goes through folders"},
		{"a/**/*.go", ".", "a/b.go", true, "also none"},
		{"**/x", ".", "x", true, "in front"},
		{"a/**", ".", "a/b/c", true, "after"},
		{"*.{js,ts}", ".", "a.ts", true, "alternatives"},
		{"*.{js,ts}", ".", "a.go", false, "and no others"},
		{"?.go", ".", "ab.go", false, "one character"},
		{"[ab].go", ".", "b.go", true, "a class"},
		{"[!ab].go", ".", "b.go", false, "a negated class"},
		{"a+(b).go", ".", "a+(b).go", true, "the rest is literal"},
		{"sub/*.go", "lib", "lib/sub/a.go", true, "relative to the start folder"},
		{"lib/sub/*.go", "lib", "lib/sub/a.go", true, "or to the workspace"},
		{"./a.go", ".", "a.go", true, "with a dot in front"},
	} {
		g, err := newGlob(tt.glob)
		if err != nil || g.match(tt.start, tt.name) != tt.want {
			t.Errorf("%s: %q on %q: %v, want %v (%v)", tt.why, tt.glob, tt.name, !tt.want, tt.want, err)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, p := range []string{`a|^$`, `[^\n]`, `(?s).`, `\s+`, `(?i)[[:space:]]`, `\PL`, `$^`} {
		f.Add(p, "a\nb \n\n")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := compile(pattern, false)
		if err != nil {
			return
		}
		for _, m := range re.FindAllString(text, 50) {
			if strings.Contains(m, "\n") {
				t.Errorf("%q matches the line end in %q", pattern, m)
			}
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	o := workspace(map[string]string{"f": strings.Repeat("a line of some text that is searched\n", 50000) + "needle\n"})
	b.SetBytes(50000 * 37)
	for b.Loop() {
		if _, err := guest.Invoke(search, `{"pattern":"ne+dle"}`, o); err != nil {
			b.Fatal(err)
		}
	}
}
