package limit_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func TestCount(t *testing.T) {
	for _, tc := range []struct {
		in           string
		chars, lines int
	}{
		{"", 0, 0},
		{"\n", 1, 1},
		{"a", 1, 1}, // an unended line is a line
		{"a\n", 2, 1},
		{"a\nb", 3, 2},
		{"漢字\n\n", 4, 2},
		{family, 7, 1},       // code points, not clusters
		{"\xff\xfe", 2, 1},   // bytes that are not UTF-8
		{"\xe4\xb8", 2, 1},   // a character cut off
		{"\xe4\xb8x漢", 4, 1}, // and one in the middle
	} {
		if c, l := limit.Count(tc.in); c != tc.chars || l != tc.lines {
			t.Errorf("%q: %d, %d; want %d, %d", tc.in, c, l, tc.chars, tc.lines)
		}
	}
}

func TestCountCountsLikeTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + anyText().Draw(t, "text")
		i := rapid.IntRange(0, len(s)).Draw(t, "from")
		if c, _ := limit.Count(s[i:]); c != utf8.RuneCountInString(s[i:]) {
			t.Fatalf("%d characters in %q", c, s[i:])
		}
	})
}

// head and tail are the two pieces of a text that is cut once.
func headAndTail(t *testing.T, whole string, l tool.Limits) (string, string) {
	t.Helper()
	v := limit.Apply(whole, l, by)
	if len(v.Gaps) != 1 {
		t.Fatalf("%d gaps", len(v.Gaps))
	}
	return v.Text[:v.Gaps[0].At], v.Text[v.Gaps[0].At:]
}

func TestCutsPreferGoodPlaces(t *testing.T) {
	filler := strings.Repeat("w", 2000)
	for _, tc := range []struct {
		name, near string // near is 5 characters from the cut
		head, tail string // how the head ends and the tail begins
	}{
		{"a line end", "aa\nbb", "aa\n", "bb"},
		{"a line end before a sentence end", "a\nb. c", "a\n", "b. c"},
		{"a Chinese sentence", "天。地玄黄", "天。", "地玄黄"},
		{"with its closing quote", "天。”地玄", "。”", "地玄"},
		{"an English sentence", "a! bb", "a!", "bb"},
		{"no sentence inside a number", "3.14w", "3.14w", "3.14w"},
		{"nor inside a name", "a.gow", "a.gow", "a.gow"},
	} {
		head, _ := headAndTail(t, filler[:755]+tc.near+filler, tool.Limits{MaxChars: 1000, Strategy: tool.HeadOnly})
		if !strings.HasSuffix(head, tc.head) {
			t.Errorf("%s: the head ends with %q", tc.name, head[len(head)-12:])
		}
		_, tail := headAndTail(t, filler+tc.near+filler[:755], tool.Limits{MaxChars: 1000, Strategy: tool.TailOnly})
		if !strings.HasPrefix(tail, tc.tail) {
			t.Errorf("%s: the tail begins with %q", tc.name, tail[:12])
		}
	}
}

func TestSharesOfTheBudget(t *testing.T) {
	whole := strings.Repeat("w", 50_000)
	lines := strings.Repeat("w\n", 50_000)
	for _, tc := range []struct {
		name       string
		l          tool.Limits
		head, tail int // characters of whole under 1,240, or half of those of lines under 101
	}{
		{"the default, what is left to the tail", tool.Limits{}, 400, 600},
		{"summarize without a model", tool.Limits{Strategy: tool.Summarize}, 400, 600},
		{"a strategy nobody knows", tool.Limits{Strategy: "?"}, 400, 600},
		{"declared", tool.Limits{Head: 0.2, Tail: 0.8}, 200, 800},
		{"declared, with something left", tool.Limits{Head: 0.2, Tail: 0.1}, 200, 800},
		{"only a head, the rest to the tail", tool.Limits{Head: 0.5}, 500, 500},
		{"only a tail", tool.Limits{Tail: 0.5}, 0, 1000},
		{"too much", tool.Limits{Head: 3, Tail: 1}, 500, 500},
		{"head_only", tool.Limits{Strategy: tool.HeadOnly, Head: 0.1}, 1000, 0},
		{"tail_only", tool.Limits{Strategy: tool.TailOnly, Tail: 0.1}, 0, 1000},
		{"keep without a match", tool.Limits{Keep: []string{"x"}}, 400, 600},
	} {
		l := tc.l
		l.MaxChars = 1240
		if head, tail := headAndTail(t, whole, l); len(head) != tc.head || len(tail) != tc.tail {
			t.Errorf("%s: %d and %d characters, want %d and %d", tc.name, len(head), len(tail), tc.head, tc.tail)
		}
		l = tc.l
		l.MaxLines = 101
		if head, tail := headAndTail(t, lines, l); len(head)*5 != tc.head || len(tail)*5 != tc.tail {
			t.Errorf("%s: %d and %d lines, want %d and %d", tc.name, len(head)/2, len(tail)/2, tc.head/10, tc.tail/10)
		}
	}
}

func TestTheLayerThatDecidesIsNamed(t *testing.T) {
	wide, high := strings.Repeat("w", 99)+"\n", "w\n"
	for _, tc := range []struct {
		name  string
		whole string
		l     tool.Limits
		unit  tool.Unit
	}{
		{"too long", strings.Repeat(wide, 100), tool.Limits{MaxChars: 1000, MaxLines: 500}, tool.Chars},
		{"too high", strings.Repeat(high, 400), tool.Limits{MaxChars: 1000, MaxLines: 50}, tool.Lines},
		{"both, characters end it", strings.Repeat(wide, 600), tool.Limits{MaxChars: 1000, MaxLines: 500}, tool.Chars},
		{"both, lines end it", strings.Repeat(high, 5000), tool.Limits{MaxChars: 1000, MaxLines: 50}, tool.Lines},
		{"only lines are limited", strings.Repeat(wide, 600), tool.Limits{MaxLines: 500}, tool.Lines},
	} {
		v := limit.Apply(tc.whole, tc.l, by)
		want, n := tool.LayerTool, tc.l.MaxChars
		if tc.unit == tool.Lines {
			want, n = tool.LayerOperator, tc.l.MaxLines
		}
		if v.Unit != tc.unit || v.By != want || v.Limit != n {
			t.Errorf("%s: %s limit of %d %s", tc.name, v.By, v.Limit, v.Unit)
		}
	}
}

func TestNoLimitShowsEverything(t *testing.T) {
	for name, whole := range corpora() {
		for _, l := range []tool.Limits{{}, {MaxChars: -1, MaxLines: -1}, {Strategy: tool.JSON}, {MaxChars: len(whole) + 1}} {
			if v := limit.Apply(whole, l, by); v.Cut() || v.Text != whole || v.By != tool.LayerNone {
				t.Errorf("%s is cut under %+v", name, l)
			}
		}
	}
}
