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
func (p *parser) open(i int, atLine bool) lex.Status {
	b := p.buf
	switch c := b[i]; {
	case c == '<' || c == '[':
		tok, st := marker.At(p.t, b, i, p.final)
		if st == lex.Done {
			return p.openToken(tok, i, atLine)
		}
		if st == lex.No && c == '<' && atLine {
			return p.openWrapper(i)
		}
		if st == lex.More || c == '<' {
			return st
		}
		if st := p.openCalling(i); st != lex.No {
			return st
		}
		if bytes.HasSuffix(b[:i], []byte(marker.Functools)) && p.mayCall(i) && p.beginGroup(i, i, marker.FormatFunctools) {
			return lex.Done
		}
		return p.openBare(i, atLine)
	case c == '`':
		return p.openCode(i, atLine)
	case c == '>':
		return p.openPrompt(i)
	case c == '{' || c == '(' || lex.IsQuote(c):
		return p.openBare(i, atLine)
	case lex.IsLetter(c):
		if atLine && p.start {
			if st := p.skipRole(i); st != lex.No {
				return st
			}
		}
		if atLine {
			if st := p.openWord(i); st != lex.No {
				return st
			}
		}
		return p.openBare(i, atLine)
	}
	return lex.No
}

// openToken enters what a marker begins.
func (p *parser) openToken(tok marker.Token, i int, atLine bool) lex.Status {
	switch tok.Role {
	case marker.RoleThink:
		if p.mentions || !atLine && !p.start {
			return lex.No
		}
		p.enterThought(i, tok.End, false)
		p.opened = tok.End
		return lex.Done
	case marker.RoleThinkEnd: // its opener was part of the prompt, or is lost
		p.flush(i)
		p.leaveThought(tok.End)
		return lex.Done
	case marker.RoleHarmony:
		return p.openHeader(tok, i)
	case marker.RoleOpen, marker.RoleInvoke:
		if !p.mentions && p.isQuoted(i) || !p.mayCall(i) {
			return lex.No
		}
		if !p.beginGroup(i, i, tok.Format) {
			return lex.No
		}
		return lex.Done
	case marker.RoleJunk, marker.RoleClose:
		if p.start && tok.Role == marker.RoleJunk {
			if slices.Contains(marker.StopWords, tok.Word) {
				p.drop(tok.End)
			}
			p.pos, p.mode = tok.End, inLine
			return lex.Done
		}
		if slices.Contains(marker.StopWords, tok.Word) {
			p.pos, p.mode, p.tail, p.newline = tok.End, inTail, i, false
			return lex.Done
		}
	}
	return lex.No
}

func (p *parser) enterThought(from, to int, harmony bool) {
	if !p.start {
		p.flush(from)
	}
	p.drop(to)
	p.mode, p.pos, p.harmony, p.drafted, p.opened, p.lone = inThought, to, harmony, -1, -1, nil
}

// leaveThought goes on after a thought, as if the message began there.
func (p *parser) leaveThought(to int) {
	p.drop(to)
	p.mode, p.pos, p.drafted, p.opened = inLine, to, -1, -1
	p.start, p.prose, p.doc = p.last == nil, 0, false
}

// probe looks ahead for a call without a marker.
func (p *parser) probe(inside bool) lookahead.Probe {
	return lookahead.Probe{Tools: p.t, Text: p.buf, Final: p.final, Start: p.start, Inside: inside}
}

// openBare enters a call without a marker, where the context allows one.
func (p *parser) openBare(i int, atLine bool) lex.Status {
	if p.cited && !p.mentions {
		return lex.No
	}
	st, format := p.probe(false).At(i)
	if st != lex.Done {
		return st
	}
	if !p.mentions && !atLine && format != marker.FormatPythonic && !(format == marker.FormatJSON && p.labelled(i)) {
		return lex.No
	}
	if !p.beginGroup(i, i, format) {
		return lex.No
	}
	return lex.Done
}

// openWrapper enters an object or a list of calls in a tag without meaning.
func (p *parser) openWrapper(i int) lex.Status {
	k, st := marker.Wrapper(p.buf, i, p.final)
	if st != lex.Done {
		return st
	}
	k = lex.SkipBlank(p.buf, k)
	if k == len(p.buf) {
		return lex.Unless(p.final)
	}
	if p.buf[k] != '{' && p.buf[k] != '[' {
		return lex.No
	}
	st, format := p.probe(false).At(k)
	if st == lex.Done && !p.beginGroup(i, k, format) {
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
func (p *parser) openPrompt(i int) lex.Status {
	b := p.buf[:min(len(p.buf), i+lookahead.Max)]
	final := p.final || len(b) == i+lookahead.Max
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
		p.flush(i)
		p.drop(end + 1)
		p.mode, p.pos = inLine, end+1
		return lex.Done
	case b[k] != '{' || p.t.Find(name) == nil || !p.mayCall(i) || !p.mentions && p.isQuoted(i) || !p.beginMarked(i, from, marker.FormatNameJSON):
		return lex.No
	}
	return lex.Done
}

// openWord enters the forms that a word at the start of a line announces.
func (p *parser) openWord(i int) lex.Status {
	rest := p.buf[i:min(len(p.buf), i+64)]
	for n, word := range append([]string{marker.Functools, marker.RoleForm, marker.CallForm}, marker.RecipientForms...) {
		if len(rest) < len(word) {
			if !p.final && strings.EqualFold(string(rest), word[:len(rest)]) {
				return lex.More
			}
			continue
		}
		if !strings.EqualFold(string(rest[:len(word)]), word) {
			continue
		}
		switch n {
		case 0:
			return p.openFunctools(i)
		case 1:
			if p.mayCall(i) && p.beginMarked(i, i+len(word), marker.FormatToken) {
				return lex.Done
			}
			return lex.No
		case 2:
			if st := p.openNamed(i, i+len(word)); st != lex.No {
				return st
			}
			continue
		}
		return p.openRecipient(i)
	}
	return p.openReAct(i)
}

// skipRole skips the role's name after a special token that leaked.
func (p *parser) skipRole(i int) lex.Status {
	const word = "assistant"
	if i == 0 || p.buf[i-1] != '>' {
		return lex.No
	}
	rest := p.buf[i:]
	if len(rest) <= len(word) {
		if strings.HasPrefix(word, string(rest)) {
			return lex.Unless(p.final)
		}
		return lex.No
	}
	if next := rest[len(word)]; !strings.HasPrefix(string(rest[:len(word)]), word) || next != '\n' && next != '<' && next != '{' && next != '[' {
		return lex.No
	}
	p.pos, p.mode = i+len(word), inLine
	return lex.Done
}

// openNamed enters call:name{…}, whose tokens are lost.
func (p *parser) openNamed(i, at int) lex.Status {
	end, unsure := lex.NameRun(p.buf, at, p.final)
	switch {
	case unsure:
		return lex.More
	case end == at || end == len(p.buf) || p.buf[end] != '{' || p.t.Find(string(p.buf[at:end])) == nil || !p.mayCall(i) || !p.beginMarked(i, at, marker.FormatToken):
		return lex.No
	}
	return lex.Done
}

func (p *parser) openFunctools(i int) lex.Status {
	j := lex.SkipBlank(p.buf, i+len(marker.Functools))
	if j == len(p.buf) && !p.final {
		return lex.More
	}
	if j < len(p.buf) && p.buf[j] == '[' && p.mayCall(i) && p.beginGroup(i, j, marker.FormatFunctools) {
		return lex.Done
	}
	return lex.No
}

// openCalling enters [Calling tool: name with arguments: {…}].
func (p *parser) openCalling(i int) lex.Status {
	name, at, open, st := marker.Calling(p.buf, i, p.final)
	switch {
	case st != lex.Done && (name == "" || p.t.Find(name) != nil):
		return st
	case p.t.Find(name) == nil || !p.mayCall(i) || !p.beginGroup(i, open, marker.FormatCalling):
		return lex.No
	case p.buf[open] == '(':
		p.pos = at
	default:
		p.g.setName(name)
	}
	return lex.Done
}
