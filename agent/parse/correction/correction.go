// Package correction writes the message to a model whose call could not be read.
package correction

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
	"github.com/weirhost/weir/sdk/tool"
)

// native is the format of a provider's own tool calling, in which calls are not text.
const native parse.Format = "native"

// maxQuoted is how much of a model's own text a correction quotes, in
// characters.
const maxQuoted = 160

// For tells the model in one short message what was wrong with its call
// and what the right form is. It quotes at most 160 characters of the model's
// own text. An unknown tool is answered with the nearest declared names, or with the
// first ones if none is near; an empty Locale means English.
func For(m parse.Malformed, tools []tool.Spec, l tool.Locale) string {
	w := corrections[tool.En]
	if l == tool.Zh {
		w = corrections[tool.Zh]
	}
	near := Nearest(m.Name, tools)
	parts := []string{w.quoted(oneLine(m.Raw, maxQuoted)), w.reason(m, near, tools)}
	switch {
	case m.Format == native:
	case m.Reason != parse.ReasonUnknownTool:
		parts = append(parts, w.form+rightForm(m.Name, tools))
	case len(near) > 0: // it knows how to write a call
		parts = append(parts, w.call+rightForm(near[0], tools))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), w.space)
}

// Nearest returns the declared names that are most like name, best first.
func Nearest(name string, tools []tool.Spec) []string {
	if _, several := tool.Named(name, tools); len(several) > 0 {
		return several
	}
	return toolset.Nearest(name, tools)
}

// maxListed is how many names a correction lists if none is near.
const maxListed = 12

// texts are the sentences of a correction in one language.
type texts struct {
	quote, form, space, sep                                           string
	call, list, more                                                  string
	unknown, unknownNear, badJSON, badJSONAt, truncated               string
	noArgs, noArgsDetail, noName, inThought, inText, otherwise, close string
	details                                                           map[string]string // of Malformed.Detail, where they are not English
	place                                                             string
}

var corrections = map[tool.Locale]texts{
	tool.En: {
		quote: "Your call was not run: %s", form: "Write it directly, without a code fence: ", call: "It is called like this: ", list: " The tools are: %s.", more: " %d more are not listed.", space: "\n", sep: ", ", close: ".",
		unknown: "There is no tool named %q.", unknownNear: "There is no tool named %q. The nearest names are: %s.",
		badJSON: "It is not valid JSON.", badJSONAt: "It is not valid JSON (%s).", truncated: "It ended before it was complete. Write it again, shorter if need be.",
		noArgs: "It has no arguments.", noArgsDetail: "Its arguments cannot be used: %s.", noName: "It does not name a tool.",
		inThought: "It stood inside a thought that was not closed. Close the thought, then write the call.",
		inText:    "It is part of a sentence that does not say that you make it. If you make it, write it alone; if not, answer in words.", otherwise: "It could not be read.",
	},
	tool.Zh: {
		quote: "你的调用没有执行：%s", form: "请直接输出，不要放进代码块：", call: "调用方式：", list: "可用的工具：%s。", more: "还有 %d 个没有列出。", space: "\n", sep: "、", close: "。",
		unknown: "没有名为 %q 的工具。", unknownNear: "没有名为 %q 的工具。最接近的名称：%s。",
		badJSON: "它不是合法的 JSON。", badJSONAt: "它不是合法的 JSON（%s）。", truncated: "它没有写完就结束了。请重新输出，必要时缩短内容。",
		noArgs: "它没有参数。", noArgsDetail: "它的参数无法使用：%s。", noName: "它没有写明工具名称。",
		inThought: "它写在没有结束的思考里。请先结束思考，再输出调用。",
		inText:    "它写在句子里，而这句话没有说明你要执行它。如果要执行，请单独输出；否则请用文字回答。", otherwise: "无法读懂它。",
		details: map[string]string{
			"a closing quote is missing": "缺少结束引号", "it is nested too deeply": "嵌套太深", "quotes inside a string are not escaped": "字符串中的引号没有转义",
			"the arguments are not a JSON object": "参数不是 JSON 对象", "no key of the object is a parameter": "对象中没有一个键是参数", "a value is a placeholder": "有一个值是占位内容", "they do not fit the parameters": "不符合工具的参数定义",
		},
		place: "第 %d 字节，在 %q 之后",
	},
}

// detail returns what a parser says about a call, in the language of w.
func (w texts) detail(said string) string {
	if own, ok := w.details[said]; ok {
		return own
	}
	var at int
	var near string
	if n, _ := fmt.Sscanf(said, "byte %d, after %q", &at, &near); n == 2 && w.place != "" {
		said = fmt.Sprintf(w.place, at, near)
	}
	return oneLine(said, 80)
}

func (w texts) quoted(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf(w.quote, s)
}

// listed names the first tools.
func (w texts) listed(tools []tool.Spec) string {
	var names []string
	for _, t := range tools[:min(len(tools), maxListed)] {
		names = append(names, oneLine(t.Name, 64))
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == len(tools):
		return fmt.Sprintf(w.list, strings.Join(names, w.sep))
	}
	return fmt.Sprintf(w.list, strings.Join(names, w.sep)) + fmt.Sprintf(w.more, len(tools)-len(names))
}

func (w texts) reason(m parse.Malformed, near []string, tools []tool.Spec) string {
	switch m.Reason {
	case parse.ReasonUnknownTool:
		if len(near) == 0 {
			return fmt.Sprintf(w.unknown, oneLine(m.Name, 64)) + w.listed(tools)
		}
		return fmt.Sprintf(w.unknownNear, oneLine(m.Name, 64), strings.Join(near, w.sep))
	case parse.ReasonBadJSON:
		if m.Detail == "" {
			return w.badJSON
		}
		return fmt.Sprintf(w.badJSONAt, w.detail(m.Detail))
	case parse.ReasonTruncated:
		return w.truncated
	case parse.ReasonNoArgs:
		if m.Detail == "" {
			return w.noArgs
		}
		return fmt.Sprintf(w.noArgsDetail, w.detail(m.Detail))
	case parse.ReasonNoName:
		return w.noName
	case parse.ReasonInThought:
		return w.inThought
	case parse.ReasonInText:
		return w.inText
	}
	return w.otherwise
}

// oneLine shows a model its own text on one line, cut to n characters. What
// could read as a call again stays as it is: only replies are parsed.
func oneLine(s string, n int) string {
	s = s[:min(len(s), 16*n)]
	return lex.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), n)
}

// rightForm shows the form of a call to a tool, with its required parameters.
func rightForm(name string, tools []tool.Spec) string {
	args := "{…}"
	i := slices.IndexFunc(tools, func(s tool.Spec) bool { return s.Name == name })
	if i < 0 {
		name = "…"
	} else {
		args = toolset.SampleArguments(tools[i])
	}
	return fmt.Sprintf(`<tool_call>{"id":"call_001","tool_name":"%s","arguments":%s}</tool_call>`, name, args)
}
