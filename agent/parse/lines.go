package parse

import (
	"bytes"
	"slices"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/prose"
)

// lines reads the text of the reply, line by line, for what may begin something else.
type lines struct {
	in      *input
	out     *output
	around  *context
	code    *code
	thought *thought
	calls   *groups
	lead    int  // where the line's bullet or emphasis begins
	tail    int  // where the special tokens begin that may end the reply
	newline bool // a line has ended since then
}

// forget follows input.forget.
func (l *lines) forget(n int) { l.tail -= n }

// begin begins a group, as groups.begin, with its bullet.
func (l *lines) begin(start, at int, format marker.Format) bool {
	return l.calls.begin(l.withBullet(start), at, format)
}

// beginMarked begins a group, as groups.beginMarked, with its bullet.
func (l *lines) beginMarked(start, at int, format marker.Format) bool {
	return l.calls.beginMarked(l.withBullet(start), at, format)
}

// enterTail enters the special tokens that begin at from and were read up to pos.
func (l *lines) enterTail(from, pos int) {
	l.tail, l.newline = from, false
	l.in.goOn(inTail, pos)
}

// lineStep decides whether a line begins with a call, a fence or a heading.
func (l *lines) lineStep() bool {
	b := l.in.buf
	i := l.in.pos
	for i < len(b) && i-l.in.pos < lex.MaxIndent && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	switch {
	case i == len(b):
		if l.in.final {
			l.in.pos = i
		}
		return l.out.undecided(l.in.pos)
	case i-l.in.pos >= lex.MaxIndent:
		l.enterText(i)
		return true
	case b[i] == '\n':
		l.in.pos = i + 1
		return true
	}
	at, st := lex.Decoration(b, i, l.in.final)
	if st == lex.More {
		return l.out.undecided(l.in.pos)
	}
	l.around.beginLine(b[i] == '#' || b[i] == '|', b[i] == '>' && at == i && !beginsPrompt(b[i:]) || b[i] == '|')
	l.lead = i
	switch l.open(at, true) {
	case lex.More:
		return l.out.undecided(l.in.pos)
	case lex.No:
		l.enterText(i)
	}
	return true
}

// enterText goes on in the middle of a line.
func (l *lines) enterText(i int) {
	l.in.goOn(inText, i)
	if i < len(l.in.buf) {
		l.around.begin()
	}
}

// textStep scans one line's text for what may begin a call inside it.
func (l *lines) textStep() bool {
	b, stops, mentions := l.in.buf, &l.in.tools.Stops, l.in.mentions
	for i := l.in.pos; i < len(b); i++ {
		if !stops[b[i]] && !(mentions && l.in.beginsWord(i)) {
			continue
		}
		l.in.pos = i
		switch b[i] {
		case '\n':
			return l.lineEnd(i)
		case ':', 0xEF:
			if l.in.marked {
				continue
			}
			at, st := l.afterColon(i)
			if st == lex.More {
				return l.out.undecided(min(i+1, l.held()))
			}
			if st != lex.Done {
				continue
			}
			switch l.open(at, false) {
			case lex.More:
				return l.out.undecided(at)
			case lex.No:
				continue
			}
			return true
		case '>':
			if l.in.marked || closesTag(b, i) {
				continue
			}
			switch l.open(i, false) {
			case lex.More:
				return l.out.undecided(i)
			case lex.No:
				for i+1 < len(b) && b[i+1] == '>' {
					i++
				}
				continue
			}
			return true
		case '`':
			n, open := lex.TickRun(b, i)
			if open && !l.in.final {
				return l.out.undecided(i)
			}
			if l.in.mentions {
				i += n - 1
				continue
			}
			l.code.enterLine(n, i+n)
			return true
		case '{':
			if !mentions && !prose.MayPrecede(l.around.lookBack(i)) { // or its label has been looked at
				continue
			}
			switch l.open(i, false) {
			case lex.More:
				return l.out.undecided(i)
			case lex.No:
				continue
			}
			return true
		default: // < and [
			switch l.open(i, false) {
			case lex.More:
				return l.out.undecided(i)
			case lex.No:
				continue
			}
			return true
		}
	}
	l.in.pos = len(b)
	if l.in.final {
		return false
	}
	return l.out.undecided(l.held())
}

// held returns where a name begins that the text may end in the middle of.
func (l *lines) held() int {
	if l.in.marked {
		return len(l.in.buf)
	}
	return l.in.tools.HeldName(l.in.buf)
}

// closesTag reports whether the '>' at b[i] ends a tag.
func closesTag(b []byte, i int) bool {
	line := b[max(0, i-64):i]
	return bytes.LastIndexByte(line, '<') > max(bytes.LastIndexByte(line, '>'), bytes.LastIndexByte(line, '\n'))
}

// lineEnd looks whether the line ends with a declared name that runs into the
// text, with its arguments on the next line.
func (l *lines) lineEnd(i int) bool {
	b := l.in.buf
	if j := lex.SkipBlank(b, i); !l.in.marked && (j == len(b) || b[j] == '{') {
		name := l.gluedName(i)
		if name >= l.out.sent && j == len(b) && !l.in.final {
			return l.out.undecided(name)
		}
		if name >= l.out.sent && j < len(b) && l.begin(name, name, marker.FormatNameJSON) {
			return true
		}
	}
	l.in.goOn(inLine, i+1)
	return true
}

func (l *lines) gluedName(i int) int {
	if l.in.tools.AnyName {
		return -1
	}
	for n := 0; n < 8 && i > l.out.sent && (l.in.buf[i-1] == ' ' || l.in.buf[i-1] == '\r'); n++ {
		i--
	}
	if i == l.out.sent || !lex.IsNameByte(l.in.buf[i-1]) {
		return -1
	}
	if at := l.in.tools.NameAtEnd(l.in.buf[:i]); at >= l.out.sent { // the byte before it may have been emitted
		return at
	}
	return -1
}

// afterColon returns where the text goes on after a label's colon, if a call
// may begin there.
func (l *lines) afterColon(i int) (int, lex.Status) {
	b := l.in.buf
	j := i + 1
	if b[i] == 0xEF { // the full-width colon
		if len(b)-i < 3 && !l.in.final {
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
		if l.in.final {
			return 0, lex.No
		}
		return 0, lex.More
	}
	if c := b[j]; c == '{' || c == '[' || c == '(' || c == '`' || l.in.tools.First[c] {
		return j, lex.Done
	}
	return 0, lex.No
}

// tailStep looks whether anything follows the special tokens that may end the
// reply. A call that follows them has lost its own marker to them.
func (l *lines) tailStep() bool {
	b := l.in.buf
	for l.in.pos < len(b) {
		c := b[l.in.pos]
		if lex.IsSpace(c) {
			l.newline = l.newline || c == '\n'
			l.in.pos++
			continue
		}
		st := lex.No
		var tok marker.Token
		if c == '<' {
			tok, st = l.in.token(l.in.pos)
		}
		switch {
		case st == lex.More:
			return l.out.undecided(l.tail)
		case st == lex.Done && slices.Contains(marker.StopWords, tok.Word):
			l.in.pos = tok.End
			continue
		case l.newline || c == '{' || c == '[':
			switch l.open(l.in.pos, true) {
			case lex.More:
				return l.out.undecided(l.tail)
			case lex.Done:
				return true
			}
		}
		l.in.mode = inText
		if l.newline {
			l.in.mode = inLine
		}
		return true
	}
	return l.out.undecided(l.tail)
}

// withBullet moves the start of a call on its own line to the line's bullet.
func (l *lines) withBullet(start int) int {
	switch l.in.mode {
	case inLine:
		return min(start, l.lead)
	case inTail:
		return l.tail
	}
	return start
}
