package parse

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/lookahead"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// open looks whether a call, a thought or a fence begins at i, and enters it.
// atLine says that only white space and decoration is before i on its line.
func (l *lines) open(i int, atLine bool) lex.Status {
	b := l.in.buf
	if l.in.marked {
		return l.openMarked(i, atLine)
	}
	switch c := b[i]; {
	case c == '<' || c == '[':
		tok, st := l.in.token(i)
		if st == lex.Done {
			return l.openToken(tok, i, atLine)
		}
		if st == lex.No && c == '<' && atLine {
			return l.openWrapper(i)
		}
		if st == lex.More || c == '<' {
			return st
		}
		if st := l.openCalling(i); st != lex.No {
			return st
		}
		if bytes.HasSuffix(b[:i], []byte(marker.Functools)) && l.around.mayCall(i) && l.begin(i, i, marker.FormatFunctools) {
			return lex.Done
		}
		return l.openBare(i, atLine)
	case c == '`':
		return l.openCode(i, atLine)
	case c == '>':
		return l.openPrompt(i)
	case c == '{' || c == '(' || lex.IsQuote(c):
		return l.openBare(i, atLine)
	case lex.IsLetter(c):
		if atLine && l.around.start {
			if st := l.skipRole(i); st != lex.No {
				return st
			}
		}
		if atLine {
			if st := l.openWord(i); st != lex.No {
				return st
			}
		}
		return l.openBare(i, atLine)
	}
	return lex.No
}

// openMarked is open where only marks open a call.
func (l *lines) openMarked(i int, atLine bool) lex.Status {
	switch c := l.in.buf[i]; {
	case c == '<' || c == '[':
		tok, st := l.in.token(i)
		if st != lex.Done {
			return st
		}
		return l.openToken(tok, i, atLine)
	case c == '`' && atLine:
		n, open := lex.TickRun(l.in.buf, i)
		switch {
		case open && !l.in.final:
			return lex.More
		case n >= 3:
			l.quote(i, n)
			return lex.Done
		}
	case lex.IsLetter(c) && atLine && l.around.start:
		return l.skipRole(i)
	}
	return lex.No
}

// openToken enters what a marker begins.
func (l *lines) openToken(tok marker.Token, i int, atLine bool) lex.Status {
	switch tok.Role {
	case marker.RoleThink:
		if l.in.mentions || !atLine && !l.around.start {
			return lex.No
		}
		l.thought.enterTag(i, tok.End)
		return lex.Done
	case marker.RoleThinkEnd: // its opener was part of the prompt, or is lost
		l.around.flush(i)
		l.thought.leave(tok.End)
		return lex.Done
	case marker.RoleHarmony:
		return l.openHeader(tok, i)
	case marker.RoleOpen, marker.RoleInvoke:
		if !l.in.mentions && l.around.isQuoted(i) || !l.around.mayCall(i) {
			return lex.No
		}
		if !l.begin(i, i, tok.Format) {
			return lex.No
		}
		return lex.Done
	case marker.RoleJunk, marker.RoleClose:
		if l.around.start && tok.Role == marker.RoleJunk {
			if slices.Contains(marker.StopWords, tok.Word) {
				l.out.drop(tok.End)
			}
			l.in.goOn(inLine, tok.End)
			return lex.Done
		}
		if slices.Contains(marker.StopWords, tok.Word) {
			l.enterTail(i, tok.End)
			return lex.Done
		}
	}
	return lex.No
}

// openBare enters a call without a marker, where the context allows one.
func (l *lines) openBare(i int, atLine bool) lex.Status {
	if l.around.cited && !l.in.mentions {
		return lex.No
	}
	st, format := l.around.probe(false).At(i)
	if st != lex.Done {
		return st
	}
	if !l.in.mentions && !atLine && format != marker.FormatPythonic && !(format == marker.FormatJSON && l.around.labelled(i)) {
		if format != marker.FormatJSON || !l.calls.beginBehind(i) {
			return lex.No
		}
		return lex.Done
	}
	if !l.begin(i, i, format) {
		return lex.No
	}
	return lex.Done
}

// openWrapper enters an object or a list of calls in a tag without meaning.
func (l *lines) openWrapper(i int) lex.Status {
	k, st := marker.Wrapper(l.in.buf, i, l.in.final)
	if st != lex.Done {
		return st
	}
	k = lex.SkipBlank(l.in.buf, k)
	if k == len(l.in.buf) {
		return lex.Unless(l.in.final)
	}
	if l.in.buf[k] != '{' && l.in.buf[k] != '[' {
		return lex.No
	}
	st, format := l.around.probe(false).At(k)
	if st == lex.Done && !l.begin(i, k, format) {
		return lex.No
	}
	return st
}

// beginsPrompt reports whether b begins with >>>name. A citation and a program's prompt
// have a space there.
func beginsPrompt(b []byte) bool {
	return len(b) > len(marker.Prompt) && bytes.HasPrefix(b, []byte(marker.Prompt)) && lex.IsLetter(b[len(marker.Prompt)])
}

// openPrompt enters >>>name and an object on the next line, and skips >>>all, after
// which is text.
func (l *lines) openPrompt(i int) lex.Status {
	b := l.in.buf[:min(len(l.in.buf), i+lookahead.Max)]
	final := l.in.final || len(b) == i+lookahead.Max
	switch rest := b[i:]; {
	case !final && len(rest) <= len(marker.Prompt) && strings.HasPrefix(marker.Prompt, string(rest)):
		return lex.More
	case !beginsPrompt(rest):
		return lex.No
	}
	from := i + len(marker.Prompt)
	end, unsure := lex.NameRun(b, from, final)
	if unsure {
		return lex.More
	}
	name, k := string(b[from:end]), lex.SkipBlank(b, end)
	switch {
	case k == len(b):
		return lex.Unless(final)
	case name == "all" && b[end] == '\n':
		l.around.flush(i)
		l.out.drop(end + 1)
		l.in.goOn(inLine, end+1)
		return lex.Done
	case b[k] != '{' || l.in.tools.Find(name) == nil || !l.around.mayCall(i) || !l.in.mentions && l.around.isQuoted(i) || !l.beginMarked(i, from, marker.FormatNameJSON):
		return lex.No
	}
	return lex.Done
}

// openWord enters the forms that a word at the start of a line announces.
func (l *lines) openWord(i int) lex.Status {
	rest := l.in.buf[i:min(len(l.in.buf), i+64)]
	for n, word := range append([]string{marker.Functools, marker.RoleForm, marker.CallForm}, marker.RecipientForms...) {
		if len(rest) < len(word) {
			if !l.in.final && strings.EqualFold(string(rest), word[:len(rest)]) {
				return lex.More
			}
			continue
		}
		if !strings.EqualFold(string(rest[:len(word)]), word) {
			continue
		}
		switch n {
		case 0:
			return l.openFunctools(i)
		case 1:
			if l.around.mayCall(i) && l.beginMarked(i, i+len(word), marker.FormatToken) {
				return lex.Done
			}
			return lex.No
		case 2:
			if st := l.openNamed(i, i+len(word)); st != lex.No {
				return st
			}
			continue
		}
		return l.openRecipient(i)
	}
	return l.openReAct(i)
}

// skipRole skips the role's name after a special token that leaked.
func (l *lines) skipRole(i int) lex.Status {
	const word = "assistant"
	if i == 0 || l.in.buf[i-1] != '>' {
		return lex.No
	}
	rest := l.in.buf[i:]
	if len(rest) <= len(word) {
		if strings.HasPrefix(word, string(rest)) {
			return lex.Unless(l.in.final)
		}
		return lex.No
	}
	if next := rest[len(word)]; !strings.HasPrefix(string(rest[:len(word)]), word) || next != '\n' && next != '<' && next != '{' && next != '[' {
		return lex.No
	}
	l.in.goOn(inLine, i+len(word))
	return lex.Done
}

// openNamed enters call:name{…}, whose tokens are lost.
func (l *lines) openNamed(i, at int) lex.Status {
	end, unsure := lex.NameRun(l.in.buf, at, l.in.final)
	switch {
	case unsure:
		return lex.More
	case end == at || end == len(l.in.buf) || l.in.buf[end] != '{' || l.in.tools.Find(string(l.in.buf[at:end])) == nil || !l.around.mayCall(i) || !l.beginMarked(i, at, marker.FormatToken):
		return lex.No
	}
	return lex.Done
}

func (l *lines) openFunctools(i int) lex.Status {
	j := lex.SkipBlank(l.in.buf, i+len(marker.Functools))
	if j == len(l.in.buf) && !l.in.final {
		return lex.More
	}
	if j < len(l.in.buf) && l.in.buf[j] == '[' && l.around.mayCall(i) && l.begin(i, j, marker.FormatFunctools) {
		return lex.Done
	}
	return lex.No
}

// openCalling enters [Calling tool: name with arguments: {…}].
func (l *lines) openCalling(i int) lex.Status {
	name, at, open, st := marker.Calling(l.in.buf, i, l.in.final)
	switch {
	case st != lex.Done && (name == "" || l.in.tools.Find(name) != nil):
		return st
	case l.in.tools.Find(name) == nil || !l.around.mayCall(i) || !l.begin(i, open, marker.FormatCalling):
		return lex.No
	case l.in.buf[open] == '(':
		l.in.pos = at
	default:
		l.calls.nameCall(name)
	}
	return lex.Done
}
