package parse

import (
	"slices"
	"strings"
)

// take turns readings into calls, or reports them. It reports whether the item
// has been dealt with.
func (p *parser) take(it *item, rs []reading, end int, mended bool) bool {
	g := p.g
	raw := string(p.buf[it.from:end])
	format := p.formatOf(it)
	taken := false
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
				p.give(Text{bad.Detail})
			case bad.Reason != "":
				bad.Format, bad.Raw = format, raw
				p.give(*bad)
			}
			continue
		}
		c.Format, c.Raw, c.Repaired = format, raw, mended
		if p.restated(c) {
			continue
		}
		p.give(c)
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

// restated reports whether the same call stood in an earlier block: models
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
func (p *parser) resolve(r reading) (c Call, bad *Malformed, ok bool) {
	typed := p.g.typed
	info := p.t.find(r.name)
	if info == nil || p.t.any && isAbstention(r.name) {
		switch {
		case !typed:
			return c, nil, false
		case isAbstention(r.name):
			answer, _ := r.args.text()
			return c, &Malformed{Detail: answer}, true
		}
		return c, &Malformed{Reason: ReasonUnknownTool, Name: cleanName(r.name)}, true
	}
	if r.nested(p.t) {
		return c, nil, false
	}
	args, named := info.arguments(r)
	if isDefinition(args) {
		if _, own := info.params.prop("properties"); !own {
			return c, nil, false
		}
	}
	switch {
	case !named && typed:
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.name, Detail: "the arguments are not a JSON object"}, true
	case !named:
		return c, nil, false
	case r.flat && !info.fits(args.keys) && typed:
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.name, Detail: "no key of the object is a parameter"}, true
	case len(args.keys) == 0 && (len(info.required) > 0 || p.t.any && r.nameKey != "") && typed && r.args.kind == kindNone:
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.name}, true
	case !typed && !p.plausible(info, r, args):
		return c, nil, false
	}
	return Call{ID: r.id, Name: info.name, Args: args.appendJSON(nil)}, nil, true
}

// plausible judges a call without a marker by its arguments.
func (p *parser) plausible(info *toolInfo, r reading, args node) bool {
	fits := info.fits(args.keys)
	switch {
	case len(args.keys) == 0 && len(info.required) > 0:
		return false
	case info.isSignature(append(slices.Clone(r.args.items), r.named.items...)), info.takesVariable(r), r.elided():
		return false
	case p.t.any && len(info.params.props) == 0:
		if r.flat {
			return r.nameKey != "name" && r.nameKey != "action" && r.nameKey != "method" && r.nameKey != "api"
		}
		return r.args.kind != kindNone && (r.nameKey != "" || r.loose)
	case r.flat:
		return fits
	case p.g.strict:
		inList := p.g.depth > 0 && p.g.item.kind == itemCall && p.g.confirm == atOnce
		return (fits || inList) && info.complete(args.keys)
	case p.g.confirm == atEOL:
		return fits
	}
	return true
}

// elided reports whether something of the arguments is left out, as in
// f(…, offset=100): that shows a form, or quotes a notice.
func (r reading) elided() bool {
	return slices.ContainsFunc(slices.Concat(r.args.items, r.named.items), func(v node) bool {
		return v.kind == kindBare && (v.s == "…" || v.s == "...")
	})
}

// nested reports whether an argument is itself a call, whose result is not
// known: such a call cannot run.
func (r reading) nested(t *toolset) bool {
	for _, v := range r.args.items {
		if v.kind != kindBare {
			continue
		}
		if name, _, ok := strings.Cut(v.s, "("); ok && strings.HasSuffix(v.s, ")") && isPlainName(name) && !t.any && t.find(name) != nil {
			return true
		}
	}
	return false
}

// emptyCall takes a name that its marker closes without arguments.
func (p *parser) emptyCall() {
	g := p.g
	it := &item{kind: itemNamed, from: g.nameAt, open: p.pos, format: g.format}
	if !p.take(it, []reading{{name: g.name}}, p.pos, false) {
		g.name = ""
	}
}

// give gives out an event, or keeps it until the group is confirmed.
func (p *parser) give(e Event) {
	g := p.g
	if g.confirm != atOnce {
		g.waiting = append(g.waiting, e)
		return
	}
	g.given = true
	p.emit(e)
}

// confirmLine takes a line's end: a loose call stands alone on its line.
func (p *parser) confirmLine() {
	if p.g.confirm == atEOL && len(p.g.waiting) > 0 {
		p.confirmAll()
	}
}

func (p *parser) confirmAll() {
	g := p.g
	g.confirm = atOnce
	for _, e := range g.waiting {
		p.give(e)
	}
	g.waiting = nil
}

// endGroup ends the group in front of what is no part of it.
func (p *parser) endGroup() { p.endGroupAt(p.pos) }

// endGroupAt ends the group; if it held calls, the text goes on behind them,
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
		p.give(Malformed{Reason: ReasonTruncated, Name: cleanName(g.name), Format: g.format, Raw: string(p.buf[g.from:])})
	}
	p.g = nil
	p.start = false
	if len(g.waiting) > 0 || !g.given && g.calls == 0 {
		p.forget(g)
		p.doc = p.doc || g.fenced
		p.pos = max(p.pos, g.at+1)
		p.mode = inText
		if g.fence {
			p.mode, p.ticks, p.midLine = inFence, 3, true
		}
		return
	}
	p.drop(g.end)
	p.last, p.since = g, p.since[:0]
	p.mode, p.pos = inText, g.end
}

// forget takes back that a group's calls have been seen: it was a quotation.
func (p *parser) forget(g *group) {
	for _, e := range g.waiting {
		if c, ok := e.(Call); ok {
			delete(p.seen, c.Name+"\x00"+string(c.Args))
		}
	}
}
