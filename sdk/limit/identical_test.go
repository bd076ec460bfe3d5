package limit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func again(whole string) tool.Result {
	r := tool.Result{Tool: "grep", Ref: &tool.Ref{
		UUID: "0198c2f4-6c1e-7d3a-9b52-1f0a4e8d7c66", CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Again: true,
	}}
	return r.WithWhole(whole)
}

// The reference to the earlier result comes before the text and within the
// limit, whatever other lines there are.
func TestIdenticalResultIsNamed(t *testing.T) {
	long := strings.Repeat("one line of text\n", 900)
	for _, row := range []struct {
		whole string
		more  *tool.More
		err   *tool.Error
		cut   bool
		why   string
	}{
		{"short", nil, nil, false, "shown as usual"},
		{long, nil, nil, true, "cut as usual"},
		{strings.Repeat("x", 2980), nil, nil, true, "the line takes the room of the last characters"},
		{long, &tool.More{Shown: 5, Total: 9}, nil, true, "beside a claim"},
		{"part", nil, tool.Errorf(tool.Failed, "try less", "it broke off"), false, "behind an error"},
	} {
		r := again(row.whole)
		r.More, r.Err = row.more, row.err
		r.Shown = limit.Fit(r, tool.Limits{MaxChars: 3000, MaxLines: 500}, limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool})
		for l, line := range map[tool.Locale]string{
			tool.En: "[Identical to the result of 2026-01-02 03:04:05 (uuid 0198c2f4-6c1e-7d3a-9b52-1f0a4e8d7c66)]\n",
			tool.Zh: "[结果相同: 与 2026-01-02 03:04:05 的结果一致（uuid 0198c2f4-6c1e-7d3a-9b52-1f0a4e8d7c66）]\n",
		} {
			text := limit.Render(r, l)
			chars, lines := limit.Count(text)
			if i := strings.Index(text, line); i < 0 || i > 0 && row.err == nil {
				t.Errorf("%s: %s is at %d in %.200q", row.why, l, i, text)
			}
			if r.Shown.Cut() != row.cut || chars > 3000 || lines > 500 {
				t.Errorf("%s: cut %v, %d characters, %d lines", row.why, r.Shown.Cut(), chars, lines)
			}
		}
	}
}

func TestRepeatIsOneLine(t *testing.T) {
	r := again(strings.Repeat("one line of text\n", 900))
	r.Repeat, r.Shown = true, tool.View{TotalChars: 15300, TotalLines: 900}
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		text := limit.Render(r, l)
		if chars, lines := limit.Count(text); lines != 1 || chars > tool.NoticeChars || !strings.Contains(text, `load_tool_history(uuid="0198c2f4-6c1e-7d3a-9b52-1f0a4e8d7c66")`) {
			t.Errorf("%s: %d lines, %d characters: %s", l, lines, chars, text)
		}
		if got := limit.Neutralise(text); got == text {
			t.Errorf("a tool could forge %s", text)
		}
	}
	if got := limit.Line(r); !strings.Contains(got, "15,300 → 0 characters (identical") {
		t.Errorf("the log's line: %s", got)
	}
}

func TestLineOfALostResult(t *testing.T) {
	r := again(strings.Repeat("one line of text\n", 900))
	r.Ref, r.Unkept = nil, true
	if got := limit.Line(r); !strings.HasSuffix(got, "✗ not kept") {
		t.Errorf("a lost result looks archived: %s", got)
	}
}
