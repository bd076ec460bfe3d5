package limit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A tool's claim of what is shown is true whatever a limit leaves out: with a number of
// lines exactly those are shown, and where less is shown the claim says so.
func TestClaimIsTrueOfWhatIsShown(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "item %d of a list of many\n", i+1)
	}
	r := tool.Result{Tool: "list", More: &tool.More{Shown: 40, Total: 900, Args: json.RawMessage(`{"offset":40}`), Lines: 40}}.WithWhole(b.String())
	r.Ref = &tool.Ref{UUID: "0198f2a7-6b1c-7d3e-9f40-a7k2b3c4d5e6", Chars: b.Len(), Lines: 300}
	for _, tt := range []struct {
		name  string
		chars int
		lines int // of the tool's claim; 0: of the whole text
		want  map[tool.Locale]string
		last  int // the last item shown; 0: any
	}{
		{"its lines are shown, and no more", 8000, 40, map[tool.Locale]string{tool.En: "[The tool says: 40 of 900 shown. To go on: list(…, offset=40)]", tool.Zh: "[工具说明: 已显示 40 项，共 900 项。继续: list(…, offset=40)]"}, 40},
		{"a lower limit leaves out some of them", 1000, 40, map[tool.Locale]string{tool.En: "has 40 of 900, and a part of that is left out here. After the whole: list(…, offset=40)]", tool.Zh: "完整结果含 40 项，共 900 项，此处省略了其中一部分。读完整结果之后: list(…, offset=40)]"}, 0},
		{"the text is cut", 8000, 0, map[tool.Locale]string{tool.En: "a part of that is left out here"}, 0},
	} {
		r := r
		more := *r.More
		more.Lines = tt.lines
		r.More = &more
		r.Shown = limit.Fit(r, tool.Limits{MaxChars: tt.chars, MaxLines: 200, Strategy: tool.HeadTail}, limit.By{Chars: tool.LayerAgent, Lines: tool.LayerDefault})
		for l, want := range tt.want {
			got := limit.Render(r, l)
			if !strings.Contains(got, want) || strings.Contains(got, "shown.") != strings.Contains(want, "shown.") {
				t.Errorf("%s: %s", tt.name, got[max(0, len(got)-500):])
			}
			if tt.last > 0 && (!strings.Contains(got, fmt.Sprintf("item %d of", tt.last)) || strings.Contains(got, fmt.Sprintf("item %d of", tt.last+1))) {
				t.Errorf("%s: not exactly %d items: %s", tt.name, tt.last, got)
			}
			if n, lines := limit.Count(got); n > tt.chars || lines > 200 {
				t.Errorf("%s: %d characters, %d lines", tt.name, n, lines)
			}
		}
	}
}
