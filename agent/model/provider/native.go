package provider

import (
	"context"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// Native finds out by one tiny question with a tool whether m's own tool calling works, and
// by a second one if the first was answered in words. known is false when nothing was
// learnt: the question could not be asked, or the reply was no answer. A provider that
// refuses the tools has answered.
func Native(ctx context.Context, m agent.Model, l tool.Locale) (works, known bool) {
	for range 2 {
		t := tester{TestOptions: TestOptions{Locale: l}, model: m}
		known = t.tools(ctx)
		switch works = t.NativeTools != nil && *t.NativeTools; {
		case works:
			return true, true
		case refusesTools(t.Steps[0]):
			return false, true
		case !known:
			return false, false
		}
	}
	return false, known
}

// refusesTools reports whether a step failed because the provider takes no tools.
func refusesTools(s Step) bool {
	said := strings.ToLower(s.Msg.String())
	return s.Code == agent.ModelBadRequest && (strings.Contains(said, "tool") || strings.Contains(said, "function"))
}
