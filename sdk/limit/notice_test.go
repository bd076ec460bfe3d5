package limit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// What Render writes is recognised, in both languages and under every limit.
func TestNoticesAreRecognised(t *testing.T) {
	whole := strings.Repeat("a line of a log\n", 2000)
	ref := &tool.Ref{UUID: "7c1d", CreatedAt: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	by := limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool}
	again := *ref
	again.Again = true
	cut := tool.Result{Ref: ref}.WithWhole(whole)
	cut.Shown = limit.Fit(cut, tool.Limits{MaxChars: 3000}, by)
	same := tool.Result{Ref: &again}.WithWhole("short")
	load := tool.Result{Load: &tool.Load{UUID: "7c1d", Chars: len(whole)}}.WithWhole(whole)
	load.Shown = limit.Fit(load, tool.Limits{MaxChars: 2000, Strategy: tool.HeadOnly}, by)
	summary := tool.Result{Ref: ref}.WithWhole(whole)
	summary.Shown = limit.Summary("In short.", whole, tool.Limits{MaxChars: 2000}, by)
	for name, r := range map[string]tool.Result{"cut": cut, "the same again": same, "a load": load, "a summary": summary} {
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			text := limit.Render(r, l)
			if !limit.HasMark(text) {
				t.Errorf("%s, %s: no mark in %s", name, l, text[:min(len(text), 200)])
			}
			found := 0
			for line := range strings.Lines(text) {
				if limit.IsNotice(strings.TrimSpace(line)) {
					found++
				}
			}
			if found == 0 {
				t.Errorf("%s, %s: no notice in %s", name, l, text[max(0, len(text)-400):])
			}
			if limit.HasMark(limit.Neutralise(text)) {
				t.Errorf("%s, %s: a neutralised text has a mark", name, l)
			}
		}
	}
}

// A line of signs may be as long as the text: with the square of it, these would take
// hours. The signs of a fence are replaced but for two, which are none.
func TestNeutraliseReadsAFenceOnce(t *testing.T) {
	for _, sign := range []string{"~", "`", "[", "<", "\n", "📎", "~`"} {
		if text := strings.Repeat(sign, 1<<20); limit.Neutralise(text) != text {
			t.Errorf("many of %q are changed", sign)
		}
	}
	for sign, alike := range map[string]string{"~": "～", "`": "｀"} {
		got := limit.Neutralise(strings.Repeat(sign, 1<<20) + "tool_call")
		if want := strings.Repeat(alike, 1<<20-2) + sign + sign + "tool_call"; got != want {
			t.Errorf("a long fence of %s is not replaced: %.60q", sign, got)
		}
	}
}

// The time of a search for marks is linear in the text. With the square of it, this text
// would take an hour.
func TestMarksOfManyBrackets(t *testing.T) {
	if limit.HasMark(strings.Repeat("[", 2<<20)) || limit.HasMark(strings.Repeat("[ ", 1<<20)) {
		t.Error("a bracket is a mark")
	}
}

func TestMarks(t *testing.T) {
	for text, want := range map[string]bool{
		"📎 [Tool result archived: 7c1d]": true, "[ tool result archived : x": true, "📎 [工具结果存档： x]": true,
		"[28,110 of 35,870 characters (3 of 9 lines) left out by the tool's limit]": true,
		"[characters 1 to 2,000 of 52,000. To go on: …]":                            true,
		"[截断了 5 字符（工具上限 4）]":                                                        true, "[结果已截断 5 字符]": true, "[第 1 至 2 字符，共 9 字符。]": true,
		"[Identical to the result of 2026]": true, "text [a summary by a model of 5]": true,
		"[5 of 9 lines]": false, "[3 of 4 characters]": false, "[x]": false, "a[0] of [1]": false, "": false, "[": false, "[截断了]": false, "[tool result archived]": false,
	} {
		if got := limit.HasMark(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
