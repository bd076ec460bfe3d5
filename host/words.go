package host

import (
	"fmt"

	"github.com/weirhost/weir/sdk/tool"
)

// A wording holds what a model reads from the host itself, in one language.
type wording struct {
	locale tool.Locale

	unknown, hintNear, hintNone                         string
	misfit, hintArgs, hintTakes, hintTakesNone          string
	writeBack, hintWriteBack                            string
	rate, hintRate, busy                                string
	empty, hintEmpty, hintAuthor, tooLarge, hintSmaller string
	broken, gone, hintOperator                          string
	timedOut, cancelled                                 string

	unreadable string
}

// failure makes an Error in this wording.
func (w wording) failure(code tool.Code, msg, hint string, args ...any) *tool.Error {
	if len(args) > 0 {
		msg = fmt.Sprintf(msg, args...)
	}
	return &tool.Error{Code: code, Msg: msg, Hint: hint}
}

// in returns the wording of a language; every other one is English.
func in(l tool.Locale) wording {
	if l == tool.Zh {
		return chinese
	}
	return english
}

var english = wording{
	locale:        tool.En,
	unknown:       "there is no tool named %q",
	hintNear:      "perhaps one of these is meant: %s",
	hintNone:      "use only the tools that are listed",
	misfit:        "the arguments of %s do not fit: %s",
	hintArgs:      "correct this and call the tool again; an example that fits: %s",
	hintTakes:     "correct this and call the tool again; it takes: %s",
	hintTakesNone: "call it with {}; it takes no arguments",
	writeBack:     "the arguments of %s hold a placeholder or a notice in place of the text it stands for",
	hintWriteBack: `load the whole first with load_tool_history, or pass it on as "@result:<uuid>"; write no notice into anything`,
	rate:          "%s may be called %d times a minute and has been",
	hintRate:      "wait %d seconds, or go on without it",
	busy:          "too many tools are running",
	empty:         "%s gave an empty answer",
	hintEmpty:     "try other arguments",
	hintAuthor:    "use another tool; the plugin's author has to mend this",
	tooLarge:      "%s produced more than %s of text",
	hintSmaller:   "ask for less at once",
	broken:        "the plugin of %s cannot be used: %s",
	gone:          "the plugin of %s cannot be read at the moment",
	hintOperator:  "use another tool; the operator has to look after this one",

	unreadable: "the archive cannot be read",
}

var chinese = wording{
	locale:        tool.Zh,
	unknown:       "没有名为 %q 的工具",
	hintNear:      "也许是指：%s",
	hintNone:      "只能使用列出的工具",
	misfit:        "%s 的参数不符合要求：%s",
	hintArgs:      "请改正后再次调用；正确的示例：%s",
	hintTakes:     "请改正后再次调用；可用参数：%s",
	hintTakesNone: "请用 {} 调用；它不需要参数",
	writeBack:     "%s 的参数里是占位符或截断提示，而不是原文",
	hintWriteBack: `请先用 load_tool_history 加载全文，或以 "@result:<uuid>" 传递；不要把提示写入任何内容`,
	rate:          "%s 每分钟最多调用 %d 次，已达上限",
	hintRate:      "请等待 %d 秒，或不使用它继续",
	busy:          "正在运行的工具过多",
	empty:         "%s 返回了空结果",
	hintEmpty:     "请换用其他参数",
	hintAuthor:    "请使用其他工具；此问题需由插件作者修复",
	tooLarge:      "%s 产生的文本超过 %s",
	hintSmaller:   "请一次请求更少的内容",
	broken:        "%s 的插件无法使用",
	gone:          "%s 的插件暂时无法读取",
	hintOperator:  "请使用其他工具；此问题需由管理员处理",
	timedOut:      "%s 未能在规定的时间内完成",
	cancelled:     "对 %s 的调用已取消",

	unreadable: "存档无法读取",
}
