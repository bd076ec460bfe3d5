package offer

import (
	"encoding/json"

	"github.com/weirhost/weir/host/internal/msg"
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

// Spec returns run_script.
func Spec() tool.Spec {
	return tool.Spec{
		Name: tool.RunScript, Description: about, DescriptionZh: msg.Format(tool.Zh, about),
		Params:   json.RawMessage(`{"type":"object","properties":{"code":{"type":"string","description":"the script; top-level await and return are allowed"}},"required":["code"]}`),
		ParamsZh: json.RawMessage(`{"type":"object","properties":{"code":{"type":"string","description":"脚本；可以使用顶层 await 和 return"}},"required":["code"]}`),
		Output:   script.Limits(),
		Examples: []tool.Example{{
			Ask: "Which of the three files has the most lines?", AskZh: "这三个文件哪个行数最多？",
			Args: json.RawMessage(`{"code":"const files = [\"a.txt\", \"b.txt\", \"c.txt\"];\nconst all = await Promise.all(files.map((path) => tools.read_file({path})));\nreturn files.map((f, i) => f + \": \" + all[i].lines).join(\"\\n\")"}`),
		}},
	}
}
