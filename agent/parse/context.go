package parse

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// confirm says what a group still needs before its calls may run.
type confirm int

const (
	atOnce   confirm = iota // each call runs when it is complete
	atEOL                   // nothing but calls on the line
	atEnd                   // nothing behind it in the reply
	declined                // a quotation
)

const (
	maxIntro   = 1500 // bytes of text before which a call in prose is still introduced
	maxBetween = 240  // bytes of text between two groups of one enumeration
)

// The words that tell, in the sentence that leads to a block, what the block
// is: an example or a list of what there is; a form, or what somebody else
// does; what came back.
var (
	exampleCues = []string{"example", "e.g.", "for instance", "available", "例如", "比如", "举例", "示例", "例子", "可用"}
	formCues    = []string{"the model", "a model", "language model", "the assistant", "the agent", " you ", " you'", " your ", " users", "developer", "how to", "模型", "你可以", "您可以", "用户", "format", "syntax", "usage", "template", "schema", "格式", "语法", "用法", "模板"}
	resultCues  = []string{"result", "output", "respon", "return", "observation", "answer is", "答案", "结果", "输出", "返回", "响应", "observ"}
)

// context judges whether a call without a marker of its own may stand at i,
// bullet included if it has one.
func (p *parser) context(i int, format Format, bullet bool) confirm {
	if p.last != nil {
		if p.continues(i, format) {
			return atOnce
		}
		return declined
	}
	if p.start {
		return atOnce
	}
	if inBrackets(p.before(i)) {
		return declined
	}
	lead, introduced := leadIn(strings.TrimRight(p.before(i), " \t\r\n*_-`"))
	if hasCue(lead, exampleCues) {
		return declined
	}
	if format == FormatNameJSON && !p.atLineStart(i) {
		return atOnce // a name that runs into its own sentence is never shown to a reader
	}
	if !introduced && bullet {
		return declined // one entry of a list of something else
	}
	if !introduced || p.doc || p.prose > maxIntro || hasCue(lead, formCues) {
		return atEnd
	}
	return atOnce
}

// inBrackets reports whether the text's last line leaves a round bracket open:
// what follows is a remark, and a call in it is spoken about.
func inBrackets(text string) bool {
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

func (p *parser) atLineStart(i int) bool {
	for i--; i >= 0 && (p.buf[i] == ' ' || p.buf[i] == '\t'); i-- {
	}
	return i < 0 || p.buf[i] == '\n'
}

// leadIn returns the last paragraph's last sentence, and whether it ends with
// a colon and so introduces what follows.
func leadIn(text string) (string, bool) {
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
	if strings.HasSuffix(line, "):") {
		return true
	}
	word, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"def", "class", "if", "elif", "for", "while", "with", "else:", "try:", "finally:", "except", "async"}, word)
}

func endsAbbreviation(s string) bool {
	s = strings.ToLower(s)
	return strings.HasSuffix(s, "e.g.") || strings.HasSuffix(s, "i.e.") || strings.HasSuffix(s, "etc.")
}

func hasCue(text string, cues []string) bool {
	for _, c := range cues {
		if strings.Contains(text, c) {
			return true
		}
	}
	return false
}

// continues reports whether a further block of calls belongs to the one
// before: it has the same form, and between the two stands no more than one
// introducing line that speaks of no result.
func (p *parser) continues(i int, format Format) bool {
	if p.last.typed || p.last.format != format && !(p.last.fence && format == FormatFence) {
		return false
	}
	if len(p.since)+i-p.out > maxBetween {
		return false
	}
	text := strings.TrimRight(string(p.since)+string(p.buf[p.out:i]), " \t\r\n*_-`")
	if !strings.HasSuffix(text, ":") && !strings.HasSuffix(text, "：") {
		return false
	}
	text = strings.ToLower(strings.TrimLeft(text, " \t\r\n*_-.;,`"))
	if hasCue(text, resultCues) || hasCue(text, exampleCues) || strings.Contains(text, "\n") {
		return false
	}
	return !strings.Contains(text, "! ") && !strings.Contains(text, "? ") && strings.Count(text, ". ") <= numbered(text)
}

// numbered is 1 where text begins with a number and a dot: that dot ends no
// sentence.
func numbered(text string) int {
	if i := strings.Index(text, ". "); i > 0 && strings.Trim(text[:i], "0123456789") == "" {
		return 1
	}
	return 0
}

// typedContext judges a call with a marker: one that is introduced as an
// example, or as what somebody else writes, must be the last thing.
func (p *parser) typedContext(i int, format Format) confirm {
	if p.start {
		return atOnce
	}
	if p.doc && format == FormatFence {
		return atEnd
	}
	if inBrackets(p.before(i)) {
		return declined
	}
	lead, introduced := leadIn(strings.TrimRight(p.before(i), " \t\r\n*_-`"))
	if introduced && (hasCue(lead, exampleCues) || hasCue(lead, formCues)) {
		return atEnd
	}
	return atOnce
}

// mayCall reports whether a call with a marker may stand here.
func (p *parser) mayCall() bool { return p.last == nil && !p.cited }

// labelled reports whether a colon stands before i on its line.
func (p *parser) labelled(i int) bool {
	before := strings.TrimRight(p.before(i), " *`")
	return strings.HasSuffix(before, ":") && !strings.HasSuffix(before, `":`) || strings.HasSuffix(before, "：")
}
