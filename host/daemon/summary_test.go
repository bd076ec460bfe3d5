package daemon

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// The event of a result tells that it is a summary, and what it cost; of one
// that fell back, what the attempt cost; of any other, nothing.
func TestSummaryCostIsTold(t *testing.T) {
	cost := &tool.SummaryCost{Model: "ark", TokensIn: 2500, TokensOut: 40, Millis: 1500}
	told := `"summary_cost":{"model":"ark","tokens_in":2500,"tokens_out":40,"milliseconds":1500}`
	for _, row := range []struct {
		result tool.Result
		has    []string
		hasNot []string
		why    string
	}{
		{tool.Result{Tool: "a", Summary: cost, Shown: tool.View{Text: "short", TotalChars: 30000, Summarized: true}}, []string{`"summarized":true`, told}, nil, "a summary"},
		{tool.Result{Tool: "a", Summary: cost, Shown: tool.View{Text: "cut", TotalChars: 30000}}, []string{told}, []string{"summarized"}, "a fallback"},
		{tool.Result{Tool: "a", Shown: tool.View{Text: "whole", TotalChars: 5}}, nil, []string{"summar"}, "any other"},
	} {
		text, err := json.Marshal(api.ResultOf(row.result, 5, tool.En))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range row.has {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s: %s", row.why, want, text)
			}
		}
		for _, not := range row.hasNot {
			if strings.Contains(string(text), not) {
				t.Errorf("%s has %s: %s", row.why, not, text)
			}
		}
	}
}
