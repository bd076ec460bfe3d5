package host

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// localise words a failure of the sandbox, which speaks English, in Chinese.
// What a guest says itself stays in the guest's words.
func (w wording) localise(e *tool.Error, b *bound) *tool.Error {
	if w.locale != tool.Zh {
		return e
	}
	name := b.info.Spec.Name
	said, own := guestWords(e.Msg)
	switch e.Code {
	case tool.TimedOut:
		return w.failure(e.Code, w.timedOut, w.hintSmaller, name)
	case tool.OutOfMemory:
		return w.failure(e.Code, w.outOfMemory, w.hintSmaller, name)
	case tool.TooLarge:
		if strings.HasPrefix(e.Msg, "the arguments take ") {
			return w.failure(e.Code, w.argsTooLarge, w.hintLessText, name)
		}
		return w.failure(e.Code, w.tooLarge, w.hintSmaller, name, tool.Bytes(tool.MaxWhole))
	case tool.Trapped:
		return w.failure(e.Code, w.trapped+own, w.hintAuthor, name)
	case tool.Cancelled:
		return w.failure(e.Code, w.cancelled, "", name)
	case tool.Failed:
		for _, f := range sandboxFailures() {
			if m := f.english.FindStringSubmatch(said); m != nil {
				return &tool.Error{Code: e.Code, Msg: fmt.Sprintf(f.chinese, name, m[len(m)-1]) + own, Hint: f.hint}
			}
		}
	}
	return e // it is what the guest says
}

// guestWords takes a guest's own words off the end of a sentence, and puts
// Chinese ones in front of them.
func guestWords(msg string) (sentence, words string) {
	for _, mark := range []struct{ english, chinese string }{{"; it printed: ", "；它输出了："}, {"; it said: ", "；它报告："}} {
		if sentence, words, ok := strings.Cut(msg, mark.english); ok {
			return sentence, mark.chinese + words
		}
	}
	return msg, ""
}

// A sandboxFailure is what the sandbox says of a tool that failed without words:
// the code is that of a tool that tells why. %[1]s is the tool.
type sandboxFailure struct {
	english       *regexp.Regexp
	chinese, hint string
}

var sandboxFailures = sync.OnceValue(func() []sandboxFailure {
	return []sandboxFailure{
		{regexp.MustCompile(`^\w+ reported failure (-?\d+) without saying why$`), "%[1]s 报告失败（代码 %[2]s），但没有说明原因", "请换用其他参数；若再次失败，请使用其他工具"},
		{regexp.MustCompile(`^\w+ reported an error without a text$`), "%[1]s 报告失败，但没有说明原因", "请换用其他参数；若再次失败，请使用其他工具"},
		{regexp.MustCompile(`^\w+ ended with exit code (-?\d+) instead of returning an answer$`), "%[1]s 以退出码 %[2]s 结束，没有返回结果", "请使用其他工具；此问题需由插件作者修复"},
		{regexp.MustCompile(`^\w+ cannot start: `), "%[1]s 无法启动", "请使用其他工具；此问题需由管理员或插件作者处理"},
		{regexp.MustCompile(`^plugin \S+: `), "%[1]s 的插件与其清单不符", "请使用其他工具；此问题需由插件作者修复"},
		{regexp.MustCompile(`^\w+ was ended: `), "%[1]s 已被终止：其进程违反了与宿主通信的规则", "请使用其他工具；此问题需由插件作者修复"},
		{regexp.MustCompile(`^\w+ was ended from outside while it ran$`), "%[1]s 运行时被外部终止", "请再次调用；若再次发生，请一次请求更少的内容"},
		{regexp.MustCompile(`^the plugin \S+ is being replaced$`), "%[1]s 的插件正在更换", "请再次调用"},
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
