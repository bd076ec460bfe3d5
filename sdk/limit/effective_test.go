package limit_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func TestAgent(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, tc := range []struct {
		configured *int
		window     int
		want       int
	}{
		{n(-1), 0, 4000},
		{n(0), 100_000, 4000}, // configured wins over the window
		{n(1), 0, 1000},
		{n(500), 0, 1000},
		{n(999), 0, 1000},
		{n(1000), 0, 1000},
		{n(8000), 2048, 8000},
		{nil, 0, 4000},
		{nil, -5, 4000},
		{nil, 1, 1500},
		{nil, 2048, 1500},
		{nil, 3999, 1500}, // between steps: the lower one
		{nil, 4000, 2500},
		{nil, 4096, 2500},
		{nil, 8000, 5000},
		{nil, 8192, 5000},
		{nil, 16_384, 5000},
		{nil, 32_768, 12000},
		{nil, 99_999, 12000},
		{nil, 100_000, 24000},
		{nil, 1_000_000, 24000},
	} {
		if got, why := limit.Agent(tc.configured, tc.window); got != tc.want || why.IsZero() {
			t.Errorf("window %d: %d (%s), want %d", tc.window, got, why, tc.want)
		}
	}
}

func TestRecommended(t *testing.T) {
	for window, want := range map[int][2]int{
		0: {}, -1: {}, 2048: {1000, 2000}, 4096: {2000, 3000}, 8192: {4000, 6000}, 32_768: {8000, 16000}, 200_000: {16000, 32000},
	} {
		least, most := limit.Recommended(window)
		if least != want[0] || most != want[1] {
			t.Errorf("window %d: %d to %d, want %v", window, least, most, want)
		}
		if chars, _ := limit.Agent(nil, window); window > 0 && (chars < least || chars > most) {
			t.Errorf("window %d: the limit left out is %d, outside of what is recommended", window, chars)
		}
	}
}

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		sizes  []int
		budget int
		want   []int
	}{
		{nil, 8000, nil},
		{[]int{500, 20_000}, 8000, []int{500, 7500}},                         // the small one whole
		{[]int{20_000, 500, 30_000}, 8500, []int{4000, 500, 4000}},           // the large ones alike
		{[]int{100, 200}, 8000, []int{100, 200}},                             // all fit
		{[]int{5000, 5000, 5000, 5000}, 2000, []int{1000, 1000, 1000, 1000}}, // none under 1,000
		{[]int{900, 5000}, 1000, []int{900, 1000}},
		{[]int{0, 5000}, 3000, []int{0, 3000}},
		{[]int{9, 99_999}, 0, []int{9, 99_999}}, // no cap
		{[]int{9, 99_999}, -1, []int{9, 99_999}},
	} {
		if got := limit.Share(tc.sizes, tc.budget); !slices.Equal(got, tc.want) {
			t.Errorf("%v under %d: %v, want %v", tc.sizes, tc.budget, got, tc.want)
		}
	}
}

func TestShareIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOf(rapid.IntRange(0, 100_000)).Draw(t, "sizes")
		budget := rapid.IntRange(1, 200_000).Draw(t, "budget")
		caps := limit.Share(sizes, budget)
		sum, most, floor := 0, 0, true
		for i, c := range caps {
			if c > sizes[i] || c < min(sizes[i], 1000) {
				t.Fatalf("%d gets %d", sizes[i], c)
			}
			sum, most = sum+c, max(most, c)
			floor = floor && c <= 1000
		}
		for i, c := range caps {
			if c < sizes[i] && c != most {
				t.Fatalf("a large one gets %d, another %d: %v", c, most, caps)
			}
		}
		if sum > budget && !floor {
			t.Fatalf("%d over a budget of %d: %v", sum, budget, caps)
		}
		if wasted := budget - sum; wasted >= len(sizes) && !slices.Equal(caps, sizes) {
			t.Fatalf("%d characters are unused: %v", wasted, caps)
		}
	})
}

func TestLowerNeverRaises(t *testing.T) {
	l, b := tool.Limits{MaxChars: 8000}, limit.By{Chars: tool.LayerTool}
	for _, tc := range []struct {
		chars int
		want  int
		by    tool.Layer
	}{
		{9000, 8000, tool.LayerTool},
		{8000, 8000, tool.LayerTool}, // who came first is named
		{5000, 5000, tool.LayerAgent},
		{0, 8000, tool.LayerTool}, // no limit
		{-1, 8000, tool.LayerTool},
	} {
		if got, by := limit.Lower(l, b, tc.chars, tool.LayerAgent); got.MaxChars != tc.want || by.Chars != tc.by {
			t.Errorf("lowered to %d: %d by %s", tc.chars, got.MaxChars, by.Chars)
		}
	}
	if got, by := limit.Lower(tool.Limits{}, b, 700, tool.LayerRound); got.MaxChars != 700 || by.Chars != tool.LayerRound {
		t.Errorf("no limit is not lowered: %d", got.MaxChars)
	}
}

func TestLimitsThatAreNoNumbersDoNoHarm(t *testing.T) {
	whole := corpora()["log"]
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -3} {
		lawsOfApply(t, whole, tool.Limits{MaxChars: 2000, Head: f, Tail: f})
		lawsOfApply(t, whole, tool.Limits{MaxChars: math.MaxInt, MaxLines: 3, Head: f})
	}
}
