package parse

import (
	"bytes"
	"slices"
)

// maxIndent bounds what may stand before a call on its line, in bytes.
const maxIndent = 64

// lineStep decides whether a line begins with a call, a fence or a heading.
func (p *parser) lineStep() bool {
	b := p.buf
	i := p.pos
	for i < len(b) && i-p.pos < maxIndent && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	switch {
	case i == len(b):
		if p.final {
			p.pos = i
		}
		return p.undecided(p.pos)
	case i-p.pos >= maxIndent:
		p.enterText(i)
		return true
	case b[i] == '\n':
		p.pos = i + 1
		return true
	}
	at, st := p.decoration(i)
	if st == more {
		return p.undecided(p.pos)
	}
	if b[i] == '>' { // Functionary: >>>name
		n := i
		for n < len(b) && n-i < 3 && b[n] == '>' {
			n++
		}
		if n == len(b) && !p.final {
			return p.undecided(p.pos)
		}
		if n-i == 3 && n < len(b) && isLetter(b[n]) {
			at = n
		}
	}
	p.doc = p.doc || b[i] == '#' || b[i] == '|'
	p.cited = b[i] == '>' && at == i || b[i] == '|'
	p.lead = i
	switch p.open(at, true) {
	case more:
		return p.undecided(p.pos)
	case no:
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

// decoration skips list bullets and emphasis at the start of a line.
func (p *parser) decoration(i int) (int, status) {
	b := p.buf
	for n := 0; n < 3; n++ {
		j := i
		switch c := b[j]; {
		case c == '*' || c == '_':
			for j < len(b) && b[j] == c && j-i < 3 {
				j++
			}
		case c == '-' || c == '+':
			j++
		case isDigit(c):
			for j < len(b) && isDigit(b[j]) && j-i < 4 {
				j++
			}
			if j < len(b) && b[j] != '.' && b[j] != ')' {
				return i, done
			}
			j++
		default:
			return i, done
		}
		word := j
		for j < len(b) && j-i < maxIndent && b[j] == ' ' {
			j++
		}
		if j >= len(b) {
			if p.final {
				return i, done
			}
			return i, more
		}
		if j == word && b[i] != '*' && b[i] != '_' {
			return i, done // -5, 3.5
		}
		i = j
	}
	return i, done
}

// textStep scans one line's text for what may begin a call inside it.
func (p *parser) textStep() bool {
	b := p.buf
	for i := p.pos; i < len(b); i++ {
		if !p.t.stops[b[i]] {
			continue
		}
		p.pos = i
		switch b[i] {
		case '\n':
			return p.lineEnd(i)
		case ':', 0xEF:
			at, st := p.afterColon(i)
			if st == more {
				return p.undecided(min(i+1, p.t.heldName(b)))
			}
			if st != done {
				continue
			}
			switch p.open(at, false) {
			case more:
				return p.undecided(at)
			case no:
				continue
			}
			return true
		case '`':
			n, open := tickRun(b, i)
			if open && !p.final {
				return p.undecided(i)
			}
			p.mode, p.ticks, p.pos = inCode, n, i+n
			return true
		default: // < and [
			switch p.open(i, false) {
			case more:
				return p.undecided(i)
			case no:
				continue
			}
			return true
		}
	}
	p.pos = len(b)
	if p.final {
		return false
	}
	return p.undecided(p.t.heldName(b))
}

// lineEnd looks whether the line ends with a declared name that runs into the
// text, with its arguments on the next line.
func (p *parser) lineEnd(i int) bool {
	b := p.buf
	if j := skipBlank(b, i); j == len(b) || b[j] == '{' {
		name := p.gluedName(i)
		if name >= p.out && j == len(b) && !p.final {
			return p.undecided(name)
		}
		if name >= p.out && j < len(b) && p.beginGroup(name, name, FormatNameJSON) {
			return true
		}
	}
	p.mode, p.pos = inLine, i+1
	return true
}

func (p *parser) gluedName(i int) int {
	if p.t.any {
		return -1
	}
	for n := 0; n < 8 && i > p.out && (p.buf[i-1] == ' ' || p.buf[i-1] == '\r'); n++ {
		i--
	}
	if i == p.out || !isNameByte(p.buf[i-1]) {
		return -1
	}
	at := p.t.glued(p.buf[p.out:i])
	if at < 0 {
		return -1
	}
	return p.out + at
}

// afterColon returns where the text goes on behind a label's colon, if a call
// may begin there.
func (p *parser) afterColon(i int) (int, status) {
	b := p.buf
	j := i + 1
	if b[i] == 0xEF { // the full-width colon
		if len(b)-i < 3 && !p.final {
			return 0, more
		}
		if !bytes.HasPrefix(b[i:], []byte("：")) {
			return 0, no
		}
		j = i + 3
	}
	for j < len(b) && j-i < 12 && (b[j] == ' ' || b[j] == '*') {
		j++
	}
	if j >= len(b) {
		if p.final {
			return 0, no
		}
		return 0, more
	}
	if c := b[j]; c == '{' || c == '[' || c == '(' || c == '`' || p.t.first[c] {
		return j, done
	}
	return 0, no
}

// tailStep looks whether anything follows the special tokens that may end the
// reply.
func (p *parser) tailStep() bool {
	b := p.buf
	for p.pos < len(b) {
		if isSpace(b[p.pos]) {
			p.pos++
			continue
		}
		st := no
		var tok token
		if b[p.pos] == '<' {
			tok, st = p.t.tokenAt(b, p.pos, p.final)
		}
		switch {
		case st == more:
			return p.undecided(p.tail)
		case st == done && slices.Contains(stopWords, tok.word):
			p.pos = tok.end
		default:
			p.mode = inText
			return true
		}
	}
	return p.undecided(p.tail)
}

// codeStep skips code in a line: it is a quotation.
func (p *parser) codeStep() bool {
	b := p.buf
	for p.pos < len(b) {
		i := bytes.IndexAny(b[p.pos:], "`\n")
		if i < 0 {
			p.pos = len(b)
			break
		}
		i += p.pos
		if b[i] == '\n' {
			p.mode, p.pos = inText, i
			return true
		}
		n, open := tickRun(b, i)
		if open && !p.final {
			p.pos = i
			return p.undecided(i)
		}
		p.pos = i + n
		if n == p.ticks {
			p.mode = inText
			return true
		}
	}
	return p.undecided(len(b))
}

// fenceStep skips the lines of a fence that holds no call, up to its end.
func (p *parser) fenceStep() bool {
	b := p.buf
	p.doc = true
	for p.pos < len(b) {
		if p.midLine {
			i := bytes.IndexByte(b[p.pos:], '\n')
			if i < 0 {
				p.pos = len(b)
				break
			}
			p.pos += i + 1
			p.midLine = false
			continue
		}
		i := p.pos
		for i < len(b) && i-p.pos < maxIndent && (b[i] == ' ' || b[i] == '\t') {
			i++
		}
		n, open := tickRun(b, i)
		if open && i-p.pos < maxIndent && !p.final {
			return p.undecided(p.pos)
		}
		if n >= p.ticks {
			p.mode, p.pos = inText, i+n
			return true
		}
		p.pos = i
		p.midLine = true
	}
	return p.undecided(len(b))
}

// maxTicks bounds a run of backticks; what is longer is several runs.
const maxTicks = 32

// tickRun counts the backticks at i. open says that the run may go on.
func tickRun(b []byte, i int) (n int, open bool) {
	for i+n < len(b) && n < maxTicks && b[i+n] == '`' {
		n++
	}
	return n, i+n == len(b) && n < maxTicks
}
