package parse

import "github.com/weirhost/weir/agent/parse/internal/toolset"

// A parser reads one reply with the structs that it holds; doc.go has their order. Every
// decision is taken either on enough text to hold whatever follows, or at the end; so the
// chunking cannot matter.
type parser struct {
	in      input
	out     output
	around  context
	code    code
	thought thought
	calls   groups
	lines   lines
}

func newParser(t *toolset.Set, r Reading) *parser {
	p := &parser{in: input{tools: t, marked: r.Marked, shown: r.Shown}}
	in, out, around := &p.in, &p.out, &p.around
	p.out = output{in: in}
	p.around = context{in: in, out: out, start: true}
	p.code = code{in: in, out: out, around: around}
	p.thought = thought{in: in, out: out, around: around, drafted: -1, opened: -1}
	p.calls = groups{in: in, out: out, around: around, code: &p.code, seen: map[string]int{}}
	p.lines = lines{in: in, out: out, around: around, code: &p.code, thought: &p.thought, calls: &p.calls}
	if r.StartInThought {
		p.in.goOn(inThought, 0)
	}
	return p
}

func (p *parser) Feed(chunk string) []Event {
	if p.in.final || chunk == "" {
		return nil
	}
	p.compact()
	p.in.add(chunk)
	return p.run()
}

func (p *parser) Close(truncated bool) []Event {
	if p.in.final {
		return nil
	}
	p.in.end(truncated)
	return p.run()
}

func (p *parser) Over() bool { return p.around.over() }

func (p *parser) run() []Event {
	p.out.undecided(p.in.pos)
	for p.step() {
	}
	switch {
	case p.in.final:
		p.finish()
	case p.in.mode == inGroup:
	case p.around.start && p.in.mode != inThought:
	default:
		p.around.flush(p.out.wholeRunes(min(p.out.hold, len(p.in.buf))))
	}
	return p.out.take()
}

// step scans on and reports whether there may be more to do. When it reports
// false, hold is where the undecided text begins.
func (p *parser) step() bool {
	switch p.in.mode {
	case inLine:
		return p.lines.lineStep()
	case inText:
		return p.lines.textStep()
	case inCode:
		return p.code.codeStep()
	case inFence:
		return p.code.fenceStep()
	case inThought:
		return p.thought.step()
	case inTail:
		return p.lines.tailStep()
	default:
		return p.calls.step()
	}
}

// finish emits what is left at the end of the reply.
func (p *parser) finish() {
	if p.in.mode == inTail {
		p.around.flush(p.lines.tail)
	} else {
		p.around.flush(len(p.in.buf))
	}
	switch {
	case p.in.truncated:
	case p.in.mode == inThought:
		p.thought.end()
	default:
		p.around.endLone()
	}
}

// compact forgets what no decision can need any more.
func (p *parser) compact() {
	n := p.out.sent
	if p.in.mode == inThought {
		n = p.thought.keep(n)
	}
	n -= lookback
	if n < 4096 || n < len(p.in.buf)/2 {
		return
	}
	p.in.forget(n)
	p.out.forget(n)
	p.thought.forget(n)
	p.calls.forget(n)
	p.lines.forget(n)
}
