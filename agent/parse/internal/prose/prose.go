// Package prose judges the text in front of a call: whether its last sentence
// introduces a call, an example, a form or a result.
package prose

import (
	"slices"
	"strings"
)

// The words that tell, in the sentence that leads to a block, what the block
// is: an example or a list of what there is; a form, or what somebody else
// does; what came back.
var (
	exampleCues = []string{"example", "e.g.", "for instance", " a specific ", " a given ", " a particular ", "例如", "比如", "举例", "示例", "例子"}
	formCues    = []string{"the model", "a model", "language model", "the assistant", "the agent", " users", "developer", "how to", "模型", "你可以", "您可以", "用户", "format", "syntax", "usage", "template", "schema", "格式", "语法", "用法", "模板",
		" you can", " you could", " you may", " you might", " you must", " you should", " you would", " you'd", " you will", " you'll", " you have", " you need", " you want", " you call", " you use", " you write", " you send", " write:", " type:", " enter:", " send:", " reply with", " respond with", " your code", " your program", " your script", " your prompt"}
	resultCues = []string{"result", "output", "respon", "return", "observation", "answer is", "答案", "结果", "输出", "返回", "响应", "observ"}
	// adviceCues tell the reader of a message to use tools.
	adviceCues = []string{"you can use", "you can call", "you could use", "you could call", "可以使用", "可以调用"}
)

// InBrackets reports whether the text's last line leaves a round bracket open:
// what follows is a remark, and a call in it is spoken about.
func InBrackets(text string) bool {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	if strings.IndexByte(line, '(') < 0 && !strings.Contains(line, "（") {
		return false
	}
	open := 0
	for _, r := range line {
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
	if i, n := lastStop(strings.TrimRight(text, ":：")); i >= 0 && i < len(text)-2 {
		if i+n < len(text) && (n > 1 || text[i+n] == ' ') && !endsAbbreviation(text[:i+n]) {
			text = text[i+n:]
		}
	}
	return " " + strings.ToLower(text), introduced && !isCode(text)
}

// lastStop returns where the last mark is that ends a sentence, and its length. It goes
// over bytes: calls are judged often, and what is in front of them may be long.
func lastStop(text string) (at, n int) {
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case '.', '!', '?':
			return i, 1
		case 0x82, 0x81, 0x9F:
			if i > 1 && slices.Contains([]string{"。", "！", "？"}, text[i-2:i+1]) {
				return i - 2, 3
			}
		}
	}
	return -1, 0
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
	s = strings.ToLower(s[max(0, len(s)-4):])
	return strings.HasSuffix(s, "e.g.") || strings.HasSuffix(s, "i.e.") || strings.HasSuffix(s, "etc.")
}

// quoteCues are words in front of a colon that say whose text follows, or that it is shown.
var quoteCues = []string{" says", " said", " wrote", " writes", " reads", " contains", " prints", " printed", " shows", "in the docs", "in the log", "in the config", "in the file", "sample", "like this", "how it looks", "looks as",
	"说", "写道", "写着", "显示", "里有", "中有", "里是", "内容是", "像这样", "样例", "如图"}

// Quotes reports whether the sentence in front of a call says that the text after it is
// another's, or a sample, and not that its writer makes the call now.
func Quotes(sentence string) bool { return hasCue(sentence, quoteCues) && !Acts(sentence) }

// wantedForms are what a writer calls the form that was asked for.
var wantedForms = []string{"requested", "required", "correct", "specified", "desired", "expected", "right", "proper"}

// NamesForm reports whether a sentence leads to the form of a call, or to what somebody
// else does. "Here is the call in the requested format:" does not.
func NamesForm(sentence string) bool {
	if at, form, ok := strings.Cut(sentence, " format"); ok {
		words := strings.Fields(at)
		i := slices.Index(words[max(0, len(words)-3):], "in")
		here := len(words) > 0 && (words[0] == "here" || words[0] == "here's")
		if i >= 0 && (here || slices.Contains(wantedForms, words[len(words)-1])) {
			sentence = at + form
		}
	}
	return hasCue(sentence, formCues)
}

// IsExample reports whether a sentence leads to an example, or to a list of what there is.
func IsExample(sentence string) bool {
	return hasCue(sentence, exampleCues) || listsWhatThereIs(sentence)
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
		if lead, introduces := LeadIn(strings.TrimRight(line, " *\r\n")); introduces && hasCue(lead, adviceCues) {
			return true
		}
	}
	return false
}

// hasCue reports whether text, in lower case, contains one of the cues. A cue that is a
// word begins one: "format" is not in "information".
func hasCue(text string, cues []string) bool {
	for _, c := range cues {
		for i := strings.Index(text, c); i >= 0; {
			if i == 0 || !isASCII(c[0]) || !isASCII(text[i-1]) {
				return true
			}
			n := strings.Index(text[i+1:], c)
			if i += n + 1; n < 0 {
				break
			}
		}
	}
	return false
}

func isASCII(c byte) bool { return 'a' <= c && c <= 'z' }

// IsQuoted reports whether text ends with an opening quotation mark.
func IsQuoted(text string) bool {
	text = strings.TrimRight(text, " ")
	marks := []string{`"`, "'", "“", "‘", "「", "《", "`", "<code>", "<pre>", "<!--", "（例：", "（例如："}
	return slices.ContainsFunc(marks, func(q string) bool { return strings.HasSuffix(text, q) })
}
