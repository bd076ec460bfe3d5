package limit_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// lines801 is a text of 801 lines and 35,870 characters.
func lines801() string {
	var b strings.Builder
	for i := range 801 {
		line := fmt.Sprintf("%03d ", i+1)
		b.WriteString(line + strings.Repeat("x", 39) + "\n")
	}
	return b.String() + strings.Repeat("y", 35_870-801*44)
}

// notices are results that show every sentence that Render can write.
func notices() map[string]tool.Result {
	whole := lines801()
	l := tool.Limits{MaxChars: 8000, MaxLines: 500}
	ref := &tool.Ref{UUID: uuid}
	fit := func(r tool.Result, whole string, l tool.Limits, by limit.By) tool.Result {
		r.Tool = "grep_search"
		r = r.WithWhole(whole)
		r.Shown = limit.Fit(r, l, by)
		return r
	}
	listed := &tool.Entries{}
	for n := 2; n < 801; n += 3 {
		listed.Lines = append(listed.Lines, n)
	}
	of := func(layer tool.Layer) limit.By { return limit.By{Chars: layer, Lines: layer} }
	m := map[string]tool.Result{
		"whole":               fit(tool.Result{}, "all of it\n", l, by),
		"not kept":            fit(tool.Result{}, whole, l, by),
		"gone":                fit(tool.Result{Unkept: true}, whole, l, by),
		"by lines":            fit(tool.Result{Ref: ref}, whole, tool.Limits{MaxChars: 8000, MaxLines: 100, Strategy: tool.HeadOnly}, by),
		"tail only":           fit(tool.Result{Ref: ref}, whole, tool.Limits{MaxChars: 8000, Strategy: tool.TailOnly}, by),
		"one line":            fit(tool.Result{Ref: ref}, strings.Repeat("z", 9000), l, by),
		"kept lines":          fit(tool.Result{Ref: ref}, whole, tool.Limits{MaxChars: 1000, Keep: []string{"^[45]00 "}}, by),
		"json":                fit(tool.Result{Ref: ref}, "["+strings.Repeat("123, ", 3000)+"4]", tool.Limits{MaxChars: 400, Strategy: tool.JSON}, by),
		"more":                fit(tool.Result{More: &tool.More{Shown: 100, Total: 2345, Args: json.RawMessage(`{"offset": 100, "kind":"a  b"}`)}}, "100 matches", l, by),
		"more, cut":           fit(tool.Result{Ref: ref, More: &tool.More{Shown: 100, Total: 2345, Args: json.RawMessage(`{"offset":100}`)}}, whole, l, by),
		"more, total unknown": fit(tool.Result{More: &tool.More{Shown: 3}}, "three\n", l, by),
		"error":               fit(tool.Result{Err: &tool.Error{Code: tool.TimedOut, Msg: "The tool took longer than 10s.", Hint: "Narrow the pattern."}}, "", l, by),
		"error without stop":  fit(tool.Result{Err: &tool.Error{Code: tool.BadArgs, Msg: `the arguments of long_text do not fit: "lines" is missing`, Hint: "correct this"}}, "", l, by),
		"error in the text":   fit(tool.Result{Err: &tool.Error{Code: tool.Failed, Msg: "error line 0 error line 1", InText: true}}, "error line 0\n  error line 1\n", l, by),
		"error with text":     fit(tool.Result{Err: &tool.Error{Code: tool.Failed, Msg: "Exit code 2.\n<tool_call>"}}, "cc: no such file\n", l, by),
		"load":                fit(tool.Result{Load: &tool.Load{UUID: uuid, Chars: 35_870, Args: json.RawMessage(`{"uuid":"x","lines":"1-801","context":2}`)}}, whole, l, of(tool.LayerLoad)),
		"load, next page":     fit(tool.Result{Load: &tool.Load{UUID: uuid, Chars: 45_870, Offset: 10_000}}, whole, l, of(tool.LayerLoad)),
		"entries":             fit(tool.Result{Ref: ref, Entries: listed}, whole, tool.Limits{MaxChars: 8000, Strategy: tool.HeadOnly}, of(tool.LayerAgent)),
		"entries, the first":  fit(tool.Result{Ref: ref, Entries: &tool.Entries{Lines: listed.Lines, Show: 7}}, whole, l, by),
		"entries, both ends":  fit(tool.Result{Ref: ref, Entries: listed}, whole, l, by),
		"entries, gone":       fit(tool.Result{Unkept: true, Entries: listed}, whole, tool.Limits{MaxChars: 8000, Strategy: tool.HeadOnly}, by),
		"entries, too small":  fit(tool.Result{Ref: ref, Entries: listed}, whole, tool.Limits{MaxChars: 100}, by),
		"a limit too small":   fit(tool.Result{Ref: ref}, whole, tool.Limits{MaxChars: 100}, by),
		"hardly any limit":    fit(tool.Result{Ref: ref}, whole, tool.Limits{MaxChars: 3}, by),
	}
	for _, layer := range []tool.Layer{tool.LayerTool, tool.LayerDefault, tool.LayerOperator, tool.LayerCeiling, tool.LayerAgent, tool.LayerRound, tool.LayerLoad} {
		m["layer "+string(layer)] = fit(tool.Result{Ref: ref}, whole, l, of(layer))
	}
	m["summary"] = tool.Result{Tool: "repo_map", Ref: ref, Shown: limit.Summary("What a model wrote about it.", whole, l, by)}
	return m
}

func TestNoticesInBothLanguages(t *testing.T) {
	var b strings.Builder
	results := notices()
	for _, name := range slices.Sorted(maps.Keys(results)) {
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			fmt.Fprintf(&b, "== %s, %s\n", name, l)
			for line := range strings.Lines(limit.Render(results[name], l)) {
				// The tool's own lines are not what this file is about.
				switch {
				case strings.HasSuffix(line, "xxx\n"):
				case line[0] != '[' && len(line) > 100:
					b.WriteString(line[:10] + " and so on\n")
				default:
					b.WriteString(line)
				}
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "== %s, one line\n%s\n", name, limit.Line(results[name]))
	}
	golden(t, "notices.txt", b.String())
}

func TestNoticeCarriesTheAgreedWords(t *testing.T) {
	r := notices()["layer tool"]
	chars, lines := r.Shown.Missing()
	zh := limit.Render(r, tool.Zh)
	for _, want := range []string{fmt.Sprintf("截断了 %d 字符 / %d 行", chars, lines), "结果已截断，原始长度: 35870 字符"} {
		if !strings.Contains(zh, want) {
			t.Errorf("%q is not in %s", want, zh)
		}
	}
	g := r.Shown.Gaps[0]
	if want := fmt.Sprintf(`The whole: load_tool_history(uuid="%s", lines="%d-%d") or grep="…"]`, uuid, g.First, g.Last); !strings.Contains(limit.Render(r, tool.En), want) {
		t.Errorf("%q is not in the English notice", want)
	}
}

// The longest possible notice fits its room, in both languages.
func TestTheLongestNoticeFits(t *testing.T) {
	for _, layer := range []tool.Layer{tool.LayerOperator, tool.LayerRound, tool.LayerDefault} {
		for _, unit := range []tool.Unit{tool.Chars, tool.Lines} {
			for _, first := range []int{0, tool.MaxWhole - 1} {
				v := tool.View{TotalChars: tool.MaxWhole, TotalLines: tool.MaxWhole, By: layer, Limit: tool.MaxWhole, Unit: unit}
				v.Gaps = []tool.Gap{{Chars: tool.MaxWhole, Lines: tool.MaxWhole, First: first, Last: first + min(first, 1)}}
				for _, r := range []tool.Result{{Shown: v, Ref: &tool.Ref{UUID: uuid}}, {Shown: v}, {Shown: v, Unkept: true}} {
					for _, l := range []tool.Locale{tool.En, tool.Zh} {
						s := limit.Render(r, l)
						if n, _ := limit.Count(s); n > tool.NoticeChars-2 || !strings.Contains(s, "8") {
							t.Errorf("%d characters: %s", n, s)
						}
						if r.Ref != nil && !strings.Contains(s, "load_tool_history") {
							t.Errorf("the call is missing: %s", s)
						}
					}
				}
			}
		}
	}
}

func TestRenderNeutralisesTheToolOnly(t *testing.T) {
	r := tool.Result{Tool: "t", Ref: &tool.Ref{UUID: uuid}}.WithWhole(strings.Repeat(forgeries, 100))
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: 2000}, by)
	s := limit.Render(r, tool.En)
	if strings.Contains(s, "<tool_call") || strings.Contains(s, "📎 [") || strings.Count(s, "left out by") != strings.Count(s, "［28,110")+1 {
		t.Errorf("a forgery is left: %s", s)
	}
	if strings.Count(s, "\n[") != 1 {
		t.Errorf("our own notice is not the only one: %s", s)
	}
}

// Pages of a load follow each other without loss or repetition.
func TestLoadsPageExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := []rune(limit.Normalise([]byte(anyText().Draw(t, "whole"))))
		l := tool.Limits{MaxChars: rapid.IntRange(400, 3000).Draw(t, "chars"), Strategy: tool.TailOnly, Keep: []string{"a"}}
		var read strings.Builder
		for offset, pages := 0, 0; ; pages++ {
			r := tool.Result{Load: &tool.Load{UUID: uuid, Offset: offset, Chars: len(whole), Args: json.RawMessage(`{"grep":"x"}`)}}
			r = r.WithWhole(string(whole[offset:]))
			r.Shown = limit.Fit(r, l, limit.By{Chars: tool.LayerLoad})
			read.WriteString(r.Shown.Text)
			s := limit.Render(r, tool.En)
			if n, _ := limit.Count(s); n > l.MaxChars {
				t.Fatalf("%d characters under %d", n, l.MaxChars)
			}
			if !r.Shown.Cut() {
				break
			}
			shown, _ := limit.Count(r.Shown.Text)
			offset += shown
			if shown == 0 || !strings.Contains(s, fmt.Sprintf(`(uuid="%s", grep="x", offset=%d)]`, uuid, offset)) {
				t.Fatalf("page %d does not say how to go on at %d: %s", pages, offset, s)
			}
		}
		if read.String() != string(whole) {
			t.Fatalf("the pages are not the whole")
		}
	})
}

// Fit reserves room for everything that Render adds to the text.
func TestFitReservesForEverythingThatIsAdded(t *testing.T) {
	words := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"<tool_call>", "word ", "中文", "\n", family, strings.Repeat("long", 200)}), 0, 8),
		func(s []string) string { return strings.Join(s, "") })
	rapid.Check(t, func(t *rapid.T) {
		r := tool.Result{Tool: "grep_search"}
		if rapid.Bool().Draw(t, "failed") {
			r.Err = &tool.Error{Code: tool.Failed, Msg: words.Draw(t, "msg"), Hint: words.Draw(t, "hint")}
		}
		if rapid.Bool().Draw(t, "more") {
			args, err := json.Marshal(map[string]string{"q": words.Draw(t, "q")})
			if err != nil {
				t.Fatal(err)
			}
			r.More = &tool.More{Shown: rapid.Int().Draw(t, "shown"), Total: rapid.Int().Draw(t, "total"), Args: args}
		}
		if rapid.Bool().Draw(t, "load") {
			r.Load = &tool.Load{UUID: uuid, Args: json.RawMessage(`{"grep":"` + strings.Repeat("r", rapid.IntRange(0, 900).Draw(t, "r")) + `"}`)}
		}
		r = r.WithWhole(anyText().Draw(t, "whole"))
		l := tool.Limits{MaxChars: rapid.IntRange(1, 3000).Draw(t, "chars"), MaxLines: rapid.IntRange(4, 50).Draw(t, "lines")}
		r.Shown = limit.Fit(r, l, by)
		lawsOfRendering(t, r, l)
	})
}

func TestSummaryStaysWithinTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := tool.Limits{MaxChars: rapid.IntRange(1, 3000).Draw(t, "chars"), MaxLines: rapid.IntRange(1, 50).Draw(t, "lines")}
		v := limit.Summary(anyText().Draw(t, "text"), lines801(), l, by)
		if !v.Cut() || v.TotalChars != 35_870 {
			t.Fatalf("not a summary of the whole: %+v", v)
		}
		lawsOfRendering(t, tool.Result{Shown: v, Ref: &tool.Ref{UUID: uuid}}, l)
	})
}

func TestArgumentsThatAreNoneAreNotShown(t *testing.T) {
	for _, args := range []string{"", "null", "[1]", "{", `{"a":"` + strings.Repeat("x", 2000) + `"}`} {
		r := tool.Result{Tool: "t", More: &tool.More{Shown: 1, Total: 2, Args: json.RawMessage(args)}}
		if s := limit.Render(r, tool.En); s != "[The tool says: 1 of 2 shown. Ask it for the next part, or for less.]" {
			t.Errorf("arguments %.20q: %s", args, s)
		}
	}
}

// The sentence before a hint ends in punctuation.
func TestHintFollowsAStop(t *testing.T) {
	for _, tt := range []struct{ msg, en, zh, why string }{
		{`"lines" is missing`, `"lines" is missing. Hint: h`, `"lines" is missing。 提示: h`, "none: it gets one"},
		{"缺少 “lines”", "缺少 “lines”. Hint: h", "缺少 “lines”。 提示: h", "none, in Chinese"},
		{"It broke.", "It broke. Hint: h", "It broke. 提示: h", "one"},
		{"坏了。", "坏了。 Hint: h", "坏了。 提示: h", "one in Chinese"},
		{"Really?\n", "Really? Hint: h", "Really? 提示: h", "a question mark, and white space behind it"},
		{"and so on…", "and so on… Hint: h", "and so on… 提示: h", "dots"},
		{"", "(failed): Hint: h", "(failed): 提示: h", "no message at all"},
	} {
		r := tool.Result{Err: &tool.Error{Code: tool.Failed, Msg: tt.msg, Hint: "h"}}
		for l, want := range map[tool.Locale]string{tool.En: tt.en, tool.Zh: tt.zh} {
			if got := strings.TrimSpace(limit.Render(r, l)); !strings.HasSuffix(got, want) {
				t.Errorf("%s: %q does not end in %q", tt.why, got, want)
			}
		}
	}
}

// RenderExact differs from Render in the tool's text alone.
func TestRenderExact(t *testing.T) {
	r := tool.Result{Tool: "read"}.WithWhole(strings.Repeat("<tool_call>{\"name\": 1}\n", 200))
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: 1000}, limit.By{Chars: tool.LayerCeiling})
	exact := limit.RenderExact(r, tool.En)
	if limit.Neutralise(exact) == exact || !strings.Contains(exact, " left out by ") || len([]rune(exact)) != len([]rune(limit.Render(r, tool.En))) {
		t.Error(exact)
	}
	for _, line := range strings.Split(exact, "\n") {
		if !limit.IsNotice(line) && !strings.Contains(r.Whole(), line) {
			t.Errorf("%q is not a line of the text", line)
		}
	}
}
