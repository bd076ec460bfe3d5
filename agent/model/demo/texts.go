package demo

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// texts are what the model says in one language.
type texts struct {
	mark           string // ends every answer
	call, step_    string
	stepLast       string
	saysF, failedF string
	earlierF       string
	refuseTools    string
	refuseNone     string
	cutF           string
	lineF, wordF   string
	comma, andSoOn string
}

var english = texts{
	mark:     "(demo model, not an AI)",
	call:     "I call %s.",
	step_:    "%d. Call %s\n",
	stepLast: "%d. Answer from the results",
	saysF:    "%s returned:",
	failedF:  "%s could not do it:",
	earlierF: "From the earlier result of %s:",
	refuseTools: "I am a script, not an AI: I cannot talk freely. I can call these tools when a question has the form of their examples: %s. " +
		"Name a file, an expression or something to search for, or connect a real model with `weir model use`.",
	refuseNone: "I am a script, not an AI: I cannot talk freely, and there are no tools I could call. Connect a real model with `weir model use`.",
	cutF:       "%s. The whole is archived: go on in this conversation (in a terminal: weir ask -c) with \"%s of that\", and I load it.",
	lineF:      "line %d",
	wordF:      "a quoted word",
	comma:      ", ",
	andSoOn:    " and %d more",
}

var chinese = texts{
	mark:        "（演示模型，不是 AI）",
	call:        "我来调用 %s。",
	step_:       "%d. 调用 %s\n",
	stepLast:    "%d. 根据结果回答",
	saysF:       "%s 返回：",
	failedF:     "%s 没有成功：",
	earlierF:    "根据之前 %s 的结果：",
	refuseTools: "我是脚本，不是 AI，不能自由对话。当提问的形式与工具的示例相近时，我可以调用这些工具：%s。请给出文件名、算式或要搜索的内容，或者用 `weir model use` 接入真正的模型。",
	refuseNone:  "我是脚本，不是 AI，不能自由对话，目前也没有可以调用的工具。请用 `weir model use` 接入真正的模型。",
	cutF:        "%s。全文已保存：在本会话中接着问“刚才的%s”（终端中用 weir ask -c），我就把它加载回来。",
	lineF:       "第 %d 行",
	wordF:       "引号中的词",
	comma:       "、",
	andSoOn:     "等 %d 个",
}

func textsOf(l tool.Locale) *texts {
	if l == tool.Zh {
		return &chinese
	}
	return &english
}

func (w *texts) calling(names []string) string {
	return fmt.Sprintf(w.call, strings.Join(names, w.comma))
}
func (w *texts) step(n int, name string) string { return fmt.Sprintf(w.step_, n, name) }
func (w *texts) lastStep(n int) string          { return fmt.Sprintf(w.stepLast, n) }
func (w *texts) says(name string) string        { return fmt.Sprintf(w.saysF, name) }
func (w *texts) failed(name string) string      { return fmt.Sprintf(w.failedF, name) }
func (w *texts) earlier(name string) string     { return fmt.Sprintf(w.earlierF, name) }

// refuse says honestly what the script is and what it can do.
func (w *texts) refuse(names []string) string {
	if len(names) == 0 {
		return w.refuseNone
	}
	const most = 12
	list := strings.Join(names[:min(most, len(names))], w.comma)
	if more := len(names) - most; more > 0 {
		list += fmt.Sprintf(w.andSoOn, more)
	}
	return fmt.Sprintf(w.refuseTools, list)
}

// leftOut puts a notice into a sentence. Only the numbers are repeated: the
// call that a notice names is for the model, not for the person.
func (w *texts) leftOut(notice string) string {
	body := strings.Trim(notice, "[]")
	if strings.HasPrefix(body, "The tool says: ") || strings.HasPrefix(body, "工具说明: ") {
		for _, end := range []string{" To go on:", "继续:"} { // a call must not be in an answer
			body, _, _ = strings.Cut(body, end)
		}
		return "(" + body + ")"
	}
	if !compiled(loadCall).MatchString(notice) || strings.HasPrefix(body, "Characters ") || strings.HasPrefix(body, "第 ") {
		return ""
	}
	for _, end := range []string{". The whole:", "。全文:", ". The rest:", "。余下:", "; \"", ", “"} {
		body, _, _ = strings.Cut(body, end)
	}
	part := w.wordF
	if m := compiled(missingLines).FindStringSubmatch(notice); m != nil {
		from, _ := strconv.Atoi(m[1]) // digits; too many read as the largest number
		to, _ := strconv.Atoi(m[2])
		part = fmt.Sprintf(w.lineF, from+(to-from)/2)
	}
	return fmt.Sprintf(w.cutF, body, part)
}

const missingLines = `lines="(\d+)-(\d+)"`

// callText writes a call the way the system prompt teaches it. JSON escapes the
// signs that could close the tag.
func callText(c tool.Call) string {
	name, _ := json.Marshal(c.Tool) // a string always encodes
	return fmt.Sprintf(`<tool_call>{"id":%q,"tool_name":%s,"arguments":%s}</tool_call>`, c.ID, name, c.Args)
}
