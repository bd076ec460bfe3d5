package host

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// ruleName is how a rule is spoken of, counted from 1 as a person counts them.
func ruleName(n int) string { return "rule " + strconv.Itoa(n) }

// A consentText is what a model and a person read about approvals, in one
// language.
type consentText struct {
	locale tool.Locale

	ruledMsg, nobodyMsg, timeoutMsg, refusedMsg, goneMsg       string
	ruledHint, nobodyHint, timeoutHint, refusedHint            string
	change, send, private, reads, byRule, sure                 string
	alwaysExact, alwaysRule, alwaysTool, separator, separator2 string
}

var consentTexts = map[tool.Locale]consentText{
	tool.En: {
		locale:      tool.En,
		ruledMsg:    "the operator does not allow this call of %s",
		ruledHint:   "go on without it, and say so",
		nobodyMsg:   "%s did not run: %s, and nobody is there to ask",
		nobodyHint:  "go on without it, and say so. A person can allow it in `weir chat` or on the page, or for good in tools.toml: [[approvals.rule]] with tool = %q and action = \"allow\"",
		timeoutMsg:  "%s did not run: nobody answered within %s",
		timeoutHint: "go on without it, and say so",
		refusedMsg:  "the person did not allow this call of %s",
		refusedHint: "do not repeat it; go on without it, or ask the person what to do instead",
		goneMsg:     "%s did not run: whoever asked has gone",
		change:      "it can change files in %s",
		send:        "it can send data to %s",
		private:     "and the conversation holds what a tool read in a granted folder",
		reads:       "and read a granted folder itself",
		byRule:      "%s of [approvals] asks about it",
		sure:        "the operator asks about it",
		alwaysExact: "%s with exactly these arguments",
		alwaysRule:  "%s with arguments where %s",
		alwaysTool:  "%s with any arguments",
		separator:   ", ", separator2: "; ",
	},
	tool.Zh: {
		locale:      tool.Zh,
		ruledMsg:    "管理员不允许对 %s 的这次调用",
		ruledHint:   "请不使用它继续，并如实说明",
		nobodyMsg:   "%s 未执行：%s，而现在没有人可以询问",
		nobodyHint:  "请不使用它继续，并如实说明。可由人在 `weir chat` 或网页上批准，或在 tools.toml 中长期允许：[[approvals.rule]]，写 tool = %q 和 action = \"allow\"",
		timeoutMsg:  "%s 未执行：%s 内无人答复",
		timeoutHint: "请不使用它继续，并如实说明",
		refusedMsg:  "用户不允许对 %s 的这次调用",
		refusedHint: "不要重复；请不使用它继续，或询问用户改做什么",
		goneMsg:     "%s 未执行：提问者已离开",
		change:      "它可以更改 %s 中的文件",
		send:        "它可以向 %s 发送数据",
		private:     "而本会话中有工具从授权文件夹读到的内容",
		reads:       "而它自己可以读取授权文件夹",
		byRule:      "[approvals] 的%s要求询问",
		sure:        "管理员要求询问",
		alwaysExact: "%s，且参数与此完全相同",
		alwaysRule:  "%s，且参数满足 %s",
		alwaysTool:  "%s，任意参数",
		separator:   "、", separator2: "；",
	},
}

func (s *Session) words() consentText { return consentTexts[in(s.locale).locale] }

func (w consentText) denied(hint, msg string, args ...any) *tool.Error {
	return &tool.Error{Code: tool.Denied, Msg: fmt.Sprintf(msg, args...), Hint: hint}
}

func (w consentText) ruled(name string) *tool.Error { return w.denied(w.ruledHint, w.ruledMsg, name) }

func (w consentText) nobody(name, why string) *tool.Error {
	return w.denied(fmt.Sprintf(w.nobodyHint, name), w.nobodyMsg, name, why)
}

func (w consentText) timeout(name string, d time.Duration) *tool.Error {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return w.denied(w.timeoutHint, w.timeoutMsg, name, text)
}

func (w consentText) refused(name string) *tool.Error {
	return w.denied(w.refusedHint, w.refusedMsg, name)
}

func (w consentText) gone(name string) *tool.Error { return w.denied("", w.goneMsg, name) }

func (w consentText) canChange(folders []string) string {
	return fmt.Sprintf(w.change, strings.Join(folders, w.separator))
}

func (w consentText) canSend(hosts []string, and string) string {
	out := fmt.Sprintf(w.send, strings.Join(hosts, w.separator))
	if and != "" {
		out += w.separator + and
	}
	return out
}

// because joins what a tool can do with whose wish the question is; n is the
// rule's number, 0: none.
func (w consentText) because(can []string, n int) string {
	switch {
	case n > 0 && w.locale == tool.Zh:
		can = append(can, fmt.Sprintf(w.byRule, "第 "+strconv.Itoa(n)+" 条规则"))
	case n > 0:
		can = append(can, fmt.Sprintf(w.byRule, ruleName(n)))
	case len(can) == 0:
		can = []string{w.sure}
	}
	return strings.Join(can, w.separator2)
}

// always says what an answer of Always would cover.
func (w consentText) always(name string, r *ruling) string {
	if r == nil {
		return fmt.Sprintf(w.alwaysExact, name)
	}
	if len(r.args) == 0 {
		return fmt.Sprintf(w.alwaysTool, name)
	}
	parts := make([]string, len(r.args))
	for i, a := range r.args {
		parts[i] = a.name + " =~ " + a.re.String()
	}
	return fmt.Sprintf(w.alwaysRule, name, strings.Join(parts, w.separator))
}
