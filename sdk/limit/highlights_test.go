package limit

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/tool"
)

// testLog is 3,000 lines of a test run, failures far from both ends.
func testLog() string {
	var b strings.Builder
	for i := range 3000 {
		switch {
		case i == 1200:
			b.WriteString("E   AssertionError: 预期 3，得到 4\n")
		case i == 1201:
			b.WriteString("E   assert 4 == 3\n")
		case i%700 == 650:
			fmt.Fprintf(&b, "FAIL case_%d\n", i)
		default:
			fmt.Fprintf(&b, "ok   case_%d passed in 0.01s\n", i)
		}
	}
	return b.String()
}

func TestHighlightsShowMatchingLinesOfTheMiddle(t *testing.T) {
	whole := testLog()
	for _, tc := range []struct {
		keep []string
		want []string // lines that must be shown
	}{
		{[]string{"^E   "}, []string{"E   AssertionError: 预期 3，得到 4", "E   assert 4 == 3"}}, // anchored at lines
		{[]string{"(?i)assertionERROR"}, []string{"E   AssertionError"}},                    // case ignored
		{[]string{"(", "FAIL"}, []string{"FAIL case_650", "FAIL case_1350"}},                // an invalid one is ignored
		{[]string{"4 == 3$", "得到"}, []string{"assert 4 == 3", "得到 4"}},                      // end of a line; beyond ASCII
		{[]string{`\d{4} never`, `case_650`}, []string{"FAIL case_650"}},                    // one that never matches
	} {
		for _, s := range []tool.Strategy{tool.HeadTail, tool.HeadOnly, tool.TailOnly} {
			v := Apply(whole, tool.Limits{MaxChars: 3000, Strategy: s, Keep: tc.keep}, By{})
			for _, w := range tc.want {
				if !strings.Contains(v.Text, w) {
					t.Errorf("keep %q under %s does not show %q", tc.keep, s, w)
				}
			}
		}
	}
}

func TestHighlightsShowTheBeginningOfALineTooLong(t *testing.T) {
	long := "error: it broke " + strings.Repeat("and went on ", 5000) + "\n"
	whole := strings.Repeat("a plain line\n", 500) + long + strings.Repeat("a plain line\n", 500)
	v := Apply(whole, tool.Limits{MaxChars: 2000, Keep: []string{"error"}}, By{})
	if !strings.Contains(v.Text, "\nerror: it broke and went on") || len(v.Gaps) != 2 {
		t.Errorf("shown: %d gaps, %s", len(v.Gaps), v.Text)
	}
	late := strings.Repeat("and went on ", 5000) + "error\n"
	whole = strings.Replace(whole, long, late, 1)
	if v := Apply(whole, tool.Limits{MaxChars: 2000, Keep: []string{"error"}}, By{}); len(v.Gaps) != 1 {
		t.Errorf("a beginning without the match is shown: %s", v.Text)
	}
}

func TestHighlightsJoinNearbyLines(t *testing.T) {
	whole := strings.Repeat("filler filler filler\n", 200) + "keep 1\n-\nkeep 2\n" + strings.Repeat("filler filler filler\n", 200)
	v := Apply(whole, tool.Limits{MaxChars: 1500, Keep: []string{"^keep"}}, By{})
	if !strings.Contains(v.Text, "keep 1\n-\nkeep 2\n") || len(v.Gaps) != 2 {
		t.Errorf("%d gaps around %q", len(v.Gaps), v.Text)
	}
}

func TestRoomUnusedByHighlightsGoesToTheTail(t *testing.T) {
	whole := testLog()
	none := Apply(whole, tool.Limits{MaxChars: 3000, Keep: []string{"no such line"}}, By{})
	without := Apply(whole, tool.Limits{MaxChars: 3000}, By{})
	if none.Text != without.Text {
		t.Errorf("keep without a match shows %d bytes, no keep %d", len(none.Text), len(without.Text))
	}
}

func TestCheckHighlights(t *testing.T) {
	if err := CheckHighlights([]string{"error", "(?i)x|y", ""}); err != nil {
		t.Errorf("valid expressions: %v", err)
	}
	err := CheckHighlights([]string{"fine", "a(b"})
	if err == nil || !strings.Contains(err.Error(), `"a(b"`) {
		t.Errorf("the error does not name the expression: %v", err)
	}
	if got := err.Error(); got != "keep \"a(b\" is not a regular expression: missing closing ): `a(b`" {
		t.Errorf("%q", got)
	}
}

// A log with many matches stays within many budgets.
func TestHighlightsStayWithinTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		every := rapid.IntRange(1, 60).Draw(t, "every")
		for i := range rapid.IntRange(50, 600).Draw(t, "lines") {
			if i%every == 0 {
				b.WriteString("error 错误 ")
			}
			b.WriteString(strings.Repeat("w", i*7%53) + "\n")
		}
		l := tool.Limits{
			MaxChars: rapid.IntRange(300, 4000).Draw(t, "chars"),
			MaxLines: rapid.IntRange(0, 60).Draw(t, "max_lines"),
			Head:     rapid.Float64Range(0, 0.6).Draw(t, "head"),
			Tail:     rapid.Float64Range(0, 0.4).Draw(t, "tail"),
			Strategy: rapid.SampledFrom([]tool.Strategy{tool.HeadTail, tool.HeadOnly, tool.TailOnly}).Draw(t, "strategy"),
			Keep:     []string{"error"},
		}
		v := Apply(b.String(), l, By{Chars: tool.LayerTool, Lines: tool.LayerTool})
		missing, _ := v.Missing()
		if missing+runes(v.Text) != v.TotalChars {
			t.Fatalf("%d missing and %d shown of %d", missing, runes(v.Text), v.TotalChars)
		}
		for _, locale := range []tool.Locale{tool.En, tool.Zh} {
			chars, lines := Count(Render(tool.Result{Shown: v}, locale))
			if chars > l.MaxChars || l.MaxLines > 0 && lines > l.MaxLines {
				t.Fatalf("%d characters, %d lines, %d gaps under %+v", chars, lines, len(v.Gaps), l)
			}
		}
	})
}

// Compiled highlights cut like Apply, also after other cuts and concurrently.
func TestCompiledHighlightsCutLikeApply(t *testing.T) {
	exprs := []string{"error", "(?i)FAIL", `^E   `, "("}
	whole := testLog()
	texts := []string{whole, strings.ToUpper(whole), "short", "", strings.Repeat("error 错误\n", 900), whole[:len(whole)/2]}
	k := CompileHighlights(exprs)
	var cutting sync.WaitGroup
	for i := range 4 {
		cutting.Go(func() {
			for n := range 60 {
				text := texts[(i+n)%len(texts)]
				l := tool.Limits{MaxChars: 600 + 100*n, Strategy: []tool.Strategy{tool.HeadTail, tool.HeadOnly, tool.TailOnly}[n%3]}
				got := k.Apply(text, l, By{Chars: tool.LayerTool})
				l.Keep = exprs
				if want := Apply(text, l, By{Chars: tool.LayerTool}); !reflect.DeepEqual(got, want) {
					t.Errorf("%.10q under %+v: %d gaps, want %d", text, l, len(got.Gaps), len(want.Gaps))
				}
				r := tool.Result{Tool: "t", More: &tool.More{Shown: 1, Total: 2}}.WithWhole(text)
				if n%2 == 0 {
					r.Load = &tool.Load{}
				}
				got = k.Fit(r, tool.Limits{MaxChars: l.MaxChars}, By{})
				if want := Fit(r, tool.Limits{MaxChars: l.MaxChars, Keep: exprs}, By{}); !reflect.DeepEqual(got, want) {
					t.Errorf("fitting %.10q: %d gaps, want %d", text, len(got.Gaps), len(want.Gaps))
				}
			}
		})
	}
	cutting.Wait()
}

// Invalid and empty expressions select no lines.
func TestCompileHighlightsOfNothing(t *testing.T) {
	for _, exprs := range [][]string{{}, {""}, {"("}, {"(", ""}, {"none"}} {
		if k := CompileHighlights(exprs); k != nil {
			t.Errorf("%q compile to something", exprs)
		}
	}
	var k *Highlights
	if got, want := k.Apply(testLog(), tool.Limits{MaxChars: 900, Keep: []string{"FAIL"}}, By{}), Apply(testLog(), tool.Limits{MaxChars: 900, Keep: []string{}}, By{}); got.Text != want.Text {
		t.Error("no Keep keeps the lines of the limits")
	}
}

// A cut makes two allocations at most besides the text and the gaps that it
// returns, with and without highlights.
func TestAllocations(t *testing.T) {
	whole := testLog()
	k := CompileHighlights([]string{"FAIL", `^E   `})
	most := 4.0
	if raced {
		most = 12
	}
	for name, cut := range map[string]func() tool.View{
		"plain":      func() tool.View { return Apply(whole, tool.Limits{MaxChars: 8000, MaxLines: 500}, By{}) },
		"keep":       func() tool.View { return k.Apply(whole, tool.Limits{MaxChars: 8000, MaxLines: 500}, By{}) },
		"keep heads": func() tool.View { return k.Apply(whole, tool.Limits{MaxChars: 8000, Strategy: tool.HeadOnly}, By{}) },
	} {
		if v := cut(); !v.Cut() || name != "plain" && len(v.Gaps) < 3 {
			t.Fatalf("%s: %d gaps show nothing", name, len(v.Gaps))
		}
		if n := testing.AllocsPerRun(100, func() { cut() }); n > most {
			t.Errorf("%s: %v allocations, the result among them", name, n)
		}
	}
}
