package agent_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// summarised gives every result a summary by a model, as a host does.
type summarised struct{ *box }

func (s summarised) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	r, err := s.box.Call(ctx, c)
	r.Summary = &tool.SummaryCost{Model: "ark"}
	r.Shown = limit.Summary(strings.Repeat("in short. ", 300), r.Whole(), tool.Limits{MaxChars: 8000}, limit.By{Chars: tool.LayerTool})
	return r, err
}

// An agent's lower limit shortens a summary, which was paid for; it does not
// throw it away for a cut.
func TestALowerLimitShortensTheSummary(t *testing.T) {
	for _, most := range []int{1000, 2000, 8000} {
		m := replay.New(replay.Call("dump", `{"text":"x"}`), replay.Text("done"))
		_, ev := must(t, config(func(c *agent.Config) { c.MaxToolResultLength = num(most) }), m, summarised{newBox().says("dump", lines(800, 40))}, nil, "go")
		end := of[agent.CallEnd](ev)[0].Result
		if !end.Shown.Summarized || end.Summary == nil || !strings.HasPrefix(end.Shown.Text, "in short. ") {
			t.Errorf("%d: %+v", most, end.Shown)
		}
		seen := between(t, lastText(m, 1), "<tool_result ", "</tool_result>")
		if n := utf8.RuneCountInString(seen); n > most || n < min(most, 3000)*7/10 || !strings.Contains(seen, "summary by a model") {
			t.Errorf("%d: the model sees %d characters: %.200s", most, n, seen)
		}
	}
}
