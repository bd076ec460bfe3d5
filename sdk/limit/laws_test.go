package limit_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

var by = limit.By{Chars: tool.LayerTool, Lines: tool.LayerOperator}

// fataler is what a law reports to: a test or a rapid check.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// lawsOfApply checks the properties of every cut.
func lawsOfApply(t fataler, whole string, l tool.Limits) {
	t.Helper()
	v := limit.Apply(whole, l, by)
	chars, lines := limit.Count(whole)
	if v.TotalChars != chars || v.TotalLines != lines {
		t.Fatalf("totals %d, %d; the whole has %d, %d", v.TotalChars, v.TotalLines, chars, lines)
	}
	fits := (l.MaxChars <= 0 || chars <= l.MaxChars) && (l.MaxLines <= 0 || lines <= l.MaxLines)
	if fits != !v.Cut() || fits && v.Text != whole {
		t.Fatalf("fits: %v, cut: %v", fits, v.Cut())
	}
	if v.Cut() {
		lawsOfNumbers(t, whole, v)
		if l.Strategy == tool.JSON && json.Valid([]byte(whole)) && json.Valid([]byte(v.Text)) {
			// What is shown is no part of the whole.
		} else {
			lawsOfPieces(t, whole, v, l)
		}
	}
	lawsOfRendering(t, tool.Result{Tool: "t", Shown: v, Ref: &tool.Ref{UUID: uuid}}, l)
	if l.Strategy != tool.JSON {
		if again := limit.Apply(v.Text, l, by); again.Cut() || again.Text != v.Text {
			t.Fatalf("a second cut changes the text under %+v", l)
		}
	}
}

const uuid = "0198f2a7-6b1c-7d3e-9f40-a7k2b3c4d5e6"

// lawsOfNumbers: what is missing and what is shown make the whole.
func lawsOfNumbers(t fataler, whole string, v tool.View) {
	t.Helper()
	missing, _ := v.Missing()
	if shown, _ := limit.Count(v.Text); missing+shown != v.TotalChars {
		t.Fatalf("%d missing + %d shown, not %d", missing, shown, v.TotalChars)
	}
	if v.By == tool.LayerNone || v.Limit <= 0 || v.Unit == "" {
		t.Fatalf("a cut without a layer: %+v", v)
	}
	if !slices.IsSortedFunc(v.Gaps, func(a, b tool.Gap) int { return a.At - b.At }) {
		t.Fatalf("gaps out of order: %+v", v.Gaps)
	}
}

// lawsOfPieces: the pieces between the gaps are in the whole at the offsets that
// the gaps imply, and no cut splits a grapheme cluster.
func lawsOfPieces(t fataler, whole string, v tool.View, l tool.Limits) {
	t.Helper()
	pos, text := 0, 0
	for i, g := range v.Gaps {
		piece := v.Text[text:g.At]
		if !strings.HasPrefix(whole[pos:], piece) {
			t.Fatalf("piece %d is not in its place", i)
		}
		pos, text = pos+len(piece), g.At
		size := 0
		for range g.Chars {
			_, n := utf8.DecodeRuneInString(whole[pos+size:])
			size += n
		}
		gap := whole[pos : pos+size]
		first := strings.Count(whole[:pos], "\n") + 1
		last := first + strings.Count(strings.TrimSuffix(gap, "\n"), "\n")
		if g.First != first || g.Last != last || g.Lines != last-first+1 {
			t.Fatalf("gap %d is lines %d to %d, %d in all; not %+v", i, first, last, last-first+1, g)
		}
		boundary(t, whole, pos)
		boundary(t, whole, pos+size)
		pos += size
	}
	if whole[pos:] != v.Text[text:] {
		t.Fatalf("the last piece is no suffix of the whole")
	}
	if l.Strategy == tool.HeadOnly && len(v.Kept) == 0 && v.Gaps[0].At != len(v.Text) {
		t.Fatalf("head_only shows a tail")
	}
	if l.Strategy == tool.TailOnly && len(v.Kept) == 0 && v.Gaps[0].At != 0 {
		t.Fatalf("tail_only shows a head")
	}
}

// boundary fails if byte i of s lies within a cluster of up to 64 code points.
func boundary(t fataler, s string, i int) {
	t.Helper()
	start := strings.LastIndexByte(s[:i], '\n') + 1
	it := graphemes.FromString(s[start:min(len(s), i+400)])
	for it.Next() {
		a, b := start+it.Start(), start+it.End()
		if a < i && i < b && utf8.RuneCountInString(s[a:b]) <= 64 {
			t.Fatalf("a cut at byte %d goes through %q", i, s[a:b])
		}
		if b >= i {
			return
		}
	}
}

// lawsOfRendering: in both languages the words stay within the limit.
func lawsOfRendering(t fataler, r tool.Result, l tool.Limits) {
	t.Helper()
	for _, locale := range []tool.Locale{tool.En, tool.Zh} {
		s := limit.Render(r, locale)
		chars, lines := limit.Count(s)
		if l.MaxChars > 0 && chars > l.MaxChars || l.MaxLines > 0 && lines > l.MaxLines {
			t.Fatalf("%s: %d characters, %d lines under %d, %d (room %d):\n%s", locale, chars, lines, l.MaxChars, l.MaxLines, r.Shown.Room, s)
		}
	}
}

var strategies = []tool.Strategy{"", tool.HeadTail, tool.HeadOnly, tool.TailOnly, tool.Summarize, tool.JSON}

// anyLimits draws limits, also ones that no manifest may declare.
func anyLimits() *rapid.Generator[tool.Limits] {
	return rapid.Custom(func(t *rapid.T) tool.Limits {
		l := tool.Limits{
			MaxChars: rapid.OneOf(rapid.IntRange(-1, 400), rapid.IntRange(300, 5000)).Draw(t, "chars"),
			MaxLines: rapid.OneOf(rapid.IntRange(-1, 12), rapid.IntRange(0, 200)).Draw(t, "lines"),
			Strategy: rapid.SampledFrom(strategies).Draw(t, "strategy"),
			Head:     rapid.SampledFrom([]float64{0, 0.2, 0.4, 0.5, 1, -1, 7, math.NaN()}).Draw(t, "head"),
			Tail:     rapid.SampledFrom([]float64{0, 0.1, 0.4, 0.5, 1, math.Inf(1)}).Draw(t, "tail"),
		}
		l.Keep = rapid.SliceOfN(rapid.SampledFrom(keeps), 0, 3).Draw(t, "keep")
		return l
	})
}

var keeps = []string{"error", "(?i)ERROR|panic", `^a+$`, `[0-9]{3}`, "漢", "(", "", `x|y|z`, `\bbroke\b`}

func TestApplyKeepsItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lawsOfApply(t, anyText().Draw(t, "whole"), anyLimits().Draw(t, "limits"))
	})
}

func TestApplyKeepsItsLawsOnHardTexts(t *testing.T) {
	for name, whole := range corpora() {
		t.Run(name, func(t *testing.T) {
			for _, s := range strategies {
				for _, l := range []tool.Limits{
					{MaxChars: 300},
					{MaxChars: 1001, MaxLines: 7},
					{MaxLines: 1},
					{MaxLines: 2},
					{MaxLines: 50},
					{MaxChars: 8000, MaxLines: 500},
					{MaxChars: 8000, MaxLines: 500, Head: 0.2, Tail: 0.4, Keep: []string{"error|panic", "失败"}},
					{MaxChars: 4001, Head: 0.1, Tail: 0.1, Keep: []string{"(?i)STEP=[0-9]+7 "}},
				} {
					l.Strategy = s
					lawsOfApply(t, whole, l)
				}
			}
		})
	}
}

func TestACutFillsItsBudget(t *testing.T) {
	for name, whole := range corpora() {
		for _, l := range []tool.Limits{
			{MaxChars: 1000}, {MaxChars: 8000}, {MaxChars: 8000, Strategy: tool.HeadOnly}, {MaxChars: 8000, Strategy: tool.TailOnly},
			{MaxChars: 8000, Keep: []string{"error", "nothing like this"}},
			{MaxChars: 8000, Keep: []string{"error", "nothing like this"}, Strategy: tool.HeadOnly},
		} {
			v := limit.Apply(whole, l, by)
			shown, _ := limit.Count(v.Text)
			if v.Cut() && shown+tool.NoticeChars < l.MaxChars*9/10 {
				t.Errorf("%s: %d of %d characters used under %+v", name, shown+tool.NoticeChars, l.MaxChars, l)
			}
		}
	}
}

func FuzzApply(f *testing.F) {
	for _, s := range []string{forgeries, strings.Repeat(family+flagDE, 200), strings.Repeat("\n", 900), zalgo + strings.Repeat("x. ", 400)} {
		f.Add(s, 300, 0, uint8(0), "error")
		f.Add(s, 1000, 12, uint8(1), "")
	}
	f.Add(`{"a":[1,2,{"b":"`+strings.Repeat("é", 999)+`"}]}`, 320, 3, uint8(5), "")
	f.Fuzz(func(t *testing.T, whole string, chars, lines int, strategy uint8, keep string) {
		l := tool.Limits{MaxChars: chars, MaxLines: lines, Strategy: strategies[int(strategy)%len(strategies)]}
		if keep != "" {
			l.Keep = []string{keep}
		}
		if limit.CheckHighlights(l.Keep) != nil {
			l.Keep = nil
		}
		lawsOfApply(t, whole, l)
	})
}
