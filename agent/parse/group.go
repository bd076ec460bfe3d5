package parse

import (
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// A group is a run of calls with nothing but white space, punctuation and
// markers between them. What it holds is emitted as calls, or, if it turns
// out to be no call, as text.
type group struct {
	from    int // its first byte; the text from here on is held
	end     int // after its last call or closing marker
	typed   bool
	format  marker.Format
	first   marker.Format // the format it was entered with
	confirm confirm
	lone    bool // a fence that nothing introduces, the first block of the reply
	strict  bool // arguments must fit the schema, being in the middle of text
	fence   bool // inside a fence
	fenced  bool // it has been in one
	fresh   bool // a marker has opened and no call followed yet: any name may
	ended   bool // a closing marker is after its calls: data may follow
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
func (p *parser) beginGroup(start, at int, format marker.Format) bool {
	switch format {
	case marker.FormatFence, marker.FormatJSON, marker.FormatPythonic, marker.FormatNameJSON:
	default:
		return p.beginMarked(start, at, format)
	}
	start = p.withBullet(start)
	g := &group{format: format, strict: !p.start && !p.mentions}
	g.confirm = p.context(start, format, start < at && p.buf[start] != '*')
	switch {
	case g.confirm == declined:
		p.lone = nil
		return false
	case p.mentions || g.confirm != atOnce || format == marker.FormatNameJSON:
	case format == marker.FormatFence:
		g.confirm = atEOL
	case p.buf[at] == '`' && !p.start:
		g.confirm = atEnd
	case p.buf[at] != '[' && p.buf[at] != '{':
		g.confirm = atEOL
	}
	g.lone = g.confirm == atEnd && format == marker.FormatFence && p.mayBeLone(start)
	p.enterGroup(g, start, at)
	return true
}

// beginMarked enters a group that a marker announces.
func (p *parser) beginMarked(start, at int, format marker.Format) bool {
	start = p.withBullet(start)
	p.enterGroup(&group{format: format, typed: true, fresh: true, confirm: p.typedContext(start, format)}, start, at)
	return true
}

// withBullet moves the start of a call on its own line to the line's bullet.
func (p *parser) withBullet(start int) int {
	switch p.mode {
	case inLine:
		return min(start, p.lead)
	case inTail:
		return p.tail
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
	p.g, p.mode, p.pos, p.lone = g, inGroup, at, nil
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
	if p.trails(p.pos) {
		p.endGroup()
		return true
	}
	if g.comment {
		return p.skipLine() == lex.Done
	}
	c := b[p.pos]
	if lex.IsSpace(c) {
		if c == '\n' {
			g.eol = true
			p.confirmLine()
		}
		p.pos++
		return true
	}
	if n := marker.Space(b, p.pos, p.final); n != 0 {
		if n > 0 {
			p.pos += n
		}
		return n > 0
	}
	switch st := p.part(c); st {
	case lex.More:
		if p.final {
			p.pos = len(b)
			return true
		}
		return false
	case lex.No:
		p.endGroup()
	}
	return true
}

// maxTrail is how far Mentions reads in a group after its last call, in bytes. It reads
// that part again when the group ends there, once for each group.
const maxTrail = 128

// trails reports whether the text up to i is more than may be read twice.
func (p *parser) trails(i int) bool {
	return p.mentions && p.g.calls > 0 && i-p.g.end > maxTrail
}

// part handles one thing between two calls. no: the group ends here.
func (p *parser) part(c byte) lex.Status {
	g := p.g
	switch c {
	case ',', ';':
		if c == ';' {
			p.confirmLine()
			p.closed(p.pos + 1)
			return lex.Done
		}
		p.pos++
		return lex.Done
	case ']', ')', '}', '>':
		if c == '>' {
			if st := p.promptPart(); st != lex.No {
				return st
			}
			if !g.typed {
				return lex.No
			}
		}
		g.depth = max(0, g.depth-1)
		p.closed(p.pos + 1)
		return lex.Done
	case '<':
		return p.tokenPart()
	case '[':
		if tok, st := marker.At(p.t, p.buf, p.pos, p.final); st != lex.No {
			if st == lex.More {
				return lex.More
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
		return lex.Done
	case '/':
		if g.typed { // the end of a marker that closes itself
			p.pos++
			return lex.Done
		}
	case '-', '+':
		if g.eol || g.calls == 0 {
			p.pos++
			return lex.Done
		}
	case '#':
		if g.fence || g.calls > 0 && lex.IsBlank(p.buf[p.pos-1]) {
			g.comment = true
			return p.skipLine()
		}
	case '.':
		return p.stopPart()
	case ':':
		if g.fresh {
			p.pos++
			return lex.Done
		}
	}
	switch {
	case lex.IsLetter(c):
		return p.wordPart()
	case lex.IsDigit(c) && g.eol:
		return p.numberPart()
	}
	return lex.No
}

// closed takes a closing bracket, quote or marker into the group.
func (p *parser) closed(end int) {
	p.pos = end
	if p.g.calls > 0 {
		p.g.end = end
	}
}

// promptPart handles >>> in front of a further name.
func (p *parser) promptPart() lex.Status {
	rest := p.buf[p.pos:min(len(p.buf), p.pos+len(marker.Prompt))]
	switch {
	case string(rest) == marker.Prompt:
		p.block++
		p.g.typed, p.g.fresh = true, true
		p.pos += len(marker.Prompt)
		return lex.Done
	case !p.final && strings.HasPrefix(marker.Prompt, string(rest)):
		return lex.More
	}
	return lex.No
}

// tokenPart handles a marker in angle brackets.
func (p *parser) tokenPart() lex.Status {
	tok, st := marker.At(p.t, p.buf, p.pos, p.final)
	if st == lex.No {
		if end, st := marker.Wrapper(p.buf, p.pos, p.final); st != lex.No {
			if st == lex.Done {
				p.closed(end)
			}
			return st
		}
	}
	if st == lex.No && p.g.typed {
		return p.plainTag()
	}
	if st != lex.Done {
		return st
	}
	return p.markerPart(tok)
}

func (p *parser) markerPart(tok marker.Token) lex.Status {
	g := p.g
	switch tok.Role {
	case marker.RoleOpen:
		if g.single && g.calls > 0 {
			return lex.No
		}
		p.block++
		g.typed, g.fresh, g.ended = true, true, false
		if g.confirm == atEOL {
			g.confirm = atOnce
		}
		if g.calls == 0 && g.format != marker.FormatDeepSeek && g.format != marker.FormatKimi && g.format != marker.FormatHarmony || g.format == marker.FormatFence {
			g.format = tok.Format
		}
		g.name, g.nameAt = tok.Name, p.pos
		p.closed(tok.End)
	case marker.RoleClose:
		g.fresh, g.ended = false, g.calls > 0
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
		p.closed(tok.End)
	case marker.RoleSep:
		if tok.Word == "[call_id]" { // the id is after it
			return p.callID(tok.End)
		}
		p.pos = tok.End
	case marker.RoleJunk:
		p.closed(tok.End)
		if strings.HasPrefix(tok.Word, "|im_") || strings.HasPrefix(tok.Word, "|eot") {
			p.block++
			g.eol = true
			p.confirmLine()
		}
	case marker.RoleInvoke:
		if tok.Format == marker.FormatInvoke || tok.Format == marker.FormatXML || tok.Format == marker.FormatTags {
			return p.beginTagged(tok)
		}
		return lex.No
	case marker.RoleParam:
		if g.name != "" {
			return p.beginItem(itemTagged, g.nameAt, p.pos)
		}
		return lex.No
	case marker.RoleHarmony:
		return p.headerPart(tok)
	default:
		return lex.No
	}
	return lex.Done
}

// callID skips the id between [CALL_ID] and [ARGS].
func (p *parser) callID(i int) lex.Status {
	end, unsure := lex.NameRun(p.buf, i, p.final)
	if unsure {
		return lex.More
	}
	p.pos = end
	return lex.Done
}

// bracketPart handles an opening bracket: of a list of calls, or of a call
// that is written as a tuple.
func (p *parser) bracketPart() lex.Status {
	b := p.buf
	k := p.pos + 1
	for k < len(b) && k-p.pos < lex.MaxIndent && lex.IsSpace(b[k]) {
		k++
	}
	if k < len(b) && lex.IsQuote(b[k]) {
		k++
	}
	end, unsure := lex.NameRun(b, k, p.final)
	if unsure || k == len(b) && !p.final {
		return lex.More
	}
	if end > k && p.t.Find(string(b[k:end])) != nil {
		j := end
		if j < len(b) && lex.IsQuote(b[j]) {
			j++
		}
		j = lex.SkipBlank(b, j)
		if j == len(b) && !p.final {
			return lex.More
		}
		if j < len(b) && b[j] == ',' && !(p.t.AnyName && j == end) {
			return p.beginItem(itemTuple, p.pos, p.pos)
		}
	}
	p.g.depth++
	p.pos++
	return lex.Done
}

// objectPart begins an object, unless the brace is around a call.
func (p *parser) objectPart() lex.Status {
	b := p.buf
	if p.g.name == "" && (!p.g.typed || p.g.ended) {
		st, format := p.probe(true).At(p.pos)
		switch {
		case st == lex.More:
			return lex.More
		case st == lex.Done && format == marker.FormatPythonic:
			p.pos++
			return lex.Done
		case st == lex.No && (p.g.depth == 0 && !p.g.fence || p.g.ended):
			return lex.No
		}
	} else if k := lex.SkipBlank(b, p.pos+1); k == len(b) && !p.final {
		return lex.More
	}
	if p.g.name != "" {
		return p.beginItem(itemNamed, p.g.nameAt, p.pos)
	}
	return p.beginItem(itemObject, p.pos, p.pos)
}

// quotePart handles a quote: around a call, or of a string that is no call.
func (p *parser) quotePart(c byte) lex.Status {
	b, g := p.buf, p.g
	if p.pos+1 == len(b) && !p.final {
		return lex.More
	}
	if g.depth > 0 && p.pos+1 < len(b) && lex.IsLetter(b[p.pos+1]) {
		end, unsure := lex.NameRun(b, p.pos+1, p.final)
		if unsure {
			return lex.More
		}
		name := string(b[p.pos+1 : end])
		if p.t.Find(name) == nil || end < len(b) && b[end] != '(' && b[end] != c {
			return p.beginItem(itemString, p.pos, p.pos)
		}
	}
	p.closed(p.pos + 1)
	return lex.Done
}

// stopPart takes the full stop of a sentence that ends with a call.
func (p *parser) stopPart() lex.Status {
	b := p.buf
	if p.pos+1 == len(b) && !p.final {
		return lex.More
	}
	if p.g.calls == 0 || p.pos+1 < len(b) && !lex.IsSpace(b[p.pos+1]) {
		return lex.No
	}
	if p.pos+1 < len(b) && b[p.pos+1] != '\n' && b[p.pos+1] != '\r' {
		return lex.No
	}
	p.closed(p.pos + 1)
	return lex.Done
}

// numberPart skips the number of a list's entry.
func (p *parser) numberPart() lex.Status {
	b := p.buf
	i := p.pos
	for i < len(b) && i-p.pos < 4 && lex.IsDigit(b[i]) {
		i++
	}
	if i+1 >= len(b) {
		return lex.Unless(p.final)
	}
	if b[i] != '.' && b[i] != ')' || b[i+1] != ' ' {
		return lex.No
	}
	p.pos = i + 2
	return lex.Done
}

// skipLine skips a comment or an import in a fence.
func (p *parser) skipLine() lex.Status {
	b := p.buf
	for p.pos < len(b) && b[p.pos] != '\n' {
		p.pos++
		p.g.comment = true
	}
	if p.pos == len(b) {
		return lex.More
	}
	p.g.comment = false
	return lex.Done
}
