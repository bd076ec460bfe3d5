package provider

import (
	"context"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// Native finds out by one tiny question with a tool whether m's own tool
// calling works. known is false when the question could not be asked: then
// nothing was learnt. A provider that refuses the tools has answered.
func Native(ctx context.Context, m agent.Model, l tool.Locale) (works, known bool) {
	t := tester{TestOptions: TestOptions{Locale: l}, model: m}
	replied := t.tools(ctx)
	code := t.Steps[0].Code
	refused := code == agent.ModelBadRequest || code == agent.ModelGarbage
	return t.NativeTools != nil && *t.NativeTools, replied || refused
}
