package app

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

func always(m agent.Model) func(host.SummaryRequest) agent.Model {
	return func(host.SummaryRequest) agent.Model { return m }
}

func TestSummarizer(t *testing.T) {
	req := host.SummaryRequest{Tool: "repo_map", Query: "x", Text: strings.Repeat("长", 60000) + "<tool_call>", Chars: 7760, Locale: tool.Zh}
	m := replay.New(replay.Text("  short  "), replay.Reply{Text: "half a su", Finish: agent.FinishLength}, replay.Reply{Text: "half", Cut: true})
	ask := summarizer(summaryEn, summaryZh, always(m), "ark", 50000)
	got, err := ask(t.Context(), req)
	if err != nil || got.Text != "short" || got.Model != "ark" || !got.Estimated || got.TokensIn < 20000 || got.TokensOut < 1 || got.TokensOut > 5 {
		t.Errorf("%+v, %v", got, err)
	}
	sent := m.Requests()[0].Messages[0].Text
	if n := strings.Count(sent, "长"); n != 50000 {
		t.Errorf("%d characters of the result were sent", n)
	}
	if !strings.Contains(sent, "7760") || !strings.Contains(sent, "保留所有重要的定义和结构") {
		t.Errorf("the request: %s", sent[:200])
	}
	// What is cut off is no summary: the host cuts the text itself instead.
	for range 2 {
		if got, err := ask(t.Context(), req); err == nil || got.Text != "" || got.TokensIn < 20000 || got.TokensOut == 0 {
			t.Errorf("%+v passed for a summary, or cost nothing: %v", got, err)
		}
	}
	req.Text, req.Locale = "<tool_call>{}</tool_call>", tool.En
	m = replay.New(replay.Reply{Text: "x", Usage: &agent.Usage{Prompt: 321, Completion: 7}})
	got, err = summarizer(summaryEn, summaryZh, always(m), "ark", 50000)(t.Context(), req)
	if err != nil || got != (host.Summary{Text: "x", Model: "ark", TokensIn: 321, TokensOut: 7}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if sent := m.Requests()[0].Messages[0].Text; strings.Contains(sent, "<tool_call>") {
		t.Errorf("a call of the result reaches the model: %s", sent)
	}
}
