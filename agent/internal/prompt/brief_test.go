package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// A prompt has the beginning of a long text, says that there is more, and offers the tool
// that has it; describe_tool tells all of it, with its lines.
func TestLongDescriptions(t *testing.T) {
	long := strings.Repeat("Use it with care.\n- 一\n", 200)
	quoted, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	spec := tool.Spec{Name: "x", Description: long, Params: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":` + string(quoted) + `},"b":{"type":"string","default":"\"description\":\"x"}}}`)}
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		sign := For(l).shortened
		text := promptFor(l, false, []tool.Spec{spec}, -1)
		if n := strings.Count(text.Text, sign); n != 2 || !text.Describes || !strings.Contains(text.Text, WholeMark(DescribeTool)) {
			t.Errorf("%s: %d signs, describes %v", l, n, text.Describes)
		}
		if native := promptFor(l, true, []tool.Spec{spec}, -1); !native.Describes {
			t.Errorf("%s: describe_tool is not declared", l)
		}
		given := new(Cache).Of([]tool.Spec{spec}).Native(l).Tools[0]
		var params struct {
			Properties map[string]struct{ Description, Default string }
		}
		if err := json.Unmarshal(given.Params, &params); err != nil {
			t.Fatal(err)
		}
		for _, about := range []string{given.Description, params.Properties["a"].Description} {
			if len(about) > maxAbout || !strings.HasSuffix(about, sign) || !strings.HasPrefix(about, "Use it with care.") {
				t.Errorf("%s: %d bytes, %.40q", l, len(about), about)
			}
		}
		if params.Properties["b"].Default != `"description":"x` {
			t.Errorf("the default is %q", params.Properties["b"].Default)
		}
		whole := Describe(tool.Call{Args: json.RawMessage(`{"name":"x"}`)}, []tool.Spec{spec}, l).Shown.Text
		if strings.Count(whole, strings.TrimSpace(long)) != 2 || strings.Contains(whole, sign) {
			t.Errorf("%s: describe_tool tells %.200q", l, whole)
		}
	}
	if short := promptFor(tool.En, true, []tool.Spec{{Name: "x", Description: "short"}}, -1); short.Describes {
		t.Error("describe_tool is declared for nothing")
	}
}
