package offer

import (
	"encoding/json"

	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// about is what run_script says of itself.
const about = "Runs a script in JavaScript or TypeScript that calls tools, and returns what the script returns. " +
	"Use it where a question needs many calls, or the result of one tool as an argument of another: you read only what it returns, and every result stays whole in the archive. " +
	"const r = await tools.NAME({…}) gives a reference: await r.text(), await r.json(), await r.table() (rows of CSV or JSON), await r.part({lines: \"10-20\", grep: \"…\", pointer: \"/a/0\", head: 5, tail: 5}), r.chars, r.lines, r.uuid. " +
	"`${r}` is the text of up to 4,000 characters; r as an argument of a tool is its whole text. " +
	"await Promise.all([…]) makes calls at the same time. A call that fails throws an error with code, message and hint. " +
	"The answer is what you return, and text(value); console.log(…) is for notes; store(key, value) and load(key) keep values; exit() ends. " +
	"await tools.find(query) finds tools, await tools.describe(name) describes one, ALL_TOOLS has the names. There are no files, no network and no imports. " +
	"For one or two calls, call the tools themselves."

// aboutZh is the same in Chinese. It is not in the catalogue of package msg, which a host
// would read whole for it at its start.
const aboutZh = "运行调用工具的 JavaScript 或 TypeScript 脚本。需要许多次调用，或一个工具的结果是另一个的参数时使用：你只读到脚本返回的内容，每个结果都完整存档。 " +
	"const r = await tools.NAME({…}) 得到一个引用：await r.text()、await r.json()、await r.table()（CSV 或 JSON 的行）、await r.part({lines: \"10-20\", grep: \"…\", pointer: \"/a/0\", head: 5, tail: 5})、r.chars、r.lines、r.uuid。 " +
	"`${r}` 是不超过 4,000 个字符的文本；把 r 作为工具的参数，就是它的全文。 " +
	"await Promise.all([…]) 同时调用。失败的调用抛出错误，带有 code、message 和 hint。 " +
	"答案是 return 的值和 text(value)；store(key, value)、load(key) 保存值；exit() 结束。 " +
	"await tools.find(query) 查找，await tools.describe(name) 查看，ALL_TOOLS 是名称。没有文件、网络和 import。 " +
	"一两次调用请直接调用工具。"

// Spec returns run_script.
func Spec() tool.Spec {
	return tool.Spec{
		Name: tool.RunScript, Description: about, DescriptionZh: aboutZh,
		Params:   json.RawMessage(`{"type":"object","properties":{"code":{"type":"string","description":"the script; top-level await and return are allowed"}},"required":["code"]}`),
		ParamsZh: json.RawMessage(`{"type":"object","properties":{"code":{"type":"string","description":"脚本；可以使用顶层 await 和 return"}},"required":["code"]}`),
		Output:   script.Limits(),
		Examples: []tool.Example{{
			Ask: "Which of the three files has the most lines?", AskZh: "这三个文件哪个行数最多？",
			Args: json.RawMessage(`{"code":"const files = [\"a.txt\", \"b.txt\", \"c.txt\"];\nconst all = await Promise.all(files.map((file_path) => tools.read_file({file_path})));\nreturn files.map((f, i) => f + \": \" + all[i].lines).join(\"\\n\")"}`),
		}},
	}
}
