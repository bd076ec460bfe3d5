package limit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// listOf returns a text of entries after a first line, and where they begin.
func listOf(entries ...string) tool.Result {
	var b strings.Builder
	b.WriteString("a list\n")
	e := &tool.Entries{}
	for _, s := range entries {
		_, lines := limit.Count(b.String())
		e.Lines = append(e.Lines, lines+1)
		b.WriteString(s + "\n")
	}
	r := tool.Result{Tool: "t", Entries: e, Ref: &tool.Ref{UUID: uuid}}
	return r.WithWhole(b.String())
}

// numbered returns n entries of two lines with about so many characters.
func numbered(n, chars int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%d. entry\n%s", i+1, strings.Repeat("字", chars-10))
	}
	return out
}

func TestACutFallsBetweenEntries(t *testing.T) {
	huge := strings.Repeat("a long one. ", 800)
	for _, tt := range []struct {
		name         string
		r            tool.Result
		show         int
		l            tool.Limits
		shown, total int
		unit         tool.Unit
		limit        int
		ends         string // of the text before the first gap
	}{
		{"as many as fit", listOf(numbered(10, 500)...), 0, tool.Limits{MaxChars: 2300, Strategy: tool.HeadOnly}, 4, 10, tool.Chars, 2300, "字\n"},
		{"as many as fit in lines", listOf(numbered(10, 50)...), 0, tool.Limits{MaxLines: 9, Strategy: tool.HeadOnly}, 3, 10, tool.Lines, 9, "字\n"},
		{"all of them", listOf(numbered(10, 50)...), 0, tool.Limits{MaxChars: 2300}, 10, 10, "", 0, ""},
		{"the first ones, although there is room", listOf(numbered(10, 50)...), 3, tool.Limits{MaxChars: 2300}, 3, 10, tool.EntryUnit, 3, "字\n"},
		{"fewer than the first ones, because there is no room", listOf(numbered(10, 500)...), 8, tool.Limits{MaxChars: 2300}, 4, 10, tool.Chars, 2300, "字\n"},
		{"at both ends", listOf(numbered(20, 200)...), 0, tool.Limits{MaxChars: 2300, Strategy: tool.HeadTail}, 10, 20, tool.Chars, 2300, "字\n"},
		{"a part of an entry that can never be whole", listOf("1. one", huge, "3. three"), 0, tool.Limits{MaxChars: 1000, Strategy: tool.HeadOnly}, 1, 3, tool.Chars, 1000, "a long one."},
		{"a part of the first, rather than none", listOf(huge, "2. two"), 0, tool.Limits{MaxChars: 1000, Strategy: tool.HeadOnly}, 0, 2, tool.Chars, 1000, "a long one."},
		{"a long entry that fits alone is whole or not at all", listOf("1. one", strings.Repeat("x", 700), strings.Repeat("y", 300)), 0, tool.Limits{MaxChars: 960, Strategy: tool.HeadOnly}, 2, 3, tool.Chars, 960, "x\n"},
		{"or not at all", listOf(strings.Repeat("y", 300), strings.Repeat("x", 700)), 0, tool.Limits{MaxChars: 950, Strategy: tool.HeadOnly}, 1, 2, tool.Chars, 950, "y\n"},
	} {
		tt.r.Entries.Show = tt.show
		v := limit.Fit(tt.r, tt.l, by)
		if v.ShownEntries != tt.shown || v.TotalEntries != tt.total || v.Unit != tt.unit || v.Limit != tt.limit {
			t.Errorf("%s: %d of %d entries by %d %s in\n%s", tt.name, v.ShownEntries, v.TotalEntries, v.Limit, v.Unit, v.Text)
		}
		if v.Cut() && !strings.HasSuffix(v.Text[:v.Gaps[0].At], tt.ends) {
			t.Errorf("%s: it ends with %q", tt.name, v.Text[max(0, v.Gaps[0].At-20):v.Gaps[0].At])
		}
	}
}

// The notice says how many entries are shown of how many, and its call loads exactly the
// others: the lines from the first that is missing to the last.
func TestTheNoticeCountsEntries(t *testing.T) {
	r := listOf(numbered(10, 500)...)
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: 2300, Strategy: tool.HeadOnly}, limit.By{Chars: tool.LayerAgent})
	for l, want := range map[tool.Locale]string{
		tool.En: `[4 of 10 results shown whole; 3,001 of 5,008 characters (12 of 21 lines) left out by the agent's limit of 2,300. The rest: load_tool_history(uuid="` + uuid + `", lines="10-21") or grep="…"]`,
		tool.Zh: `[完整显示前 4 个结果（结果已截断，共 10 条结果）。截断了 3001 字符 / 12 行（智能体上限 2300 字符），原始长度: 5008 字符 / 21 行。余下: load_tool_history(uuid="` + uuid + `", lines="10-21") 或 grep="…"]`,
	} {
		got := limit.Render(r, l)
		notice := got[strings.LastIndexByte(strings.TrimSpace(got), '\n')+1:]
		if notice != want {
			t.Errorf("%s:\n%s\nwant\n%s", l, notice, want)
		}
		if !limit.IsNotice(notice) || !limit.HasMark(notice) || limit.HasMark(limit.Neutralise(notice)) {
			t.Errorf("%s: the notice is not recognised", l)
		}
	}
	rest := strings.Join(strings.SplitAfter(r.Whole(), "\n")[9:], "")
	if r.Shown.Text+rest != r.Whole() {
		t.Error("the call of the notice does not load what is left out")
	}

	last := listOf("1. one", "2. "+strings.Repeat("x", 400), "3. "+strings.Repeat("y", 400))
	last.Shown = limit.Fit(last, tool.Limits{MaxChars: 720, Strategy: tool.HeadOnly}, by)
	if got := limit.Render(last, tool.En); last.Shown.ShownEntries != 2 || !strings.Contains(got, `lines="4-4"`) {
		t.Errorf("one line is left out: %s", got)
	}
}

// What a tool says about its entries may be anything. It then has none, and the cut is
// that of a text without entries.
func TestEntriesThatCannotBe(t *testing.T) {
	whole := strings.Repeat("a line\n", 300)
	l := tool.Limits{MaxChars: 900, MaxLines: 100, Strategy: tool.HeadTail}
	want := limit.Apply(whole, l, by)
	many := make([]int, tool.MaxEntries+1)
	for i := range many {
		many[i] = i + 1
	}
	for name, e := range map[string]*tool.Entries{
		"none": {}, "none, but some shown": {Show: 3}, "before the text": {Lines: []int{0, 2}}, "negative": {Lines: []int{-5}},
		"after the text": {Lines: []int{301}}, "far after it": {Lines: []int{1 << 62}}, "not ascending": {Lines: []int{2, 5, 4}},
		"the same twice": {Lines: []int{2, 2}}, "the first twice": {Lines: []int{1, 1}}, "too many": {Lines: many},
	} {
		v := limit.Fit(tool.Result{Entries: e}.WithWhole(whole), l, by)
		if v.TotalEntries != 0 || v.ShownEntries != 0 || v.Text != want.Text {
			t.Errorf("%s: %d of %d entries, %d characters", name, v.ShownEntries, v.TotalEntries, len(v.Text))
		}
	}
	v := limit.Fit(tool.Result{Entries: &tool.Entries{Lines: []int{1, 2, 3, 301, 1 << 62}, Show: -4}}.WithWhole(whole), l, by)
	if v.TotalEntries != 3 {
		t.Errorf("three of them can be, and a negative number is to be shown: %d entries", v.TotalEntries)
	}
}

// The laws of every cut hold with entries too; a second cut changes nothing; what is
// counted as shown is shown; and a head ends inside an entry only if that one is larger
// than the limit alone.
func TestCutsOfEntriesKeepTheLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.OneOf(rapid.StringN(0, 60, -1), rapid.Map(anyText(), func(s string) string { return s[:min(len(s), 1500)] }))
		r := listOf(rapid.SliceOfN(entry, 1, 60).Draw(t, "entries")...)
		if limit.NormaliseString(r.Whole()) != r.Whole() {
			t.Skip("not normalised")
		}
		r.Entries.Show = rapid.IntRange(-1, 40).Draw(t, "show")
		l := anyLimits().Draw(t, "limits")
		if rapid.Bool().Draw(t, "no lines to keep") {
			l.Keep = []string{tool.KeepLinesNone}
		}
		v := limit.Fit(r, l, by)
		if v.Cut() {
			lawsOfNumbers(t, r.Whole(), v)
		}
		if v.TotalEntries == 0 {
			return // another strategy
		}
		if v.Cut() {
			lawsOfPieces(t, r.Whole(), v, tool.Limits{})
		}
		r.Shown = v
		lawsOfRendering(t, r, l)
		lawsOfEntries(t, r, l)
	})
}

func lawsOfEntries(t fataler, r tool.Result, l tool.Limits) {
	t.Helper()
	v, lines := r.Shown, strings.SplitAfter(r.Whole(), "\n")
	missing := map[int]bool{}
	for _, g := range v.Gaps {
		for n := g.First; n <= g.Last; n++ {
			missing[n] = true
		}
	}
	shown, ends := 0, append(slices.Clone(r.Entries.Lines[1:]), v.TotalLines+1)
	for i, first := range r.Entries.Lines {
		whole := true
		for n := first; n < ends[i]; n++ {
			whole = whole && !missing[n]
		}
		if whole {
			shown++
		}
	}
	if v.TotalEntries != len(ends) || v.ShownEntries != shown {
		t.Fatalf("%d of %d entries are shown, not %d of %d", shown, len(ends), v.ShownEntries, v.TotalEntries)
	}
	if r.Entries.Show > 0 && shown > r.Entries.Show {
		t.Fatalf("%d entries are shown, more than %d", shown, r.Entries.Show)
	}
	if !v.Cut() || l.Strategy != tool.HeadOnly || len(v.Kept) > 0 {
		return
	}
	if v.Gaps[0].At != len(v.Text) {
		t.Fatalf("head_only shows a tail")
	}
	i, begins := slices.BinarySearch(r.Entries.Lines, v.Gaps[0].First)
	if !begins && i > 0 {
		part := strings.Join(lines[r.Entries.Lines[i-1]-1:ends[i-1]-1], "")
		chars, n := limit.Count(part)
		if i > 1 && (l.MaxChars <= 0 || chars <= l.MaxChars-2*tool.NoticeChars) && (l.MaxLines <= 0 || n <= l.MaxLines-3) {
			t.Fatalf("a cut in entry %d of %d characters, %d lines under %+v", i, chars, n, l)
		}
	}
	again := tool.Result{Tool: r.Tool, Ref: r.Ref, Entries: &tool.Entries{Lines: r.Entries.Lines[:i], Show: r.Entries.Show}}.WithWhole(v.Text)
	if second := limit.Fit(again, l, by); second.Cut() || second.Text != v.Text {
		t.Fatalf("a second cut changes the text under %+v", l)
	}
}
