package parse

import (
	"bytes"
	"slices"
	"strings"
)

// maxAction bounds an Action line with the label of its input, in bytes.
const maxAction = 320

// callLabels are the labels of a name on a line of its own; inputLabels those
// of the arguments on the next.
var (
	callLabels  = []string{"action", "tool", "tool name", "tool call", "function", "function name", "function call", "name"}
	inputLabels = []string{"action input", "tool input", "function input", "input", "arguments", "parameters", "params", "args"}
)

// openReAct enters "Action: name" with "Action Input: …" on the next line. The
// labels may be in bold, numbered, in capitals, or others of the same meaning;
// those ask for an object as input.
func (p *parser) openReAct(i int) status {
	b := p.buf[i:min(len(p.buf), i+maxAction)]
	final := p.final || len(b) == maxAction
	word, j, st := label(b, 0, callLabels, final)
	if st != done {
		return st
	}
	line := bytes.IndexByte(b[j:], '\n')
	if line < 0 && !final {
		return more
	}
	if line < 0 {
		line = len(b) - j
	}
	name := strings.Trim(string(b[j:j+line]), " \t\r*`\"'[]")
	if open := strings.IndexAny(name, "({"); open > 0 || name == "" || name[0] == '{' || bytes.HasPrefix(bytes.TrimSpace(b[j:]), []byte("```")) {
		if word != "action" {
			return no
		}
		return p.openAction(i, j, name, final)
	}
	k := skipSpace(b, j+line)
	for k < len(b) && (b[k] == '*' || b[k] == '_') {
		k++
	}
	_, body, st := label(b, k, inputLabels, final)
	if st != done {
		return st
	}
	k = skipSpace(b, body)
	if k == len(b) && !final {
		return more
	}
	object := k < len(b) && (b[k] == '{' || b[k] == '`')
	if isAbstention(name) || !p.mayCall() || word != "action" && (!object || !p.t.speaks(name)) || !p.beginGroup(i, i+k, FormatReAct) {
		return no
	}
	p.g.name, p.g.single = name, true
	if k < len(b) && !object {
		p.beginItem(itemLine, i, p.pos)
	}
	return done
}

// openAction enters an Action that holds the whole call itself.
func (p *parser) openAction(i, j int, name string, final bool) status {
	b := p.buf[i:min(len(p.buf), i+maxAction)]
	k := skipSpace(b, j)
	if k == len(b) {
		return unless(final)
	}
	format := FormatReAct
	if b[k] == '`' || b[k] == '[' || b[k] == '{' {
		format = FormatCommand
	} else if open := strings.IndexByte(name, '('); open < 0 || p.t.find(name[:open]) == nil {
		return no
	}
	if !p.mayCall() || !p.beginGroup(i, i+k, format) {
		return no
	}
	return done
}

// label reads "Action:", "**Action 1:**" or "Action_Input :" at b[i] and
// returns which of the words it is and where its value begins.
func label(b []byte, i int, words []string, final bool) (word string, value int, st status) {
	if i < len(b) && !slices.ContainsFunc(words, func(w string) bool { return w[0] == b[i]|0x20 }) {
		return "", 0, no
	}
	j := i
	for j < len(b) && j-i < 24 && (isLetter(b[j]) || b[j] == ' ' || isDigit(b[j]) || b[j] == '*') {
		j++
	}
	text := strings.ToLower(strings.ReplaceAll(string(b[i:j]), "_", " "))
	if j == len(b) && !final {
		bare := strings.TrimRight(text, " *0123456789")
		if slices.ContainsFunc(words, func(w string) bool { return bare == w || strings.HasPrefix(w, text) }) {
			return "", 0, more
		}
		return "", 0, no
	}
	word = strings.TrimRight(text, " *0123456789")
	if j == len(b) || b[j] != ':' || !slices.Contains(words, word) {
		return "", 0, no
	}
	for j++; j < len(b) && (b[j] == ' ' || b[j] == '*'); j++ {
	}
	if j == len(b) {
		return word, j, unless(final)
	}
	return word, j, done
}

// scanLine finds the end of an input that is plain text.
func (p *parser) scanLine(it *item) status {
	b := p.buf[it.open:]
	n := bytes.IndexByte(b[it.sc.pos:], '\n')
	if n < 0 {
		it.sc.pos = len(b)
		if !p.final {
			return more
		}
		if p.truncated || len(b) == 0 {
			return cut
		}
		return done
	}
	it.sc.pos += n
	return done
}
