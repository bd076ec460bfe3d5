package parse

import (
	"bytes"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// groups reads groups of calls, and knows the calls that have been read.
type groups struct {
	in     *input
	out    *output
	around *context
	code   *code
	g      *group         // the one that is being read, or nil
	block  int            // counts lists, fences and envelopes
	seen   map[string]int // calls so far, and the block each was in
	again  int            // bytes that Mentions reads again
}

// A group is a run of calls with nothing but white space, punctuation and
// markers between them. What it holds is emitted as calls, or, if it turns
// out to be no call, as text.
type group struct {
	from int // its first byte; the text from here on is held
	end  int // after its last call or closing marker
	at   int // where it was entered
	notation
	inside
	found
	name   string // the next call's, if it has been read
	nameAt int
	item   *item // the call that is being read, or nil
}

// A notation is how the calls of a group are written.
type notation struct {
	typed  bool
	format marker.Format
	first  marker.Format // the format it was entered with
	fence  bool          // inside a fence
	fenced bool          // it has been in one
	single bool          // ends with its first call
}

// inside is where the reading is between two calls.
type inside struct {
	fresh   bool // a marker has opened and no call followed yet: any name may
	ended   bool // a closing marker is after its calls: data may follow
	closed  bool // one is after its last call
	depth   int  // open brackets of lists
	eol     bool // the last thing was a line's end
	comment bool // inside a line that is skipped
}

// found is what a group holds, and what is still needed before it may run.
type found struct {
	confirm confirm
	lone    bool // a fence that nothing introduces, the first block of the reply
	strict  bool // arguments must fit the schema, being in the middle of text
	behind  bool // it is an object behind words on its line
	said    bool // which say that the call is made
	calls   int  // calls and malformed ones
	waiting []Event
	given   bool
}

// forget follows input.forget.
func (gs *groups) forget(n int) {
	g := gs.g
	if g == nil {
		return
	}
	g.from -= n
	g.end -= n
	g.nameAt -= n
	g.at -= n
	if g.item != nil {
		g.item.from -= n
		g.item.open -= n
	}
}

// nameCall says which tool the next call of the group calls.
func (gs *groups) nameCall(name string) { gs.g.name = name }

// nameOnly says which tool the only call of the group calls.
func (gs *groups) nameOnly(name string) { gs.g.name, gs.g.single = name, true }

// begin enters a group at offset at; the text from start on belongs to
// it. It refuses where the context takes a call of this format for a quotation.
func (gs *groups) begin(start, at int, format marker.Format) bool {
	switch format {
	case marker.FormatFence, marker.FormatJSON, marker.FormatPythonic, marker.FormatNameJSON:
	default:
		return gs.beginMarked(start, at, format)
	}
	g := &group{notation: notation{format: format}, found: found{strict: !gs.around.start && !gs.in.mentions}}
	g.confirm = gs.around.judge(start, format, start < at && gs.in.buf[start] != '*')
	switch {
	case g.confirm == declined:
		gs.around.block()
		return false
	case gs.in.mentions || g.confirm != atOnce || format == marker.FormatNameJSON:
	case format == marker.FormatFence:
		g.confirm = atEOL
	case gs.in.buf[at] == '`' && !gs.around.start:
		g.confirm = atEnd
	case gs.in.buf[at] != '[' && gs.in.buf[at] != '{':
		g.confirm = atEOL
	}
	g.lone = g.confirm == atEnd && format == marker.FormatFence && gs.around.mayBeLone(start)
	gs.enter(g, start, at)
	return true
}

// beginMarked enters a group that a marker announces.
func (gs *groups) beginMarked(start, at int, format marker.Format) bool {
	g := &group{notation: notation{format: format, typed: true}, inside: inside{fresh: true}}
	if !gs.in.marked {
		g.confirm = gs.around.judgeMarked(start, format)
	} else if g.confirm = gs.around.judgeAlone(start); g.confirm == declined {
		return false
	}
	gs.enter(g, start, at)
	return true
}

// beginBehind enters an object behind words on its line.
func (gs *groups) beginBehind(at int) bool {
	g := &group{notation: notation{format: marker.FormatJSON}, found: found{strict: true, behind: true}}
	if g.confirm, g.said = gs.around.judgeBehind(at); g.confirm == declined {
		return false
	}
	gs.enter(g, at, at)
	return true
}

func (gs *groups) enter(g *group, start, at int) {
	g.first, g.from, g.end, g.at, g.nameAt = g.format, start, start, at, at
	if gs.around.start {
		g.from = gs.out.sent
	} else {
		gs.around.flush(start)
	}
	gs.g = g
	gs.in.goOn(inGroup, at)
	if !g.behind {
		gs.around.block()
	}
	gs.block++
}

// step reads on inside a group.
func (gs *groups) step() bool {
	g := gs.g
	if g.item != nil {
		return gs.itemStep()
	}
	b := gs.in.buf
	if gs.in.pos >= len(b) {
		if gs.in.final {
			gs.end()
			return gs.in.pos < len(gs.in.buf)
		}
		return false
	}
	if gs.trails(gs.in.pos) {
		gs.end()
		return true
	}
	if g.comment {
		return gs.skipLine() == lex.Done
	}
	c := b[gs.in.pos]
	if lex.IsSpace(c) {
		if c == '\n' {
			g.eol = true
			gs.confirmLine()
		}
		gs.in.pos++
		return true
	}
	if n := marker.Space(b, gs.in.pos, gs.in.final); n != 0 {
		if n > 0 {
			gs.in.pos += n
		}
		return n > 0
	}
	switch st := gs.part(c); st {
	case lex.More:
		if gs.in.final {
			gs.in.pos = len(b)
			return true
		}
		return false
	case lex.No:
		gs.end()
	}
	return true
}

// end ends the group in front of what is no part of it.
func (gs *groups) end() { gs.endAt(gs.in.pos) }

// endAt ends the group; if it held calls, the text goes on after them,
// else all of it is text.
func (gs *groups) endAt(at int) {
	g := gs.g
	if g == nil {
		return
	}
	whole := gs.in.final && gs.in.pos >= len(gs.in.buf) && at >= gs.in.pos
	if whole && !gs.in.truncated && (!gs.in.marked || g.isAlone()) {
		if g.behind && !g.said {
			g.doubt()
		}
		gs.confirmAll()
	}
	if whole && gs.in.truncated && g.typed && g.calls == 0 {
		g.calls, g.end = 1, len(gs.in.buf)
		gs.deliver(Malformed{Reason: ReasonTruncated, Name: lex.CleanName(g.name), Format: g.format, Raw: string(gs.in.buf[g.from:])})
	}
	gs.g = nil
	if len(g.waiting) > 0 || !g.given && g.calls == 0 {
		gs.unsee(g)
		if (g.lone && !g.fence || g.behind && !gs.in.truncated) && len(g.waiting) == g.calls && g.calls > 0 {
			if g.behind && !g.said {
				g.doubt()
			}
			gs.around.keepLone(g.from, g.end, g.waiting, g.behind)
		}
		gs.around.declined(g.fenced, len(g.waiting) > 0 && !g.behind)
		gs.in.pos = max(gs.in.pos, g.at+1)
		gs.in.mode = inText
		if g.eol && len(bytes.TrimLeft(gs.in.buf[gs.out.sent:gs.in.pos], " \t\r\n")) > 0 && lex.AtLineStart(gs.in.buf, gs.in.pos) {
			gs.in.mode = inLine // a label may begin there
		}
		if g.fence && !gs.in.mentions {
			gs.code.enterFence(3, gs.in.pos)
		}
		return
	}
	gs.boundAgain(g, max(gs.in.pos, at))
	gs.out.drop(g.end)
	gs.around.ended(&g.notation)
	gs.in.goOn(inText, g.end)
}

// isAlone reports whether the group is one complete call between its marks.
func (g *group) isAlone() bool {
	if len(g.waiting) != 1 || g.calls != 1 || !g.closed || g.fenced {
		return false
	}
	_, call := g.waiting[0].(Call)
	return call
}

// doubt makes the calls of the group malformed: nothing says that they are meant.
func (g *group) doubt() {
	for i, e := range g.waiting {
		if c, ok := e.(Call); ok {
			g.waiting[i] = Malformed{Reason: ReasonInText, Name: c.Name, Format: c.Format, Raw: c.Raw}
		}
	}
}

// maxAgain is how often Mentions reads a text again, the parts of groups after their last
// calls taken together.
const maxAgain = 8

// boundAgain keeps the text after the last call of a group, which was read up to an
// offset, from being read again too often: Mentions passes over it.
func (gs *groups) boundAgain(g *group, to int) {
	if !gs.in.mentions {
		return
	}
	if gs.again += to - g.end; gs.again > maxAgain*len(gs.in.buf) {
		g.end = to
	}
}

// unsee takes back that a group's calls have been seen: it was a quotation.
func (gs *groups) unsee(g *group) {
	for _, e := range g.waiting {
		if c, ok := e.(Call); ok {
			delete(gs.seen, c.Name+"\x00"+string(c.Args))
		}
	}
}
