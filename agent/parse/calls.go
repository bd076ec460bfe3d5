package parse

import (
	"slices"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
	"github.com/weirhost/weir/agent/parse/internal/value"
)

// accept turns readings into calls, or reports them. It reports whether the item
// has been dealt with.
func (gs *groups) accept(it *item, rs []toolset.Reading, end int, repaired bool) bool {
	g := gs.g
	raw := string(gs.in.buf[it.from:end])
	format := gs.formatOf(it)
	taken := false
	if g.fence && g.confirm == atEOL && it.kind != itemCall {
		gs.confirmAll() // only a program's line may go on
	}
	for _, r := range rs {
		c, bad, ok := gs.resolve(r)
		if !ok {
			continue
		}
		taken = true
		g.calls++
		g.end = end
		if bad != nil {
			switch {
			case bad.Reason == "" && bad.Detail != "": // an answer in a call's form
				gs.deliver(Text{bad.Detail})
			case bad.Reason != "":
				bad.Format, bad.Raw = format, raw
				gs.deliver(*bad)
			}
			continue
		}
		c.Format, c.Raw, c.Repaired = format, raw, repaired
		if gs.restated(c) {
			continue
		}
		gs.deliver(c)
	}
	if taken {
		g.item, g.name, g.fresh = nil, "", false
		gs.in.pos = end
		if g.single {
			gs.end()
		}
	}
	return taken
}

// restated reports whether the same call was in an earlier block: models
// write down again what they have called. Equal calls in one list are two.
func (gs *groups) restated(c Call) bool {
	key := c.Name + "\x00" + string(c.Args)
	block, seen := gs.seen[key]
	if seen && block != gs.block {
		return true
	}
	gs.seen[key] = gs.block
	return false
}

// resolve matches a reading with a tool. ok is false where it is no call; a
// Malformed without a reason is a call of nothing.
func (gs *groups) resolve(r toolset.Reading) (c Call, bad *Malformed, ok bool) {
	typed := gs.g.typed
	info := gs.in.tools.Find(r.Name)
	if info == nil && typed { // in prose a server's name for a tool is too often a word
		info = gs.in.tools.FindWritten(r.Name)
	}
	if info == nil || gs.in.tools.AnyName && lex.IsAbstention(r.Name) && len(r.Args.Keys) == 0 {
		switch {
		case !typed:
			return c, nil, false
		case lex.IsAbstention(r.Name):
			answer, _ := r.Args.Text()
			return c, &Malformed{Detail: answer}, true
		}
		return c, &Malformed{Reason: ReasonUnknownTool, Name: lex.CleanName(r.Name)}, true
	}
	if r.Nested(gs.in.tools) {
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
	case len(args.Keys) == 0 && (len(info.Required) > 0 || gs.in.tools.AnyName && r.NameKey != "") && typed && r.Args.Kind == value.None:
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.Name}, true
	case typed && info.Filled(args.Items, false):
		return c, &Malformed{Reason: ReasonNoArgs, Name: info.Name, Detail: "a value is a placeholder"}, true
	case !typed && !gs.plausible(info, r, args):
		if gs.g.behind && isMeant(info, r, args) {
			return c, &Malformed{Reason: ReasonNoArgs, Name: info.Name, Detail: "they do not fit the parameters"}, true
		}
		return c, nil, false
	}
	return Call{ID: r.ID, Name: info.Name, Args: args.AppendJSON(nil)}, nil, true
}

// isMeant reports whether an object behind words is a call whose arguments do not fit,
// and not a form to fill in or a record that has the name of a tool.
func isMeant(info *toolset.Tool, r toolset.Reading, args value.Node) bool {
	record := r.Flat && slices.Contains([]string{"name", "action", "method", "api", "command"}, r.NameKey)
	return !record && !info.IsSignature(append(slices.Clone(r.Args.Items), r.Named.Items...)) && !info.TakesVariable(r) && !r.Elided() && !info.Filled(args.Items, true)
}

// plausible judges a call without a marker by its arguments.
func (gs *groups) plausible(info *toolset.Tool, r toolset.Reading, args value.Node) bool {
	fits := info.Fits(args.Keys)
	switch {
	case len(args.Keys) == 0 && len(info.Required) > 0:
		return false
	case info.IsSignature(append(slices.Clone(r.Args.Items), r.Named.Items...)), info.TakesVariable(r), r.Elided(), info.Filled(args.Items, gs.g.strict):
		return false
	case gs.in.tools.AnyName && len(info.Params.Props) == 0:
		if r.Flat {
			return r.NameKey != "name" && r.NameKey != "action" && r.NameKey != "method" && r.NameKey != "api"
		}
		return r.Args.Kind != value.None && (r.NameKey != "" || r.Loose || gs.g.item.kind == itemNamed)
	case r.Flat:
		return fits
	case gs.g.strict:
		inList := gs.g.depth > 0 && gs.g.item.kind == itemCall && gs.g.confirm == atOnce
		return (fits || inList) && info.Complete(args.Keys)
	case gs.g.confirm == atEOL && gs.g.first != marker.FormatFence:
		return fits
	}
	return true
}

// emptyCall takes a name that its marker closes without arguments.
func (gs *groups) emptyCall() {
	g := gs.g
	it := &item{kind: itemNamed, from: g.nameAt, open: gs.in.pos, format: g.format}
	if !gs.accept(it, []toolset.Reading{{Name: g.name}}, gs.in.pos, false) {
		g.name = ""
	}
}

// deliver emits an event, or keeps it until the group is confirmed.
func (gs *groups) deliver(e Event) {
	g := gs.g
	if g.confirm != atOnce {
		g.waiting = append(g.waiting, e)
		return
	}
	g.given = true
	gs.out.emit(e)
}

// confirmLine takes a line's end: a loose call is alone on its line.
func (gs *groups) confirmLine() {
	if gs.g.confirm == atEOL && len(gs.g.waiting) > 0 {
		gs.confirmAll()
	}
}

func (gs *groups) confirmAll() {
	g := gs.g
	g.confirm = atOnce
	for _, e := range g.waiting {
		gs.deliver(e)
	}
	g.waiting = nil
}
