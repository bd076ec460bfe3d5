package rewrite

import (
	"cmp"
	"slices"

	"github.com/weirhost/weir/host/internal/gate"
)

const (
	// straight is how many bytes of code may run without a look at weir:stop
	// where there is no loop.
	straight = 512
	// callWeight is what a call counts among these bytes: a function without
	// calls and loops, and no longer than straight, looks at nothing.
	callWeight = 64
)

// placement decides where one function looks at weir:stop, instruction by
// instruction. Loops are easy: their heads. Calls outside of loops need one look
// somewhere on each way that leads to them, or a tree of calls without a loop
// would run for ever; one place that all these ways pass is looked for, as late
// as can be, so that a recursion's last step pays nothing. It is behind the last
// way out that leads to no call, in the innermost block that holds all the calls.
//
// Beside that it counts the longest way since the last look, in bytes, along
// all branches forward.
type placement struct {
	stop   bool
	edits  []edit
	frames []frame
	way    int // the longest way from the last look to here

	// The place before the calls seen so far, of which the depth says how many
	// frames hold it; were there a call in another block now, it would be next.
	calls       bool
	place, next int
	depth       int
}

// frame is an open block.
type frame struct {
	op     byte
	at     int  // where it was opened
	looped bool // it is a loop or stands in one
	before int  // the way to the opening of an if
	way    int  // the longest way to its end by a branch
}

func (p *placement) step(b *gate.Body) {
	if len(p.frames) == 0 {
		p.frames = append(p.frames, frame{at: b.At})
	}
	switch b.Op {
	case gate.OpMemoryGrow:
		p.look(b.At, recheck)
		p.edits = append(p.edits, edit{b.At, growth})
		return
	case gate.OpMisc:
		if n := b.Number(); n == gate.MiscMemoryInit || n >= gate.MiscMemoryCopy && n != gate.MiscElemDrop && n != gate.MiscTableSize {
			p.look(b.At, recheck)
		}
	case gate.OpCall, gate.OpCallIndirect:
		p.call(b.At)
		p.spend(b.At, callWeight)
	}
	p.spend(b.At, b.End-b.At)
	p.flow(b)
}

// look puts a check at a place.
func (p *placement) look(at int, what insertion) {
	if p.stop {
		p.edits = append(p.edits, edit{at, what})
	}
	p.way = 0
}

// spend counts bytes on the way and looks before there are too many. A long
// instruction, a table of branches, is one step.
func (p *placement) spend(at, bytes int) {
	if p.way += min(bytes, callWeight); p.way > straight {
		p.look(at, recheck)
	}
}

// call sees to the one place before all calls.
func (p *placement) call(at int) {
	top := len(p.frames) - 1
	switch {
	case p.frames[top].looped: // its head looks
	case !p.calls:
		p.calls, p.place, p.next, p.depth = true, at, at, top
	default:
		p.place = p.next
	}
}

// flow follows the branches of an instruction.
func (p *placement) flow(b *gate.Body) {
	top := len(p.frames) - 1
	switch b.Op {
	case gate.OpBlock, gate.OpIf:
		p.frames = append(p.frames, frame{op: b.Op, at: b.At, looped: p.frames[top].looped, before: p.way})
	case gate.OpLoop:
		p.frames = append(p.frames, frame{op: b.Op, at: b.At, looped: true})
		p.look(b.End, check)
	case gate.OpElse:
		f := &p.frames[top]
		f.op, f.way, p.way = b.Op, max(f.way, p.way), f.before
		p.leave(top, f.at)
	case gate.OpEnd:
		p.end()
	case gate.OpBr:
		p.branch(b.Number())
		p.way = 0 // no way goes on
	case gate.OpBrIf:
		p.branch(b.Number())
	case gate.OpBrTable:
		for label := range b.Targets() {
			p.branch(label)
		}
		p.way = 0
	case gate.OpReturn, gate.OpUnreachable:
		p.way = 0
	}
}

func (p *placement) branch(label uint32) {
	f := &p.frames[len(p.frames)-1-int(label)]
	f.way = max(f.way, p.way)
}

func (p *placement) end() {
	top := len(p.frames) - 1
	f := p.frames[top]
	p.frames = p.frames[:top]
	if f.op == gate.OpLoop {
		return // who branches to it goes back
	}
	if p.way = max(p.way, f.way); f.op == gate.OpIf {
		p.way = max(p.way, f.before)
	}
	p.leave(top, f.at)
}

// leave notes that what follows is not behind the place any more, if that is in
// the block that is left: a place for what follows too is before that block.
func (p *placement) leave(depth, at int) {
	if p.calls && p.depth == depth {
		p.next, p.depth = at, depth-1
	}
}

// finish returns the places in their order.
func (p *placement) finish() []edit {
	if p.stop && p.calls {
		p.edits = append(p.edits, edit{p.place, check})
	}
	slices.SortStableFunc(p.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	return p.edits
}
