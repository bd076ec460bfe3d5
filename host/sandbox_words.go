package host

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// localise returns a failure of the sandbox in the language of the wording. What a
// guest says itself stays in the guest's words.
func (w wording) localise(e *tool.Error, b *bound) *tool.Error {
	if w.locale != tool.Zh {
		return e
	}
	if msg.Format(tool.Zh, e.MsgText.Format) != e.MsgText.Format {
		return msg.ToolError(tool.Zh, e)
	}
	name := b.info.Spec.Name
	switch e.Code {
	case tool.TimedOut:
		return w.failure(e.Code, w.timedOut, w.hintSmaller, name)
	case tool.Cancelled:
		return w.failure(e.Code, w.cancelled, "", name)
	case tool.Failed:
		for _, f := range serverFailures() {
			if m := f.english.FindStringSubmatch(e.Msg); m != nil {
				return &tool.Error{Code: e.Code, Msg: fmt.Sprintf(f.chinese, name, m[len(m)-1]), Hint: f.hint}
			}
		}
	}
	return e // it is what the guest says
}

// A serverFailure is what is said of a call of another server's tool. %[1]s is the tool.
type serverFailure struct {
	english       *regexp.Regexp
	chinese, hint string
}

var serverFailures = sync.OnceValue(func() []serverFailure {
	return []serverFailure{
		{regexp.MustCompile(`^the MCP server (\S+) cannot be reached: `), "%[1]s 所在的 MCP 服务器 %[2]s 无法连接", "请使用其他工具，或稍后再试"},
		{regexp.MustCompile(`^the answer of the MCP server (\S+) cannot be used$`), "MCP 服务器 %[2]s 对 %[1]s 的回答无法使用", "请换用其他参数，或使用其他工具"},
		{regexp.MustCompile(`^the call came to nothing$`), "对 %[1]s 的调用没有结果", "请再次调用"},
	}
})

// brokenPlugin says why a plugin cannot be used where the reason, which is in
// English, can be read.
func (w wording) brokenPlugin(name string, err error) *tool.Error {
	if w.locale == tool.Zh {
		return w.failure(tool.Failed, w.broken, w.hintOperator, name)
	}
	return w.failure(tool.Failed, w.broken, w.hintOperator, name, err)
}
