package limit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A tool's claim of what is in its text is true whatever a limit leaves out: where less is
// shown, the claim says so.
func TestClaimIsTrueOfWhatIsShown(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "item %d of a list of many\n", i+1)
	}
	r := tool.Result{Tool: "list", More: &tool.More{Shown: 300, Total: 900, Args: json.RawMessage(`{"offset":300}`)}}.WithWhole(b.String())
	r.Ref = &tool.Ref{UUID: "0198f2a7-6b1c-7d3e-9f40-a7k2b3c4d5e6", Chars: b.Len(), Lines: 300}
	for _, tt := range []struct {
		name  string
		chars int
		want  map[tool.Locale]string
	}{
		{"all of it is shown", 9000, map[tool.Locale]string{tool.En: "[The tool says: 300 of 900 shown. To go on: list(…, offset=300)]", tool.Zh: "[工具说明: 已显示 300 项，共 900 项。继续: list(…, offset=300)]"}},
		{"a part is left out", 1000, map[tool.Locale]string{tool.En: "has 300 of 900, and a part of that is left out here. After the whole: list(…, offset=300)]", tool.Zh: "完整结果含 300 项，共 900 项，此处省略了其中一部分。读完整结果之后: list(…, offset=300)]"}},
	} {
		r.Shown = limit.Fit(r, tool.Limits{MaxChars: tt.chars, MaxLines: 400, Strategy: tool.HeadTail}, limit.By{Chars: tool.LayerAgent, Lines: tool.LayerDefault})
		for l, want := range tt.want {
			got := limit.Render(r, l)
			if !strings.Contains(got, want) || strings.Contains(got, "shown.") != strings.Contains(want, "shown.") {
				t.Errorf("%s: %s", tt.name, got[max(0, len(got)-500):])
			}
			if n, lines := limit.Count(got); n > tt.chars || lines > 400 {
				t.Errorf("%s: %d characters, %d lines", tt.name, n, lines)
			}
		}
	}
}
