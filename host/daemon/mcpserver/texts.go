package mcpserver

import (
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// texts are what clients, models and people read, in one language.
type texts struct {
	instructions string
	whole        string // of a link to the whole: tool, characters, lines
	missing      string // resource
	expired      string // resource
	broken       string // a call that could not be made
	full         string // sessions
	garbled      string // a message
	unreadable   string // the archive
	cursor       string // of a list
	address      string // of the server: parameter, values
	noTask       string
	noAnswer     string
	waits        string // a call for a person
	runs         string // a call

	kept, part, blob, server string // templates of resources

	answer, answers, once, always, deny, but string // of a form
}

func textsIn(l tool.Locale) texts {
	if l == tool.Zh {
		return textsZh
	}
	return textsEn
}

var (
	textsEn = texts{
		instructions: "Every tool here declares how much of its result it shows. What is left out is kept: the notice at the gap says how much is missing, " +
			"by which limit, and the exact call of load_tool_history that brings a part of it back (by lines, by a search expression, by a JSON pointer, from the beginning or the end). " +
			"search_tool_history finds words in everything that was kept. Load a part when it is needed, not the whole. " +
			"The argument \"@result:UUID\" hands a kept result to another tool without reading it. Kept results are also resources: weir://archive/UUID.",
		whole:    "the whole result of %s: %d characters, %d lines",
		missing:  "there is no archived result with that id, and no such server",
		expired:  "the archived result was pruned; call %s again",
		broken:   "the call could not be finished",
		full:     "too many sessions are open, each with a call in the last minute; close one, retry in 60 s, or raise max_user_sessions and max_sessions below [mcp] in tools.toml",
		garbled:  "the body is not a message of JSON-RPC 2.0; send one as JSON in UTF-8, with \"jsonrpc\": \"2.0\" and a method",
		noTask:   "there is no task with that id; newer ones may have displaced it",
		waits:    "waiting for a person's answer",
		runs:     "running",
		noAnswer: "a token that was made for a client answers no question about approvals; answer it on weir's page or with `weir approvals`",
		address:  "the parameter %s of the address is one of: %s",
		cursor:   "the cursor is not one that this server gave; list from the beginning",
		kept:     "The whole result of an earlier call.",
		part: "A part of an earlier result: lines=95-706, grep=expression with context=lines around each match, pointer=/json/path, " +
			"head=lines, tail=lines, offset=characters to leave out.",
		blob:       "An image or another blob of an earlier result, counted from 0.",
		server:     "What another server says of how its tools are used.",
		unreadable: "the archive cannot be read; the daemon's log says why",
		answer:     "May it run?", answers: "once: this call. always: see its label. deny: it does not run.",
		once: "Yes, this once", always: "Yes, always: ", deny: "No", but: "But not %d: %s",
	}
	textsZh = texts{
		instructions: "这里的每个工具都声明了自己最多显示多少结果。省略的部分都有存档：缺口处的提示说明省略了多少、依据哪条限制，" +
			"以及取回其中一部分的 load_tool_history 调用（按行号、按正则搜索、按 JSON pointer、取开头或末尾）。" +
			"search_tool_history 可在全部存档中搜索关键词。只加载需要的部分，不要整体加载。" +
			"参数写成 \"@result:UUID\" 可把存档结果直接交给另一个工具而无需读取。存档结果也可作为资源读取：weir://archive/UUID。",
		whole:    "%s 的完整结果：%d 字符，%d 行",
		missing:  "没有该编号的存档结果，也没有这样的服务器",
		expired:  "该存档结果已被清理；请重新调用 %s",
		broken:   "调用未能完成",
		full:     "打开的会话过多，且每个在最近一分钟内都有调用；请关闭一个，或 60 秒后重试，或调高 tools.toml 中 [mcp] 下的 max_user_sessions 和 max_sessions",
		garbled:  "正文不是 JSON-RPC 2.0 消息；请以 UTF-8 编码的 JSON 发送一条，须有 \"jsonrpc\": \"2.0\" 和 method",
		noTask:   "没有该编号的任务；它可能已被更新的任务取代",
		waits:    "正在等待人的答复",
		runs:     "正在运行",
		noAnswer: "为客户端创建的令牌不能回答审批问题；请在 weir 的页面上或用 `weir approvals` 回答",
		address:  "地址中的参数 %s 只能取以下值之一：%s",
		cursor:   "该游标不是本服务器给出的；请从头列出",
		kept:     "先前某次调用的完整结果。",
		part: "先前某个结果的一部分：lines=95-706，grep=正则表达式（可加 context=每处匹配前后的行数），pointer=/json/路径，" +
			"head=行数，tail=行数，offset=略过的字符数。",
		blob:       "先前某个结果中的图像或其他二进制部分，从 0 开始编号。",
		server:     "另一个服务器对其工具用法的说明。",
		unreadable: "无法读取存档；原因见守护进程的日志",
		answer:     "是否允许运行？", answers: "once：仅此一次。always：见其标签。deny：不运行。",
		once: "允许这一次", always: "始终允许：", deny: "拒绝", but: "但不包括 %d：%s",
	}
)

func isKind(mime, kind string) bool { return strings.HasPrefix(strings.ToLower(mime), kind+"/") }
