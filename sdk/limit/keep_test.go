package limit_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// scattered is a log of n lines in which every nth is a failure of its own.
func scattered(n, nth int) string {
	var b strings.Builder
	for i := range n {
		if i%nth == nth/2 {
			fmt.Fprintf(&b, "FAIL case %s broke\n", strings.Repeat(string(rune('a'+i/nth%26)), 1+i/nth/26))
		} else {
			fmt.Fprintf(&b, "ok   case_%d passed in 0.01s\n", i)
		}
	}
	return b.String()
}

func TestKeptLinesComeFirst(t *testing.T) {
	whole := scattered(3000, 60)
	v := limit.Apply(whole, tool.Limits{MaxChars: 3000, Keep: []string{"^FAIL"}}, by)
	if n := strings.Count(v.Text, "FAIL"); n != 50 || v.LeftOut != 0 {
		t.Errorf("%d of 50 failures shown, %d left out", n, v.LeftOut)
	}
	for _, end := range []string{"ok   case_0 ", "ok   case_2999 "} {
		if !strings.Contains(v.Text, end) {
			t.Errorf("the end %q is not shown", end)
		}
	}
}

func TestIdenticalLinesAreShownOnce(t *testing.T) {
	whole := strings.Repeat(strings.Repeat("a plain line of text\n", 40)+"error: no space left\n", 37) + strings.Repeat("the end\n", 200)
	r := tool.Result{Ref: &tool.Ref{UUID: uuid}}.WithWhole(whole)
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: 2000, Keep: []string{"error"}}, by)
	text := limit.Render(r, tool.En)
	if strings.Count(text, "no space left") != 1 || !strings.Contains(text, "error: no space left\n[… ×37]\n") {
		t.Errorf("shown:\n%s", text)
	}
	if limit.Neutralise("[… ×37]") == "[… ×37]" {
		t.Error("a tool can write the count itself")
	}
}

func TestTheNoticeNamesTheLinesThatDoNotFit(t *testing.T) {
	r := tool.Result{Ref: &tool.Ref{UUID: uuid}}.WithWhole(scattered(9000, 3))
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: 2000, Keep: []string{`(?i)^fail\b`, "never"}}, by)
	shown := strings.Count(r.Shown.Text, "FAIL")
	if shown+r.Shown.LeftOut != 3000 || shown < 40 {
		t.Errorf("%d shown, %d left out of 3,000", shown, r.Shown.LeftOut)
	}
	for locale, want := range map[tool.Locale]string{
		tool.En: fmt.Sprintf(`grep="(?i)^fail\\b" for 2,%d more lines to keep]`, r.Shown.LeftOut-2000),
		tool.Zh: fmt.Sprintf(`grep="(?i)^fail\\b" 找出应保留的另外 %d 行`, r.Shown.LeftOut),
	} {
		if text := limit.Render(r, locale); !strings.Contains(text, want) {
			t.Errorf("%s has no %q:\n%.900s", locale, want, text)
		}
	}
}

func TestContextIsShownAround(t *testing.T) {
	whole := strings.Repeat("filler filler\n", 300) + "before\nerror: here\nafter\n" + strings.Repeat("filler filler\n", 300)
	v := limit.Apply(whole, tool.Limits{MaxChars: 1000, Keep: []string{"error"}, KeepContext: 1}, by)
	if text := limit.Render(tool.Result{Shown: v}, tool.En); !strings.Contains(text, "]\nbefore\nerror: here\nafter\n[… ") {
		t.Errorf("shown: %s", text)
	}
}

// Every kept line is a line of the text, or the beginning of a long one, with its
// number and count; and two cuts are the same.
func TestKeptLinesAreLinesOfTheText(t *testing.T) {
	word := rapid.SampledFrom([]string{"error", "ERROR: ", "E   assert ", "FAILED x", "ok", "1", "22", "错误：", " ", "--- FAIL: A", "panic: ", strings.Repeat("long ", 60)})
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 0, 4).Draw(t, "words"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 0, 300).Draw(t, "lines")
		whole := strings.Join(lines, "\n")
		l := anyLimits().Draw(t, "limits")
		l.KeepContext = rapid.IntRange(0, 3).Draw(t, "context")
		l.Keep = rapid.SampledFrom([][]string{nil, {"auto"}, {"error", "auto"}, {"^E   ", "FAIL"}, {"[0-9]"}, {""}, {"none"}}).Draw(t, "keep")
		lawsOfApply(t, whole, l)
		v := limit.Apply(whole, l, by)
		if !reflect.DeepEqual(v, limit.Apply(whole, l, by)) {
			t.Fatalf("two cuts under %+v differ", l)
		}
		for _, k := range v.Kept {
			if text := v.Text[k.At:k.End]; !strings.HasPrefix(lines[k.Line-1], text) || k.By == "" {
				t.Fatalf("line %d is %q, not %q", k.Line, lines[k.Line-1], text)
			}
			if n := strings.Count("\n"+strings.ReplaceAll(whole, "\n", "\n\n")+"\n", "\n"+lines[k.Line-1]+"\n"); k.Times != n {
				t.Fatalf("line %d is there %d times, not %d", k.Line, n, k.Times)
			}
		}
	})
}

// Lines that are not shown and not identical to a shown one are counted.
func TestLinesLeftOutAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := scattered(rapid.IntRange(200, 3000).Draw(t, "lines"), rapid.IntRange(2, 50).Draw(t, "nth"))
		v := limit.Apply(whole, tool.Limits{MaxChars: rapid.IntRange(500, 4000).Draw(t, "chars"), Keep: []string{"^FAIL"}}, by)
		if all, shown := strings.Count(whole, "FAIL"), strings.Count(v.Text, "FAIL"); v.Cut() && all != shown+v.LeftOut {
			t.Fatalf("%d lines, %d shown, %d left out", all, shown, v.LeftOut)
		}
	})
}

// What is the same in every log, with a line that a person would look for.
func TestAutoFindsWhatMatters(t *testing.T) {
	for kind, text := range map[string]string{
		"pytest":      "=== FAILURES ===\n#\nE       assert total == 3\n",
		"go test":     "=== RUN   TestSum\n#\n--- FAIL: TestSum (0.00s)\n",
		"cargo":       "test result: FAILED. 1 passed\n#\nthread 'main' panicked at src/lib.rs:3:5:\n",
		"jest":        "Test Suites: 1 failed\n#\n  ● sums › adds\n",
		"JUnit":       "[INFO] Scanning\n#\n[ERROR] SumTest.adds:12 expected: <3> but was: <4>\n",
		"ctest":       "Test project /src\n#\n  2/9 Test  #2: sums ........***Failed  0.01 sec\n",
		"compiler":    "#\nsrc/sum.c:12:3: error: unknown type name 'integer'\n",
		"stack trace": "#\nValueError: no such sum\n",
		"shell":       "#\nrun.sh: line 3: sums: command not found\n",
		"HTTP":        "#\nHTTP/1.1 503 Service Unavailable\n",
		"log":         "#\n2026-01-02 03:04:05 ERROR sums: the disk is full\n",
		"中文":          "#\n[错误] 磁盘已满\n",
	} {
		before, line, _ := strings.Cut(text, "#\n")
		filler := strings.Repeat("still at work on this and that\n", 300)
		v := limit.Apply(before+filler+line+filler, tool.Limits{MaxChars: 2000}, by)
		if !strings.Contains(v.Text, strings.TrimSpace(line)) || len(v.Kept) != 1 {
			t.Errorf("%s: %d lines are kept, without %q", kind, len(v.Kept), line)
		}
		if none := limit.Apply(before+filler+line+filler, tool.Limits{MaxChars: 2000, Keep: []string{"none"}}, by); len(none.Kept) > 0 {
			t.Errorf("%s: none keeps %d lines", kind, len(none.Kept))
		}
	}
}

// Lines that say nothing of a fault get three tenths of the budget at most.
func TestHarmlessLinesGetLittleRoom(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "src/file%d.c:%d:3: warning: unused variable '%c'\n", i, i, 'a'+i%26)
	}
	for _, chars := range []int{1000, 4000, 10000} {
		v := limit.Apply(b.String(), tool.Limits{MaxChars: chars}, by)
		size := 0
		for _, k := range v.Kept {
			size += k.End - k.At
		}
		if size > chars*3/10 {
			t.Errorf("%d of %d characters are warnings that are kept", size, chars)
		}
	}
}

// Prose, code and tables are cut as without lines to keep.
func TestAutoLeavesDocumentsAndCodeAlone(t *testing.T) {
	texts := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "build" || name == "bin" || name == "dist" || name == "node_modules" || len(name) > 2 && name[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.Contains(".go .md .toml .rs .c .h .js .ts .css .html", filepath.Ext(name)) || filepath.Ext(name) == "":
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		whole := limit.Normalise(raw)
		texts++
		for _, chars := range []int{2000, 8000} {
			auto, none := limit.Apply(whole, tool.Limits{MaxChars: chars}, by), limit.Apply(whole, tool.Limits{MaxChars: chars, Keep: []string{}}, by)
			if auto.Text != none.Text {
				t.Errorf("%s at %d: %d lines are kept, %+v", path, chars, len(auto.Kept), auto.Kept)
			}
		}
		return nil
	})
	if err != nil || texts < 100 {
		t.Fatalf("%d texts read: %v", texts, err)
	}
}
