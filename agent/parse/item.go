package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

type itemKind int

const (
	itemCall   itemKind = iota // name(…)
	itemObject                 // {…}
	itemNamed                  // a name, then {…}
	itemTuple                  // ["name", {…}]
	itemString                 // a string in a list, which is no call
	itemTagged                 // a name and tagged arguments
	itemLine                   // a name, then text to the line's end
)

// An item is one call that is being read.
type item struct {
	kind    itemKind
	from    int // where its text begins, name included
	open    int // where its brackets or tags begin
	nameEnd int
	format  Format
	ended   bool   // complete, but what follows is still to be seen
	closer  string // the closing word that ends tagged arguments
	sc      scanner
}

func (p *parser) beginItem(kind itemKind, from, open int) status {
	g := p.g
	if g.depth == 0 && !g.fence && !g.typed {
		p.block++
	}
	g.eol = false
	g.item = &item{kind: kind, from: from, open: open, format: g.format, sc: scanner{tools: p.t}}
	if kind == itemTagged {
		g.item.format = FormatGLM
	}
	return done
}

func (p *parser) beginCall(nameEnd, open int) status {
	p.beginItem(itemCall, p.pos, open)
	p.g.item.nameEnd = nameEnd
	return done
}

// beginTagged begins a call whose marker carries its name.
func (p *parser) beginTagged(tok token) status {
	b := p.buf
	k := skipBlank(b, tok.end)
	if k == len(b) && !p.final {
		return more
	}
	if p.g.format == FormatFence || p.g.format == FormatTag || p.g.calls == 0 && p.g.format != FormatDeepSeek {
		p.g.format = tok.format
	}
	p.g.typed, p.g.fresh = true, true
	if k < len(b) && b[k] == '{' && p.t.find(tok.name) != nil {
		p.setName(tok.name, k)
		return done
	}
	p.g.name = tok.name
	p.beginItem(itemTagged, p.pos, tok.end)
	p.g.item.format = tok.format
	if tok.format == FormatTags {
		p.g.item.closer = "/" + fold(tok.name)
	}
	return done
}

// itemStep reads on inside an item.
func (p *parser) itemStep() bool {
	it := p.g.item
	var st status
	switch it.kind {
	case itemTagged:
		st = p.scanTagged(it)
	case itemLine:
		st = p.scanLine(it)
	case itemString:
		st = p.scanString(it)
	default:
		st = done
		if !it.ended {
			st = it.sc.run(p.buf[it.open:], p.final)
		}
	}
	end := it.open + it.sc.pos
	if st == done && it.sc.guessed {
		it.ended = true
		if st = p.endsCleanly(it, end); st == no {
			p.fail(it, end, ReasonBadJSON, unescaped)
			p.endGroup()
			return true
		}
	}
	switch {
	case st == more:
		return false
	case st == no:
		p.pos = end
		p.fail(it, end, ReasonBadJSON, "it is nested too deeply")
	case st == done:
		p.finishItem(it, end, false)
	case end < len(p.buf): // a closing marker stands where brackets are open
		p.finishItem(it, end, true)
	default:
		p.lastItem(it)
	}
	return true
}

// lastItem handles an item that the reply ends in. Only what is complete but
// for closing brackets outside its arguments runs.
func (p *parser) lastItem(it *item) {
	end := len(p.buf)
	if !p.truncated {
		switch {
		case it.sc.quote != 0 && it.kind == itemCall && it.sc.quoteAtEnd(p.buf[it.open:]):
			p.finishItem(it, it.open+it.sc.pos, false)
			return
		case it.sc.quote != 0 && it.sc.tagAt > 0:
			p.pos = end
			p.fail(it, end, ReasonBadJSON, "a closing quote is missing")
			return
		case it.sc.quote == 0 && (it.kind == itemObject || it.kind == itemNamed):
			if rs, _ := p.read(it, end, true); len(rs) > 0 && p.take(it, rs, end, true) {
				return
			}
		}
	}
	p.pos = end
	p.fail(it, end, ReasonTruncated, "")
}

// quoteAtEnd ends the string that is open at the end of the reply before the
// bracket that closes its call, as in f(a='French). Only plain words are taken
// for such a string: anything else may be content that was cut off.
func (s *scanner) quoteAtEnd(b []byte) bool {
	if len(s.stack) != 1 {
		return false
	}
	text := strings.TrimRight(string(b[s.lo+1:]), " \t\r\n])\"'`;")
	end := s.lo + 1 + len(text)
	last := text[strings.LastIndexByte(text, ' ')+1:]
	if end >= len(b) || b[end] != ')' || len(last) < 3 || strings.TrimFunc(text, func(r rune) bool { return r == ' ' || r < 0x80 && isLetter(byte(r)) }) != "" {
		return false
	}
	s.pos = end + 1
	s.endString(end)
	s.mended = true
	return true
}

// read reads the calls of an item that ends at end. atEnd says that the reply
// ends there and brackets may be open.
func (p *parser) read(it *item, end int, atEnd bool) (rs []reading, mended bool) {
	text := string(p.buf[it.open:end])
	v := values{t: text, spans: it.sc.spans, mended: it.sc.mended}
	switch it.kind {
	case itemCall:
		r, ok := v.call()
		r.name = string(p.buf[it.from:it.nameEnd])
		if ok {
			rs = []reading{r}
		}
	case itemTuple:
		if r, ok := v.tuple(); ok {
			rs = []reading{r}
		}
	case itemObject, itemNamed:
		v.mended = false
		n := v.value()
		loose := v.mended
		if v.bad {
			return nil, true
		}
		if it.kind == itemNamed {
			rs = []reading{{name: p.g.name, args: n, loose: loose}}
		} else {
			rs = p.t.readCalls(n, loose, 0)
		}
		v.mended = v.mended && !json.Valid([]byte(text))
	case itemTagged:
		rs = []reading{p.t.readTagged(p.g.name, text)}
	case itemLine:
		rs = []reading{{name: p.g.name, args: node{kind: kindString, s: strings.TrimSpace(text)}, loose: true}}
	}
	if atEnd {
		for _, r := range rs {
			if r.args.open || r.flat || r.args.kind != kindObject {
				return nil, true
			}
		}
	}
	return rs, v.mended || atEnd
}

// finishItem takes an item that is complete. cut says that a marker ended it
// with brackets still open.
func (p *parser) finishItem(it *item, end int, cut bool) {
	p.pos = end
	if it.kind == itemString {
		p.g.item = nil
		return
	}
	switch {
	case cut && it.sc.quote != 0:
		p.fail(it, end, ReasonBadJSON, "a closing quote is missing")
		return
	case cut && it.sc.guessed:
		p.fail(it, end, ReasonBadJSON, unescaped)
		p.endGroup()
		return
	}
	rs, mended := p.read(it, end, false)
	if len(rs) == 0 {
		reason, detail := ReasonNoName, ""
		if it.kind != itemObject || !json.Valid(p.buf[it.open:end]) {
			reason, detail = ReasonBadJSON, jsonError(p.buf[it.open:end])
		}
		p.fail(it, end, reason, detail)
		return
	}
	if !p.take(it, rs, end, mended || cut) {
		p.fail(it, end, "", "")
	}
}

const unescaped = "quotes inside a string are not escaped"

// endsCleanly looks at what follows a call whose strings hold quotes that are
// not escaped. If anything but the end of its block follows, the call may have
// ended inside a string, and what follows may be content.
func (p *parser) endsCleanly(it *item, end int) status {
	k := skipBlank(p.buf, end)
	switch {
	case k < len(p.buf):
		if bytes.IndexByte([]byte("]}<`"), p.buf[k]) >= 0 {
			return done
		}
		return no
	case !p.final:
		return more
	case p.truncated || it.kind == itemCall && p.g.depth == 0:
		return no
	}
	return done
}

// jsonError says in one line where strict JSON breaks.
func jsonError(b []byte) string {
	var v json.RawMessage
	err := json.Unmarshal(b, &v)
	if err == nil {
		return ""
	}
	at := len(b)
	if s, ok := err.(*json.SyntaxError); ok {
		at = min(int(s.Offset), len(b))
	}
	from := max(0, at-24)
	near := strings.ToValidUTF8(string(b[from:at]), "")
	return fmt.Sprintf("byte %d, after %q", at, near)
}

// fail gives up an item. Behind a marker it is reported; in a list it is
// skipped; anywhere else the group ends.
func (p *parser) fail(it *item, end int, reason Reason, detail string) {
	g := p.g
	raw := string(p.buf[it.from:end])
	name := ""
	switch it.kind {
	case itemCall:
		name = string(p.buf[it.from:it.nameEnd])
	case itemNamed, itemTagged, itemLine:
		name = g.name
	case itemObject:
		name = p.nameIn(it, end)
	}
	info := p.t.find(name)
	g.item, g.name, g.fresh = nil, "", false
	p.pos = end
	meant := g.typed || info != nil && g.confirm == atOnce && (reason == ReasonTruncated || reason == ReasonBadJSON)
	if reason != "" && meant {
		if info != nil {
			name = info.name
		}
		g.calls++
		g.end = end
		p.give(Malformed{Reason: reason, Name: cleanName(name), Format: p.formatOf(it), Raw: raw, Detail: detail})
		return
	}
	if reason == "" && g.typed || g.depth > 0 && g.calls > 0 {
		return // it was reported, or is skipped
	}
	if it.kind == itemCall && g.depth > 0 && info == nil {
		return // an undeclared call in a list: the rest may be declared
	}
	p.endGroupAt(it.from)
}

// nameIn finds the name in an object that could not be read.
func (p *parser) nameIn(it *item, end int) string {
	v := values{t: string(p.buf[it.open:end]), spans: it.sc.spans}
	_, name := p.t.nameOf(v.value())
	if p.t.any {
		return ""
	}
	return name
}

func (p *parser) formatOf(it *item) Format {
	g := p.g
	switch {
	case g.fenced && g.first == FormatFence && g.format == FormatFence && !g.typed:
		if it.kind == itemObject || it.kind == itemNamed {
			return FormatFenceJSON
		}
		return FormatFenceCode
	case g.typed && it.kind == itemTagged:
		return it.format
	case g.typed:
		return g.format
	case it.kind == itemObject:
		return FormatJSON
	case it.kind == itemNamed:
		return FormatNameJSON
	}
	return FormatPythonic
}
