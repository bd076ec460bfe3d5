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
	closed  bool   // by its own closing word
	value   bool   // inside the value of a tagged argument
	inner   int    // where an opening marker is inside that value, from open on, or 0
	sc      value.Scanner
}

func (gs *groups) beginItem(kind itemKind, from, open int) lex.Status {
	g := gs.g
	if g.depth == 0 && !g.fence && !g.typed {
		gs.block++
	}
	g.eol, g.closed = false, false
	g.item = &item{kind: kind, from: from, open: open, format: g.format, sc: value.Scanner{Names: gs.in.tools}}
	if kind == itemTagged {
		g.item.format = marker.FormatGLM
	}
	return lex.Done
}

func (gs *groups) beginCall(nameEnd, open int) lex.Status {
	gs.beginItem(itemCall, gs.in.pos, open)
	gs.g.item.nameEnd = nameEnd
	return lex.Done
}

// beginTagged begins a call whose marker carries its name.
func (gs *groups) beginTagged(tok marker.Token) lex.Status {
	b := gs.in.buf
	k := lex.SkipBlank(b, tok.End)
	if k == len(b) && !gs.in.final {
		return lex.More
	}
	if gs.g.format == marker.FormatFence || gs.g.format == marker.FormatTag || gs.g.calls == 0 && gs.g.format != marker.FormatDeepSeek {
		gs.g.format = tok.Format
	}
	gs.g.typed, gs.g.fresh = true, true
	if k < len(b) && b[k] == '{' && gs.in.tools.Find(tok.Name) != nil {
		gs.setName(tok.Name, k)
		return lex.Done
	}
	gs.g.name = tok.Name
	gs.beginItem(itemTagged, gs.in.pos, tok.End)
	gs.g.item.format = tok.Format
	if tok.Format == marker.FormatTags {
		gs.g.item.closer = "/" + lex.Fold(tok.Name)
	}
	return lex.Done
}

// itemStep reads on inside an item.
func (gs *groups) itemStep() bool {
	it := gs.g.item
	var st lex.Status
	switch it.kind {
	case itemTagged:
		st = it.scanTagged(gs.in, gs.g.name)
	case itemLine:
		st = it.scanLine(gs.in)
	case itemString:
		st = it.scanString(gs.in, gs.trails)
	default:
		st = lex.Done
		if !it.ended {
			st = it.sc.Run(gs.in.buf[it.open:], gs.in.final)
		}
	}
	end := it.open + it.sc.Pos
	if st == lex.Done && it.sc.Guessed {
		it.ended = true
		if st = gs.endsCleanly(it, end); st == lex.No {
			gs.fail(it, end, ReasonBadJSON, unescaped)
			gs.end()
			return true
		}
	}
	switch {
	case st == lex.More:
		return false
	case st == lex.No:
		gs.in.pos = end
		gs.fail(it, end, ReasonBadJSON, "it is nested too deeply")
	case st == lex.Done:
		gs.finishItem(it, end, false)
	case end < len(gs.in.buf): // a closing marker is where brackets are open
		gs.finishItem(it, end, true)
	default:
		gs.lastItem(it)
	}
	return true
}

// lastItem handles an item that the reply ends in. Only what is complete but
// for closing brackets outside its arguments runs.
func (gs *groups) lastItem(it *item) {
	end := len(gs.in.buf)
	if !gs.in.truncated {
		switch {
		case it.sc.Quote != 0 && it.kind == itemCall && it.sc.QuoteAtEnd(gs.in.buf[it.open:]):
			gs.finishItem(it, it.open+it.sc.Pos, false)
			return
		case it.sc.Quote != 0 && it.sc.TagAt > 0:
			gs.in.pos = end
			gs.fail(it, end, ReasonBadJSON, "a closing quote is missing")
			return
		case it.sc.Quote == 0 && (it.kind == itemObject || it.kind == itemNamed):
			if rs, _ := gs.read(it, end, true); len(rs) > 0 && gs.accept(it, rs, end, true) {
				return
			}
		}
	}
	gs.in.pos = end
	gs.fail(it, end, ReasonTruncated, "")
}

// read reads the calls of an item that ends at end. atEnd says that the reply
// ends there and brackets may be open.
func (gs *groups) read(it *item, end int, atEnd bool) (rs []toolset.Reading, repaired bool) {
	text := string(gs.in.buf[it.open:end])
	v := value.Reader{Text: text, Spans: it.sc.Spans, Repaired: it.sc.Repaired}
	switch it.kind {
	case itemCall:
		args, ok := v.Call()
		if ok {
			rs = []toolset.Reading{{Name: string(gs.in.buf[it.from:it.nameEnd]), Arguments: args, Loose: true}}
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
			rs = []toolset.Reading{{Name: gs.g.name, Arguments: value.Arguments{Args: n}, Loose: loose}}
		} else {
			rs = gs.in.tools.ReadCalls(n, loose, 0)
		}
		v.Repaired = v.Repaired && !json.Valid([]byte(text))
	case itemTagged:
		rs = []toolset.Reading{gs.in.tools.ReadTagged(gs.g.name, text)}
	case itemLine:
		rs = []toolset.Reading{{Name: gs.g.name, Arguments: value.Arguments{Args: value.Node{Kind: value.String, Value: strings.TrimSpace(text)}}, Loose: true}}
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
func (gs *groups) finishItem(it *item, end int, cut bool) {
	gs.in.pos = end
	if it.kind == itemString {
		gs.g.item = nil
		return
	}
	switch {
	case cut && it.sc.Quote != 0:
		gs.fail(it, end, ReasonBadJSON, "a closing quote is missing")
		return
	case cut && it.sc.Guessed:
		gs.fail(it, end, ReasonBadJSON, unescaped)
		gs.end()
		return
	}
	rs, repaired := gs.read(it, end, false)
	if len(rs) == 0 {
		reason, detail := ReasonNoName, ""
		if it.kind != itemObject || !json.Valid(gs.in.buf[it.open:end]) {
			reason, detail = ReasonBadJSON, value.Break(gs.in.buf[it.open:end])
		}
		gs.fail(it, end, reason, detail)
		return
	}
	if !gs.accept(it, rs, end, repaired || cut) {
		gs.fail(it, end, "", "")
		return
	}
	if gs.g != nil {
		gs.g.closed = it.closed
	}
}

const unescaped = "quotes inside a string are not escaped"

// endsCleanly looks at what follows a call whose strings hold quotes that are
// not escaped. If anything but the end of its block follows, the call may have
// ended inside a string, and what follows may be content.
func (gs *groups) endsCleanly(it *item, end int) lex.Status {
	k := lex.SkipBlank(gs.in.buf, end)
	switch {
	case k < len(gs.in.buf):
		if bytes.IndexByte([]byte("]}<`"), gs.in.buf[k]) >= 0 {
			return lex.Done
		}
		return lex.No
	case !gs.in.final:
		return lex.More
	case gs.in.truncated || it.kind == itemCall && gs.g.depth == 0:
		return lex.No
	}
	return lex.Done
}

// fail gives up an item. After a marker it is reported; in a list it is
// skipped; anywhere else the group ends.
func (gs *groups) fail(it *item, end int, reason Reason, detail string) {
	g := gs.g
	raw := string(gs.in.buf[it.from:end])
	name := ""
	switch it.kind {
	case itemCall:
		name = string(gs.in.buf[it.from:it.nameEnd])
	case itemNamed, itemTagged, itemLine:
		name = g.name
	case itemObject:
		name = gs.nameIn(it, end)
	}
	info := gs.in.tools.Find(name)
	g.item, g.name, g.fresh = nil, "", false
	gs.in.pos = end
	meant := g.typed || g.behind && info != nil && gs.in.final && (reason == ReasonTruncated || reason == ReasonBadJSON) || info != nil && g.confirm == atOnce && (reason == ReasonTruncated || reason == ReasonBadJSON)
	if reason != "" && meant {
		if info != nil {
			name = info.Name
		}
		g.calls++
		g.end = end
		gs.deliver(Malformed{Reason: reason, Name: lex.CleanName(name), Format: gs.formatOf(it), Raw: raw, Detail: detail})
		return
	}
	if reason == "" && g.typed || g.depth > 0 && g.calls > 0 {
		return // it was reported, or is skipped
	}
	if it.kind == itemCall && g.depth > 0 && info == nil {
		return // an undeclared call in a list: the rest may be declared
	}
	gs.endAt(it.from)
}

// nameIn finds the name in an object that could not be read.
func (gs *groups) nameIn(it *item, end int) string {
	v := value.Reader{Text: string(gs.in.buf[it.open:end]), Spans: it.sc.Spans}
	_, name := gs.in.tools.NameOf(v.Value())
	if gs.in.tools.AnyName {
		return ""
	}
	return name
}

func (gs *groups) formatOf(it *item) marker.Format {
	g := gs.g
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
