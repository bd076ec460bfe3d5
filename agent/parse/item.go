package parse

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
	"github.com/weirhost/weir/agent/parse/internal/value"
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
	format  marker.Format
	ended   bool   // complete, but what follows is still to be seen
	closer  string // the closing word that ends tagged arguments
	value   bool   // inside the value of a tagged argument
	inner   int    // where an opening marker is inside that value, from open on, or 0
	sc      value.Scanner
}

func (p *parser) beginItem(kind itemKind, from, open int) lex.Status {
	g := p.g
	if g.depth == 0 && !g.fence && !g.typed {
		p.block++
	}
	g.eol = false
	g.item = &item{kind: kind, from: from, open: open, format: g.format, sc: value.Scanner{Names: p.t}}
	if kind == itemTagged {
		g.item.format = marker.FormatGLM
	}
	return lex.Done
}

func (p *parser) beginCall(nameEnd, open int) lex.Status {
	p.beginItem(itemCall, p.pos, open)
	p.g.item.nameEnd = nameEnd
	return lex.Done
}

// beginTagged begins a call whose marker carries its name.
func (p *parser) beginTagged(tok marker.Token) lex.Status {
	b := p.buf
	k := lex.SkipBlank(b, tok.End)
	if k == len(b) && !p.final {
		return lex.More
	}
	if p.g.format == marker.FormatFence || p.g.format == marker.FormatTag || p.g.calls == 0 && p.g.format != marker.FormatDeepSeek {
		p.g.format = tok.Format
	}
	p.g.typed, p.g.fresh = true, true
	if k < len(b) && b[k] == '{' && p.t.Find(tok.Name) != nil {
		p.setName(tok.Name, k)
		return lex.Done
	}
	p.g.name = tok.Name
	p.beginItem(itemTagged, p.pos, tok.End)
	p.g.item.format = tok.Format
	if tok.Format == marker.FormatTags {
		p.g.item.closer = "/" + lex.Fold(tok.Name)
	}
	return lex.Done
}

// itemStep reads on inside an item.
func (p *parser) itemStep() bool {
	it := p.g.item
	var st lex.Status
	switch it.kind {
	case itemTagged:
		st = p.scanTagged(it)
	case itemLine:
		st = p.scanLine(it)
	case itemString:
		st = p.scanString(it)
	default:
		st = lex.Done
		if !it.ended {
			st = it.sc.Run(p.buf[it.open:], p.final)
		}
	}
	end := it.open + it.sc.Pos
	if st == lex.Done && it.sc.Guessed {
		it.ended = true
		if st = p.endsCleanly(it, end); st == lex.No {
			p.fail(it, end, ReasonBadJSON, unescaped)
			p.endGroup()
			return true
		}
	}
	switch {
	case st == lex.More:
		return false
	case st == lex.No:
		p.pos = end
		p.fail(it, end, ReasonBadJSON, "it is nested too deeply")
	case st == lex.Done:
		p.finishItem(it, end, false)
	case end < len(p.buf): // a closing marker is where brackets are open
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
		case it.sc.Quote != 0 && it.kind == itemCall && it.sc.QuoteAtEnd(p.buf[it.open:]):
			p.finishItem(it, it.open+it.sc.Pos, false)
			return
		case it.sc.Quote != 0 && it.sc.TagAt > 0:
			p.pos = end
			p.fail(it, end, ReasonBadJSON, "a closing quote is missing")
			return
		case it.sc.Quote == 0 && (it.kind == itemObject || it.kind == itemNamed):
			if rs, _ := p.read(it, end, true); len(rs) > 0 && p.accept(it, rs, end, true) {
				return
			}
		}
	}
	p.pos = end
	p.fail(it, end, ReasonTruncated, "")
}

// read reads the calls of an item that ends at end. atEnd says that the reply
// ends there and brackets may be open.
func (p *parser) read(it *item, end int, atEnd bool) (rs []toolset.Reading, repaired bool) {
	text := string(p.buf[it.open:end])
	v := value.Reader{Text: text, Spans: it.sc.Spans, Repaired: it.sc.Repaired}
	switch it.kind {
	case itemCall:
		args, ok := v.Call()
		if ok {
			rs = []toolset.Reading{{Name: string(p.buf[it.from:it.nameEnd]), Arguments: args, Loose: true}}
		}
	case itemTuple:
		if name, args, ok := v.Tuple(); ok {
			rs = []toolset.Reading{{Name: name, Arguments: args, Loose: true}}
		}
	case itemObject, itemNamed:
		v.Repaired = false
		n := v.Value()
		loose := v.Repaired
		if v.Bad {
			return nil, true
		}
		if it.kind == itemNamed {
			rs = []toolset.Reading{{Name: p.g.name, Arguments: value.Arguments{Args: n}, Loose: loose}}
		} else {
			rs = p.t.ReadCalls(n, loose, 0)
		}
		v.Repaired = v.Repaired && !json.Valid([]byte(text))
	case itemTagged:
		rs = []toolset.Reading{p.t.ReadTagged(p.g.name, text)}
	case itemLine:
		rs = []toolset.Reading{{Name: p.g.name, Arguments: value.Arguments{Args: value.Node{Kind: value.String, Value: strings.TrimSpace(text)}}, Loose: true}}
	}
	if atEnd {
		for _, r := range rs {
			if r.Args.Unclosed || r.Flat || r.Args.Kind != value.Object {
				return nil, true
			}
		}
	}
	return rs, v.Repaired || atEnd
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
	case cut && it.sc.Quote != 0:
		p.fail(it, end, ReasonBadJSON, "a closing quote is missing")
		return
	case cut && it.sc.Guessed:
		p.fail(it, end, ReasonBadJSON, unescaped)
		p.endGroup()
		return
	}
	rs, repaired := p.read(it, end, false)
	if len(rs) == 0 {
		reason, detail := ReasonNoName, ""
		if it.kind != itemObject || !json.Valid(p.buf[it.open:end]) {
			reason, detail = ReasonBadJSON, value.Break(p.buf[it.open:end])
		}
		p.fail(it, end, reason, detail)
		return
	}
	if !p.accept(it, rs, end, repaired || cut) {
		p.fail(it, end, "", "")
	}
}

const unescaped = "quotes inside a string are not escaped"

// endsCleanly looks at what follows a call whose strings hold quotes that are
// not escaped. If anything but the end of its block follows, the call may have
// ended inside a string, and what follows may be content.
func (p *parser) endsCleanly(it *item, end int) lex.Status {
	k := lex.SkipBlank(p.buf, end)
	switch {
	case k < len(p.buf):
		if bytes.IndexByte([]byte("]}<`"), p.buf[k]) >= 0 {
			return lex.Done
		}
		return lex.No
	case !p.final:
		return lex.More
	case p.truncated || it.kind == itemCall && p.g.depth == 0:
		return lex.No
	}
	return lex.Done
}

// fail gives up an item. After a marker it is reported; in a list it is
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
	info := p.t.Find(name)
	g.item, g.name, g.fresh = nil, "", false
	p.pos = end
	meant := g.typed || info != nil && g.confirm == atOnce && (reason == ReasonTruncated || reason == ReasonBadJSON)
	if reason != "" && meant {
		if info != nil {
			name = info.Name
		}
		g.calls++
		g.end = end
		p.deliver(Malformed{Reason: reason, Name: lex.CleanName(name), Format: p.formatOf(it), Raw: raw, Detail: detail})
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
	v := value.Reader{Text: string(p.buf[it.open:end]), Spans: it.sc.Spans}
	_, name := p.t.NameOf(v.Value())
	if p.t.AnyName {
		return ""
	}
	return name
}

func (p *parser) formatOf(it *item) marker.Format {
	g := p.g
	switch {
	case g.fenced && g.first == marker.FormatFence && g.format == marker.FormatFence && !g.typed:
		if it.kind == itemObject || it.kind == itemNamed {
			return marker.FormatFenceJSON
		}
		return marker.FormatFenceCode
	case g.typed && it.kind == itemTagged:
		return it.format
	case g.typed:
		return g.format
	case it.kind == itemObject:
		return marker.FormatJSON
	case it.kind == itemNamed:
		return marker.FormatNameJSON
	}
	return marker.FormatPythonic
}
