package parse

import (
	"bytes"
	"slices"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
	"github.com/weirhost/weir/agent/parse/internal/value"
)

// accept turns readings into calls, or reports them. It reports whether the item
// has been dealt with.
func (p *parser) accept(it *item, rs []toolset.Reading, end int, repaired bool) bool {
	g := p.g
	raw := string(p.buf[it.from:end])
	format := p.formatOf(it)
	taken := false
	if g.fence && g.confirm == atEOL && it.kind != itemCall {
		p.confirmAll() // only a program's line may go on
	}
	for _, r := range rs {
		c, bad, ok := p.resolve(r)
		if !ok {
			continue
		}
		taken = true
		g.calls++
		g.end = end
		if bad != nil {
			switch {
			case bad.Reason == "" && bad.Detail != "": // an answer in a call's form
				p.deliver(Text{bad.Detail})
			case bad.Reason != "":
				bad.Format, bad.Raw = format, raw
				p.deliver(*bad)
			}
			continue
		}
		c.Format, c.Raw, c.Repaired = format, raw, repaired
		if p.restated(c) {
			continue
		}
		p.deliver(c)
	}
	if taken {
		g.item, g.name, g.fresh = nil, "", false
		p.pos = end
		if g.single {
			p.endGroup()
		}
	}
	return taken
}

// restated reports whether the same call was in an earlier block: models
// write down again what they have called. Equal calls in one list are two.
func (p *parser) restated(c Call) bool {
	key := c.Name + "\x00" + string(c.Args)
	block, seen := p.seen[key]
	if seen && block != p.block {
		return true
	}
	p.seen[key] = p.block
	return false
}

// resolve matches a reading with a tool. ok is false where it is no call; a
// Malformed without a reason is a call of nothing.
func (p *parser) resolve(r toolset.Reading) (c Call, bad *Malformed, ok bool) {
	typed := p.g.typed
	info := p.t.Find(r.Name)
	if info == nil || p.t.AnyName && lex.IsAbstention(r.Name) && len(r.Args.Keys) == 0 {
		switch {
		case !typed:
			return c, nil, false
		case lex.IsAbstention(r.Name):
			answer, _ := r.Args.Text()
			return c, &Malformed{Detail: answer}, true
		}
		return c, &Malformed{Reason: ReasonUnknownTool, Name: lex.CleanName(r.Name)}, true
	}
	if r.Nested(p.t) {
		return c, nil, false
	}
	args, named := info.Arguments(r)
	if toolset.IsDefinition(args) {
		if _, own := info.Params.Prop("properties"); !own {
			return c, nil, false
		}
	}
	switch {
	case !named && typed:
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.Name, Detail: "the arguments are not a JSON object"}, true
	case !named:
		return c, nil, false
	case r.Flat && !info.Fits(args.Keys) && typed:
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.Name, Detail: "no key of the object is a parameter"}, true
	case len(args.Keys) == 0 && (len(info.Required) > 0 || p.t.AnyName && r.NameKey != "") && typed && r.Args.Kind == value.None:
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.Name}, true
	case typed && info.Filled(args.Items, false):
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.Name, Detail: "a value is a placeholder"}, true
	case !typed && !p.plausible(info, r, args):
		return c, nil, false
	}
	return Call{ID: r.ID, Name: info.Name, Args: args.AppendJSON(nil)}, nil, true
}

// plausible judges a call without a marker by its arguments.
func (p *parser) plausible(info *toolset.Tool, r toolset.Reading, args value.Node) bool {
	fits := info.Fits(args.Keys)
	switch {
	case len(args.Keys) == 0 && len(info.Required) > 0:
		return false
	case info.IsSignature(append(slices.Clone(r.Args.Items), r.Named.Items...)), info.TakesVariable(r), r.Elided(), info.Filled(args.Items, p.g.strict):
		return false
	case p.t.AnyName && len(info.Params.Props) == 0:
		if r.Flat {
			return r.NameKey != "name" && r.NameKey != "action" && r.NameKey != "method" && r.NameKey != "api"
		}
		return r.Args.Kind != value.None && (r.NameKey != "" || r.Loose || p.g.item.kind == itemNamed)
	case r.Flat:
		return fits
	case p.g.strict:
		inList := p.g.depth > 0 && p.g.item.kind == itemCall && p.g.confirm == atOnce
		return (fits || inList) && info.Complete(args.Keys)
	case p.g.confirm == atEOL && p.g.first != marker.FormatFence:
		return fits
	}
	return true
}

// emptyCall takes a name that its marker closes without arguments.
func (p *parser) emptyCall() {
	g := p.g
	it := &item{kind: itemNamed, from: g.nameAt, open: p.pos, format: g.format}
	if !p.accept(it, []toolset.Reading{{Name: g.name}}, p.pos, false) {
		g.name = ""
	}
}

// deliver emits an event, or keeps it until the group is confirmed.
func (p *parser) deliver(e Event) {
	g := p.g
	if g.confirm != atOnce {
		g.waiting = append(g.waiting, e)
		return
	}
	g.given = true
	p.emit(e)
}

// confirmLine takes a line's end: a loose call is alone on its line.
func (p *parser) confirmLine() {
	if p.g.confirm == atEOL && len(p.g.waiting) > 0 {
		p.confirmAll()
	}
}

func (p *parser) confirmAll() {
	g := p.g
	g.confirm = atOnce
	for _, e := range g.waiting {
		p.deliver(e)
	}
	g.waiting = nil
}

// endGroup ends the group in front of what is no part of it.
func (p *parser) endGroup() { p.endGroupAt(p.pos) }

// endGroupAt ends the group; if it held calls, the text goes on after them,
// else all of it is text.
func (p *parser) endGroupAt(at int) {
	g := p.g
	if g == nil {
		return
	}
	whole := p.final && p.pos >= len(p.buf) && at >= p.pos
	if whole && !p.truncated {
		p.confirmAll()
	}
	if whole && p.truncated && g.typed && g.calls == 0 {
		g.calls, g.end = 1, len(p.buf)
		p.deliver(Malformed{Reason: ReasonTruncated, Name: lex.CleanName(g.name), Format: g.format, Raw: string(p.buf[g.from:])})
	}
	p.g = nil
	p.start = false
	if len(g.waiting) > 0 || !g.given && g.calls == 0 {
		p.keepLone(g)
		p.forget(g)
		p.doc, p.quoted = p.doc || g.fenced, p.quoted || len(g.waiting) > 0
		p.pos = max(p.pos, g.at+1)
		p.mode = inText
		if g.eol && len(bytes.TrimLeft(p.buf[p.out:p.pos], " \t\r\n")) > 0 && lex.AtLineStart(p.buf, p.pos) {
			p.mode = inLine // a label may begin there
		}
		if g.fence && !p.mentions {
			p.mode, p.ticks, p.midLine = inFence, 3, true
		}
		return
	}
	p.boundAgain(g, max(p.pos, at))
	p.drop(g.end)
	p.last, p.since = g, p.since[:0]
	p.mode, p.pos = inText, g.end
}

// maxAgain is how often Mentions reads a text again, the parts of groups after their last
// calls taken together.
const maxAgain = 8

// boundAgain keeps the text after the last call of a group, which was read up to an
// offset, from being read again too often: Mentions passes over it.
func (p *parser) boundAgain(g *group, to int) {
	if !p.mentions {
		return
	}
	if p.again += to - g.end; p.again > maxAgain*len(p.buf) {
		g.end = to
	}
}

// forget takes back that a group's calls have been seen: it was a quotation.
func (p *parser) forget(g *group) {
	for _, e := range g.waiting {
		if c, ok := e.(Call); ok {
			delete(p.seen, c.Name+"\x00"+string(c.Args))
		}
	}
}
