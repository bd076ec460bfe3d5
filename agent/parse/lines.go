package parse

import (
	"bytes"
	"slices"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// lineStep decides whether a line begins with a call, a fence or a heading.
func (p *parser) lineStep() bool {
	b := p.buf
	i := p.pos
	for i < len(b) && i-p.pos < lex.MaxIndent && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	switch {
	case i == len(b):
		if p.final {
			p.pos = i
		}
		return p.undecided(p.pos)
	case i-p.pos >= lex.MaxIndent:
		p.enterText(i)
		return true
	case b[i] == '\n':
		p.pos = i + 1
		return true
	}
	at, st := lex.Decoration(b, i, p.final)
	if st == lex.More {
		return p.undecided(p.pos)
	}
	p.doc = p.doc || b[i] == '#' || b[i] == '|'
	p.cited = b[i] == '>' && at == i && !beginsPrompt(b[i:]) || b[i] == '|'
	p.lead = i
	switch p.open(at, true) {
	case lex.More:
		return p.undecided(p.pos)
	case lex.No:
		p.enterText(i)
	}
	return true
}

// undecided stops the scan; text from i on is held.
func (p *parser) undecided(i int) bool {
	p.hold = i
	return false
}

// enterText goes on in the middle of a line.
func (p *parser) enterText(i int) {
	p.mode, p.pos = inText, i
	p.start = p.start && i >= len(p.buf)
}

// textStep scans one line's text for what may begin a call inside it.
func (p *parser) textStep() bool {
	b := p.buf
	for i := p.pos; i < len(b); i++ {
		if !p.t.Stops[b[i]] && !(p.mentions && p.beginsWord(i)) {
			continue
		}
		p.pos = i
		switch b[i] {
		case '\n':
			return p.lineEnd(i)
		case ':', 0xEF:
			at, st := p.afterColon(i)
			if st == lex.More {
				return p.undecided(min(i+1, p.t.HeldName(b)))
			}
			if st != lex.Done {
				continue
			}
			switch p.open(at, false) {
			case lex.More:
				return p.undecided(at)
			case lex.No:
				continue
			}
			return true
		case '>':
			if closesTag(b, i) {
				continue
			}
			switch p.open(i, false) {
			case lex.More:
				return p.undecided(i)
			case lex.No:
				for i+1 < len(b) && b[i+1] == '>' {
					i++
				}
				continue
			}
			return true
		case '`':
			n, open := lex.TickRun(b, i)
			if open && !p.final {
				return p.undecided(i)
			}
			if p.mentions {
				i += n - 1
				continue
			}
			p.mode, p.ticks, p.pos = inCode, n, i+n
			return true
		default: // < and [
			switch p.open(i, false) {
			case lex.More:
				return p.undecided(i)
			case lex.No:
				continue
			}
			return true
		}
	}
	p.pos = len(b)
	if p.final {
		return false
	}
	return p.undecided(p.t.HeldName(b))
}

// closesTag reports whether the '>' at b[i] ends a tag.
func closesTag(b []byte, i int) bool {
	line := b[max(0, i-64):i]
	return bytes.LastIndexByte(line, '<') > max(bytes.LastIndexByte(line, '>'), bytes.LastIndexByte(line, '\n'))
}

// lineEnd looks whether the line ends with a declared name that runs into the
// text, with its arguments on the next line.
func (p *parser) lineEnd(i int) bool {
	b := p.buf
	if j := lex.SkipBlank(b, i); j == len(b) || b[j] == '{' {
		name := p.gluedName(i)
		if name >= p.out && j == len(b) && !p.final {
			return p.undecided(name)
		}
		if name >= p.out && j < len(b) && p.beginGroup(name, name, marker.FormatNameJSON) {
			return true
		}
	}
	p.mode, p.pos = inLine, i+1
	return true
}

func (p *parser) gluedName(i int) int {
	if p.t.AnyName {
		return -1
	}
	for n := 0; n < 8 && i > p.out && (p.buf[i-1] == ' ' || p.buf[i-1] == '\r'); n++ {
		i--
	}
	if i == p.out || !lex.IsNameByte(p.buf[i-1]) {
		return -1
	}
	if at := p.t.NameAtEnd(p.buf[:i]); at >= p.out { // the byte before it may have been emitted
		return at
	}
	return -1
}

// afterColon returns where the text goes on after a label's colon, if a call
// may begin there.
func (p *parser) afterColon(i int) (int, lex.Status) {
	b := p.buf
	j := i + 1
	if b[i] == 0xEF { // the full-width colon
		if len(b)-i < 3 && !p.final {
			return 0, lex.More
		}
		if !bytes.HasPrefix(b[i:], []byte("：")) {
			return 0, lex.No
		}
		j = i + 3
	}
	for j < len(b) && j-i < 12 && (b[j] == ' ' || b[j] == '*') {
		j++
	}
	if j >= len(b) {
		if p.final {
			return 0, lex.No
		}
		return 0, lex.More
	}
	if c := b[j]; c == '{' || c == '[' || c == '(' || c == '`' || p.t.First[c] {
		return j, lex.Done
	}
	return 0, lex.No
}

// tailStep looks whether anything follows the special tokens that may end the
// reply. A call that follows them has lost its own marker to them.
func (p *parser) tailStep() bool {
	b := p.buf
	for p.pos < len(b) {
		c := b[p.pos]
		if lex.IsSpace(c) {
			p.newline = p.newline || c == '\n'
			p.pos++
			continue
		}
		st := lex.No
		var tok marker.Token
		if c == '<' {
			tok, st = marker.At(p.t, b, p.pos, p.final)
		}
		switch {
		case st == lex.More:
			return p.undecided(p.tail)
		case st == lex.Done && slices.Contains(marker.StopWords, tok.Word):
			p.pos = tok.End
			continue
		case p.newline || c == '{' || c == '[':
			switch p.open(p.pos, true) {
			case lex.More:
				return p.undecided(p.tail)
			case lex.Done:
				return true
			}
		}
		p.mode = inText
		if p.newline {
			p.mode = inLine
		}
		return true
	}
	return p.undecided(p.tail)
}
