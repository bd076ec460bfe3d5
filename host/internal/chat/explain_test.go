package chat

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// The reason of a limit is in the reader's language, though the trace keeps it in English.
func TestExplainTranslatesTheReason(t *testing.T) {
	p := &term.Printer{Language: func() tool.Locale { return tool.Zh }}
	number := func(n int) *int { return &n }
	for _, tt := range []struct {
		configured *int
		window     int
		want       string
	}{
		{nil, 32768, "依据: 模型窗口为 32768 个词元"},
		{nil, 0, "依据: 模型窗口未知"},
		{number(0), 8192, "依据: max_tool_result_length = 0 表示默认值"},
		{number(7), 0, "依据: max_tool_result_length = 7 低于最小值 1000"},
	} {
		chars, why := limit.Agent(tt.configured, tt.window)
		if got := ExplainText(p, api.Trace{Limit: chars, Window: tt.window, Why: why.String()}); !strings.Contains(got, tt.want) {
			t.Errorf("%q is not in %s", tt.want, got)
		}
	}
	if got := ExplainText(p, api.Trace{Limit: 1, Why: "another reason"}); !strings.Contains(got, "another reason") {
		t.Error(got)
	}
}
