// Package prose judges the text in front of a call: whether its last sentence
// introduces a call, an example, a form or a result.
package prose

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The words that tell, in the sentence that leads to a block, what the block
// is: an example or a list of what there is; a form, or what somebody else
// does; what came back.
var (
	ExampleCues = []string{"example", "e.g.", "for instance", " a specific ", " a given ", " a particular ", "例如", "比如", "举例", "示例", "例子"}
	FormCues    = []string{"the model", "a model", "language model", "the assistant", "the agent", " users", "developer", "how to", "模型", "你可以", "您可以", "用户", "format", "syntax", "usage", "template", "schema", "格式", "语法", "用法", "模板",
		" you can", " you could", " you may", " you might", " you must", " you should", " you would", " you'd", " you will", " you'll", " you have", " you need", " you want", " you call", " you use", " you write", " you send", " your code", " your program", " your script", " your prompt"}
	ResultCues = []string{"result", "output", "respon", "return", "observation", "answer is", "答案", "结果", "输出", "返回", "响应", "observ"}
	// adviceCues tell the reader of a message to use tools.
	adviceCues = []string{"you can use", "you can call", "you could use", "you could call", "可以使用", "可以调用"}
)

// InBrackets reports whether the text's last line leaves a round bracket open:
// what follows is a remark, and a call in it is spoken about.
func InBrackets(text string) bool {
	open := 0
	for _, r := range text[strings.LastIndexByte(text, '\n')+1:] {
		switch r {
		case '(', '（':
			open++
		case ')', '）':
			open = max(open-1, 0)
		}
	}
	return open > 0
}

// LeadIn returns the last paragraph's last sentence, and whether it ends with
// a colon and so introduces what follows.
func LeadIn(text string) (string, bool) {
	introduced := strings.HasSuffix(text, ":") && !strings.HasSuffix(text, `":`) || strings.HasSuffix(text, "：")
	if i := strings.LastIndex(text, "\n"); i >= 0 {
		text = text[i+1:]
	}
	if i := strings.LastIndexAny(strings.TrimRight(text, ":："), ".!?。！？"); i >= 0 && i < len(text)-2 {
		_, n := utf8.DecodeRuneInString(text[i:])
		if i+n < len(text) && (n > 1 || text[i+n] == ' ') && !endsAbbreviation(text[:i+n]) {
			text = text[i+n:]
		}
	}
	return " " + strings.ToLower(text), introduced && !isCode(text)
}

// isCode reports whether a line that ends with a colon is a line of a program.
func isCode(line string) bool {
	line = strings.TrimSpace(line)
	if i := strings.LastIndexByte(line, '('); strings.HasSuffix(line, "):") && i > 0 && line[i-1] != ' ' {
		return true
	}
	word, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"def", "class", "if", "elif", "for", "while", "with", "else:", "try:", "finally:", "except", "async"}, word)
}

func endsAbbreviation(s string) bool {
	s = strings.ToLower(s)
	return strings.HasSuffix(s, "e.g.") || strings.HasSuffix(s, "i.e.") || strings.HasSuffix(s, "etc.")
}

// IsExample reports whether a sentence leads to an example, or to a list of what there is.
func IsExample(sentence string) bool {
	return HasCue(sentence, ExampleCues) || listsWhatThereIs(sentence)
}

// listsWhatThereIs reports whether a sentence ends with what is available: "Available
// tools:", "the tools that are available". "By the available tools, this is the call:"
// does not.
func listsWhatThereIs(sentence string) bool {
	for _, cue := range []string{"available", "可用"} {
		if i := strings.LastIndex(sentence, cue); i >= 0 {
			rest := sentence[i+len(cue):]
			return len(strings.Fields(rest)) <= 4 && !strings.ContainsAny(rest, ",") && !strings.Contains(rest, "，")
		}
	}
	return false
}

// Advises reports whether a line of the text tells its reader how to use tools, with
// what follows: "You can use these as follows:".
func Advises(text string) bool {
	for line := range strings.Lines(text) {
		if lead, introduces := LeadIn(strings.TrimRight(line, " *\r\n")); introduces && HasCue(lead, adviceCues) {
			return true
		}
	}
	return false
}

// HasCue reports whether text contains one of the cues.
func HasCue(text string, cues []string) bool {
	for _, c := range cues {
		if strings.Contains(text, c) {
			return true
		}
	}
	return false
}

// Numbered is 1 where text begins with a number and a dot: that dot ends no
// sentence.
func Numbered(text string) int {
	if i := strings.Index(text, ". "); i > 0 && strings.Trim(text[:i], "0123456789") == "" {
		return 1
	}
	return 0
}

// IsQuoted reports whether text ends with an opening quotation mark.
func IsQuoted(text string) bool {
	text = strings.TrimRight(text, " ")
	for _, q := range []string{`"`, "'", "“", "‘", "「", "《", "`", "<code>", "<pre>", "<!--", "（例：", "（例如："} {
		if strings.HasSuffix(text, q) {
			return true
		}
	}
	return false
}
