package parse

import (
	"bytes"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
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
func (p *parser) openReAct(i int) lex.Status {
	b := p.buf[i:min(len(p.buf), i+maxAction)]
	final := p.final || len(b) == maxAction
	word, j, st := lex.Label(b, 0, callLabels, final)
	if st != lex.Done {
		return st
	}
	if k := lex.SkipSpace(b, j); k > j && k < len(b) && lex.IsLetter(b[k]) { // the name is on the next line
		j = k
	}
	line := bytes.IndexByte(b[j:], '\n')
	if line < 0 && !final {
		return lex.More
	}
	if line < 0 {
		line = len(b) - j
	}
	name := strings.Trim(string(b[j:j+line]), " \t\r*`\"'[]")
	if open := strings.IndexAny(name, "({"); open > 0 || name == "" || name[0] == '{' || bytes.HasPrefix(bytes.TrimSpace(b[j:]), []byte("```")) {
		if word != "action" {
			return lex.No
		}
		return p.openAction(i, j, name, final)
	}
	k := lex.SkipSpace(b, j+line)
	for k < len(b) && (b[k] == '*' || b[k] == '_') {
		k++
	}
	_, body, st := lex.Label(b, k, inputLabels, final)
	if st != lex.Done {
		return st
	}
	k = lex.SkipSpace(b, body)
	if k == len(b) && !final {
		return lex.More
	}
	object := k < len(b) && (b[k] == '{' || b[k] == '`')
	if lex.IsAbstention(name) || !p.mayCall(i) || word != "action" && (!object || !p.t.Distinctive(name)) || !p.beginGroup(i, i+k, marker.FormatReAct) {
		return lex.No
	}
	p.g.name, p.g.single = name, true
	if k < len(b) && !object {
		p.beginItem(itemLine, i, p.pos)
	}
	return lex.Done
}

// openAction enters an Action that holds the whole call itself.
func (p *parser) openAction(i, j int, name string, final bool) lex.Status {
	b := p.buf[i:min(len(p.buf), i+maxAction)]
	k := lex.SkipSpace(b, j)
	if k == len(b) {
		return lex.Unless(final)
	}
	format := marker.FormatReAct
	if b[k] == '`' || b[k] == '[' || b[k] == '{' {
		format = marker.FormatCommand
	} else if open := strings.IndexByte(name, '('); open < 0 || p.t.Find(name[:open]) == nil {
		return lex.No
	}
	if !p.mayCall(i) || !p.beginGroup(i, i+k, format) {
		return lex.No
	}
	return lex.Done
}

// scanLine finds the end of an input that is plain text.
func (p *parser) scanLine(it *item) lex.Status {
	b := p.buf[it.open:]
	n := bytes.IndexByte(b[it.sc.Pos:], '\n')
	if n < 0 {
		it.sc.Pos = len(b)
		if !p.final {
			return lex.More
		}
		if p.truncated || len(b) == 0 {
			return lex.Cut
		}
		return lex.Done
	}
	it.sc.Pos += n
	return lex.Done
}
