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
func (l *lines) openReAct(i int) lex.Status {
	b := l.in.buf[i:min(len(l.in.buf), i+maxAction)]
	final := l.in.final || len(b) == maxAction
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
		return l.openAction(i, j, name, final)
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
	if lex.IsAbstention(name) || !l.around.mayCall(i) || word != "action" && (!object || !l.in.tools.Distinctive(name)) || !l.begin(i, i+k, marker.FormatReAct) {
		return lex.No
	}
	l.calls.nameOnly(name)
	if k < len(b) && !object {
		l.calls.beginItem(itemLine, i, l.in.pos)
	}
	return lex.Done
}

// openAction enters an Action that holds the whole call itself.
func (l *lines) openAction(i, j int, name string, final bool) lex.Status {
	b := l.in.buf[i:min(len(l.in.buf), i+maxAction)]
	k := lex.SkipSpace(b, j)
	if k == len(b) {
		return lex.Unless(final)
	}
	format := marker.FormatReAct
	if b[k] == '`' || b[k] == '[' || b[k] == '{' {
		format = marker.FormatCommand
	} else if open := strings.IndexByte(name, '('); open < 0 || l.in.tools.Find(name[:open]) == nil {
		return lex.No
	}
	if !l.around.mayCall(i) || !l.begin(i, i+k, format) {
		return lex.No
	}
	return lex.Done
}
