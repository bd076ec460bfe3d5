package parse

import (
	"strings"
)

// A group is a run of calls with nothing but white space, punctuation and
// markers between them. What it holds is given out as calls, or, if it turns
// out to be no call, as text.
type group struct {
	from    int // its first byte; the text from here on is held
	end     int // behind its last call or closing marker
	typed   bool
	format  Format
	first   Format // the format it was entered with
	confirm confirm
	strict  bool // arguments must fit the schema, being in the middle of text
	fence   bool // inside a fence
	fenced  bool // it has been in one
	fresh   bool // a marker has opened and no call followed yet: any name may
	single  bool // ends with its first call
	depth   int  // open brackets of lists
	eol     bool // the last thing was a line's end
	comment bool // inside a line that is skipped
	at      int  // where it was entered
	name    string
	nameAt  int
	item    *item
	calls   int // calls and malformed ones
	waiting []Event
	given   bool
}

func (g *group) shift(n int) {
	g.from -= n
	g.end -= n
	g.nameAt -= n
	g.at -= n
	if g.item != nil {
		g.item.from -= n
		g.item.open -= n
	}
}

func (g *group) setName(s string) { g.name = s }

// beginGroup enters a group at offset at; the text from start on belongs to
// it. It refuses where the context takes a call of this format for a quotation.
func (p *parser) beginGroup(start, at int, format Format) bool {
	switch format {
	case FormatFence, FormatJSON, FormatPythonic, FormatNameJSON:
	default:
		return p.beginMarked(start, at, format)
	}
	start = p.withBullet(start)
	g := &group{format: format, strict: !p.start}
	g.confirm = p.context(start, format, start < at && p.buf[start] != '*')
	switch {
	case g.confirm == declined:
		return false
	case g.confirm != atOnce || format == FormatFence || format == FormatNameJSON:
	case p.buf[at] == '`' && !p.start:
		g.confirm = atEnd
	case p.buf[at] != '[' && p.buf[at] != '{':
		g.confirm = atEOL
	}
	p.enterGroup(g, start, at)
	return true
}

// beginMarked enters a group that a marker announces.
func (p *parser) beginMarked(start, at int, format Format) bool {
	start = p.withBullet(start)
	p.enterGroup(&group{format: format, typed: true, fresh: true, confirm: p.typedContext(start, format)}, start, at)
	return true
}

// withBullet moves the start of a call on its own line to the line's bullet.
func (p *parser) withBullet(start int) int {
	if p.mode == inLine {
		return min(start, p.lead)
	}
	return start
}

func (p *parser) enterGroup(g *group, start, at int) {
	g.first, g.from, g.end, g.at, g.nameAt = g.format, start, start, at, at
	if p.start {
		g.from = p.out
	} else {
		p.flush(start)
	}
	p.g, p.mode, p.pos = g, inGroup, at
	p.block++
}

// groupStep reads on inside a group.
func (p *parser) groupStep() bool {
	g := p.g
	if g.item != nil {
		return p.itemStep()
	}
	b := p.buf
	if p.pos >= len(b) {
		if p.final {
			p.endGroup()
			return p.pos < len(p.buf)
		}
		return false
	}
	if g.comment {
		return p.skipLine() == done
	}
	c := b[p.pos]
	if isSpace(c) {
		if c == '\n' {
			g.eol = true
			p.confirmLine()
		}
		p.pos++
		return true
	}
	switch st := p.part(c); st {
	case more:
		if p.final {
			p.pos = len(b)
			return true
		}
		return false
	case no:
		p.endGroup()
	}
	return true
}

// part handles one thing between two calls. no: the group ends here.
func (p *parser) part(c byte) status {
	g := p.g
	switch c {
	case ',', ';':
		if c == ';' {
			p.confirmLine()
			p.closed(p.pos + 1)
			return done
		}
		p.pos++
		return done
	case ']', ')', '}', '>':
		if c == '>' && !g.typed {
			return no
		}
		g.depth = max(0, g.depth-1)
		p.closed(p.pos + 1)
		return done
	case '<':
		return p.tokenPart()
	case '[':
		if tok, st := p.t.tokenAt(p.buf, p.pos, p.final); st != no {
			if st == more {
				return more
			}
			return p.markerPart(tok)
		}
		return p.bracketPart()
	case '(':
		return p.bracketPart()
	case '{':
		return p.objectPart()
	case '`':
		return p.tickPart()
	case '"', '\'':
		return p.quotePart(c)
	case '*':
		p.pos++
		if g.calls > 0 {
			g.end = p.pos
		}
		return done
	case '/':
		if g.typed { // the end of a marker that closes itself
			p.pos++
			return done
		}
	case '-', '+':
		if g.eol || g.calls == 0 {
			p.pos++
			return done
		}
	case '#':
		if g.fence || g.calls > 0 && isBlank(p.buf[p.pos-1]) {
			g.comment = true
			return p.skipLine()
		}
	case '.':
		return p.stopPart()
	}
	switch {
	case isLetter(c):
		return p.wordPart()
	case isDigit(c) && g.eol:
		return p.numberPart()
	}
	return no
}

// closed takes a closing bracket, quote or marker into the group.
func (p *parser) closed(end int) {
	p.pos = end
	if p.g.calls > 0 {
		p.g.end = end
	}
}

// tokenPart handles a marker in angle brackets.
func (p *parser) tokenPart() status {
	tok, st := p.t.tokenAt(p.buf, p.pos, p.final)
	if st == no && p.g.typed {
		return p.plainTag()
	}
	if st != done {
		return st
	}
	return p.markerPart(tok)
}

func (p *parser) markerPart(tok token) status {
	g := p.g
	switch tok.role {
	case roleOpen:
		if g.single && g.calls > 0 {
			return no
		}
		p.block++
		g.typed, g.fresh = true, true
		if g.confirm == atEOL {
			g.confirm = atOnce
		}
		if g.calls == 0 && g.format != FormatDeepSeek && g.format != FormatKimi && g.format != FormatHarmony || g.format == FormatFence {
			g.format = tok.format
		}
		g.name, g.nameAt = tok.name, p.pos
		p.closed(tok.end)
	case roleClose:
		g.fresh = false
		if g.name != "" && g.item == nil {
			p.emptyCall()
		}
		g.name = ""
		if g.calls > 0 { // also where its opening marker was lost
			if !g.typed {
				p.confirmAll()
			}
			g.typed = true
		}
		p.closed(tok.end)
	case roleSep:
		if tok.word == "[call_id]" { // the id stands behind it
			return p.callID(tok.end)
		}
		p.pos = tok.end
	case roleJunk:
		p.closed(tok.end)
		if strings.HasPrefix(tok.word, "|im_") || strings.HasPrefix(tok.word, "|eot") {
			p.block++
			g.eol = true
			p.confirmLine()
		}
	case roleInvoke:
		if tok.format == FormatInvoke || tok.format == FormatXML || tok.format == FormatTags {
			return p.beginTagged(tok)
		}
		return no
	case roleParam:
		if g.name != "" {
			return p.beginItem(itemTagged, g.nameAt, p.pos)
		}
		return no
	case roleHarmony:
		return p.headerPart(tok)
	default:
		return no
	}
	return done
}

// callID skips the id between [CALL_ID] and [ARGS].
func (p *parser) callID(i int) status {
	end, unsure := nameRun(p.buf, i, p.final)
	if unsure {
		return more
	}
	p.pos = end
	return done
}

// bracketPart handles an opening bracket: of a list of calls, or of a call
// that is written as a tuple.
func (p *parser) bracketPart() status {
	b := p.buf
	k := p.pos + 1
	for k < len(b) && k-p.pos < maxIndent && isSpace(b[k]) {
		k++
	}
	if k < len(b) && isQuote(b[k]) {
		k++
	}
	end, unsure := nameRun(b, k, p.final)
	if unsure || k == len(b) && !p.final {
		return more
	}
	if end > k && p.t.find(string(b[k:end])) != nil {
		j := end
		if j < len(b) && isQuote(b[j]) {
			j++
		}
		j = skipBlank(b, j)
		if j == len(b) && !p.final {
			return more
		}
		if j < len(b) && b[j] == ',' && !(p.t.any && j == end) {
			return p.beginItem(itemTuple, p.pos, p.pos)
		}
	}
	p.g.depth++
	p.pos++
	return done
}

func skipBlank(b []byte, i int) int {
	for n := 0; i < len(b) && n < maxIndent && isSpace(b[i]); n++ {
		i++
	}
	return i
}

// objectPart begins an object, unless the brace stands around a call.
func (p *parser) objectPart() status {
	b := p.buf
	if p.g.name == "" && !p.g.typed {
		st, format := p.probe(p.pos, true)
		switch {
		case st == more:
			return more
		case st == done && format == FormatPythonic:
			p.pos++
			return done
		case st == no && p.g.depth == 0 && !p.g.fence:
			return no
		}
	} else if k := skipBlank(b, p.pos+1); k == len(b) && !p.final {
		return more
	}
	if p.g.name != "" {
		return p.beginItem(itemNamed, p.g.nameAt, p.pos)
	}
	return p.beginItem(itemObject, p.pos, p.pos)
}

// tickPart handles backticks: code marks around a call, or a fence.
func (p *parser) tickPart() status {
	b, g := p.buf, p.g
	n, open := tickRun(b, p.pos)
	if open && !p.final {
		return more
	}
	if n < 3 {
		p.closed(p.pos + n)
		return done
	}
	if g.fence {
		g.fence = false
		g.eol = true
		p.closed(p.pos + n)
		if g.typed {
			return done
		}
		p.confirmLine()
		return done
	}
	body, info, st := fenceInfo(b, p.pos+n, p.final)
	if st == more {
		return more
	}
	if st == no {
		if g.calls > 0 { // a fence's end whose beginning is missing
			p.closed(p.pos + n)
			return done
		}
		return no
	}
	if g.calls > 0 {
		switch st := p.payloadAt(body, info); st {
		case more:
			return st
		case no:
			p.closed(p.pos + n)
			return done
		}
	}
	p.block++
	g.fence, g.fenced, g.eol = true, true, true
	p.pos = body
	return done
}

// quotePart handles a quote: around a call, or of a string that is no call.
func (p *parser) quotePart(c byte) status {
	b, g := p.buf, p.g
	if p.pos+1 == len(b) && !p.final {
		return more
	}
	if g.depth > 0 && p.pos+1 < len(b) && isLetter(b[p.pos+1]) {
		end, unsure := nameRun(b, p.pos+1, p.final)
		if unsure {
			return more
		}
		name := string(b[p.pos+1 : end])
		if p.t.find(name) == nil || end < len(b) && b[end] != '(' && b[end] != c {
			return p.beginItem(itemString, p.pos, p.pos)
		}
	}
	p.closed(p.pos + 1)
	return done
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// stopPart takes the full stop of a sentence that ends with a call.
func (p *parser) stopPart() status {
	b := p.buf
	if p.pos+1 == len(b) && !p.final {
		return more
	}
	if p.g.calls == 0 || p.pos+1 < len(b) && !isSpace(b[p.pos+1]) {
		return no
	}
	if p.pos+1 < len(b) && b[p.pos+1] != '\n' && b[p.pos+1] != '\r' {
		return no
	}
	p.closed(p.pos + 1)
	return done
}

// numberPart skips the number of a list's entry.
func (p *parser) numberPart() status {
	b := p.buf
	i := p.pos
	for i < len(b) && i-p.pos < 4 && isDigit(b[i]) {
		i++
	}
	if i+1 >= len(b) {
		return unless(p.final)
	}
	if b[i] != '.' && b[i] != ')' || b[i+1] != ' ' {
		return no
	}
	p.pos = i + 2
	return done
}

// skipLine skips a comment or an import in a fence.
func (p *parser) skipLine() status {
	b := p.buf
	for p.pos < len(b) && b[p.pos] != '\n' {
		p.pos++
		p.g.comment = true
	}
	if p.pos == len(b) {
		return more
	}
	p.g.comment = false
	return done
}
