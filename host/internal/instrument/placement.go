package instrument

import (
	"cmp"
	"slices"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// What code pays with, in units of about a nanosecond. A guest that has spent
// fuel of them looks at weir:stop and lets the host's scheduler in, which takes
// some hundred.
const (
	fuel = 1 << 20
	// turnsPrice buys the shortest of loops so many turns.
	turnsPrice = 1024
	// freeTurns are there at a function's beginning, unpaid for.
	freeTurns = 16
	// step is the price of going on where calls can follow, and of each so many
	// bytes of straight code.
	step     = 64
	straight = 512
	// callWeight is what a call counts among these bytes: a function without
	// calls and loops, and no longer than straight, pays nothing.
	callWeight = 64
	// turnBytes is the length of a loop, in bytes, that takes a unit's time.
	turnBytes = 32
)

// payBytes and loopBytes are what a payment and a counted loop add to the code, at least.
const payBytes, loopBytes = 16, 28

// mostLocals is how many locals engines let a function have.
const mostLocals = 50_000

// placement decides where one function pays, instruction by instruction.
//
// A loop counts its turns in a local, which costs next to nothing, and leaves
// itself to buy more when it has had them; see wraps. A call within would make
// compilers keep the loop's values in memory and read the memory's address again in
// every turn. Labels that lead out of it count more blocks then.
//
// Calls, and loops with calls, need a payment somewhere on each way that leads to
// them, or a tree of calls would run for ever; one place that all these ways pass
// is looked for, as late as can be, so that a recursion's last step pays nothing.
// It is after the last exit that leads to no call, in the innermost block
// that contains all the calls.
//
// Beside that, the longest way since the last payment is measured, in bytes,
// along all branches forward.
type placement struct {
	loops  []loop // those to come
	stop   bool
	count  bool // there is a local to count with
	edits  []edit
	checks int
	grown  int // bytes that the edits add, at least
	frames []frame
	way    int // the longest way from the last payment to here

	// The place before the calls seen so far, of which depth says how many
	// frames hold it; were there a call in another block now, it would be next.
	calls       bool
	place, next int
	depth       int
}

// frame is an open block.
type frame struct {
	op      byte
	at      int    // where it was opened
	counted bool   // it is a loop that counts
	turns   uint32 // that can be bought at a time, then
	wrapped int    // how many blocks were put around those up to it
	looped  bool   // it is a loop with a backward branch, or is inside one
	before  int    // the way to the opening of an if
	way     int    // the longest way to its end by a branch
}

func newPlacement(b *wasmcheck.Body, all []loop, stop bool) *placement {
	p := &placement{loops: all, stop: stop, frames: []frame{{at: b.Start}}}
	longest := 0
	for _, l := range all {
		if l.counted() {
			p.count = b.Locals < mostLocals
			longest = max(longest, int(l.bytes))
		}
	}
	if p.stop && p.count {
		n, size := number(b.Bytes)
		p.edits = append(p.edits, edit{0, uint8(size), groups, n + 1}, edit{uint32(b.Start), 0, counter, turns(freeTurns, longest)})
	}
	return p
}

// turns is how many turns of a loop of the given length are worth so many short
// ones.
func turns(short, bytes int) uint32 {
	return uint32(max(1, short/max(1, min(bytes, straight)/turnBytes)))
}

func (p *placement) step(b *wasmcheck.Body) {
	if !p.stop {
		if b.Op == wasmcheck.OpMemoryGrow {
			p.edits = append(p.edits, edit{uint32(b.At), uint8(b.End - b.At), growth, 0})
		}
		return
	}
	switch b.Op {
	case wasmcheck.OpMemoryGrow:
		p.stretch(b.At)
		p.edits = append(p.edits, edit{uint32(b.At), uint8(b.End - b.At), growth, 0})
	case wasmcheck.OpMisc:
		if n := b.Number(); n == wasmcheck.MiscMemoryInit || n >= wasmcheck.MiscMemoryCopy && n != wasmcheck.MiscElemDrop && n != wasmcheck.MiscTableSize {
			p.stretch(b.At)
		}
	case wasmcheck.OpCall, wasmcheck.OpCallIndirect:
		p.call(b.At)
		p.spend(b.At, callWeight)
	}
	p.spend(b.At, b.End-b.At)
	p.flow(b)
}

// pay puts a payment at a place.
func (p *placement) pay(at int) {
	p.add(edit{at: uint32(at), what: pay, n: step})
	p.grown += payBytes
	p.way = 0
}

// stretch pays before an instruction that works on a stretch of something.
func (p *placement) stretch(at int) {
	p.add(edit{at: uint32(at), what: spend})
	p.way = 0
}

func (p *placement) add(x edit) {
	p.edits = append(p.edits, x)
	p.checks++
}

// spend counts bytes on the way and pays before there are too many. A table of
// branches, however long, is one step.
func (p *placement) spend(at, bytes int) {
	if p.way += min(bytes, callWeight); p.way > straight {
		p.pay(at)
	}
}

// call sees to the one place before all calls.
func (p *placement) call(at int) {
	top := len(p.frames) - 1
	switch {
	case p.frames[top].looped: // it was seen to at the loop
	case !p.calls:
		p.calls, p.place, p.next, p.depth = true, at, at, top
	default:
		p.place = p.next
	}
}

// flow follows the branches of an instruction.
func (p *placement) flow(b *wasmcheck.Body) {
	top := len(p.frames) - 1
	switch b.Op {
	case wasmcheck.OpBlock, wasmcheck.OpIf:
		f := p.frames[top]
		p.frames = append(p.frames, frame{op: b.Op, at: b.At, looped: f.looped, wrapped: f.wrapped, before: p.way})
	case wasmcheck.OpLoop:
		p.loop(b)
	case wasmcheck.OpElse:
		f := &p.frames[top]
		f.op, f.way, p.way = b.Op, max(f.way, p.way), f.before
		p.leave(top, f.at)
	case wasmcheck.OpEnd:
		p.end(b)
	case wasmcheck.OpBr, wasmcheck.OpBrTable:
		p.branch(b)
		p.way = 0 // no way goes on
	case wasmcheck.OpBrIf:
		p.branch(b)
	case wasmcheck.OpReturn, wasmcheck.OpUnreachable:
		p.way = 0
	}
}

func (p *placement) loop(b *wasmcheck.Body) {
	l, f := p.loops[0], p.frames[len(p.frames)-1]
	p.loops = p.loops[1:]
	if l.turns && l.calls > 0 && p.count {
		p.call(b.At)
	}
	f = frame{op: b.Op, at: b.At, looped: f.looped || l.turns, wrapped: f.wrapped}
	switch {
	case !l.turns:
		f.op = wasmcheck.OpBlock
	case l.counted() && p.count:
		f.counted = true
		f.wrapped += wraps
		f.turns = uint32(turnsPrice / l.weight())
		p.edits = append(p.edits, edit{at: uint32(b.At), what: opening})
		p.add(edit{at: uint32(b.End), what: turn})
		p.grown += loopBytes
		if n := l.copies(); n > 1 {
			p.edits = append(p.edits, edit{uint32(b.End), 0, repeat, n - 1})
		}
		p.way = 0
	default:
		p.pay(b.End)
	}
	p.frames = append(p.frames, f)
}

func (p *placement) branch(b *wasmcheck.Body) {
	top := len(p.frames) - 1
	for at, n := range b.Labels() {
		f := &p.frames[top-int(n)]
		f.way = max(f.way, p.way)
		if more := p.frames[top].wrapped - f.wrapped; more > 0 {
			_, size := number(b.Bytes[at:])
			p.edits = append(p.edits, edit{uint32(at), uint8(size), label, n + uint32(more)})
		}
	}
}

func (p *placement) end(b *wasmcheck.Body) {
	top := len(p.frames) - 1
	f := p.frames[top]
	p.frames = p.frames[:top]
	if f.counted {
		p.edits = append(p.edits, edit{uint32(b.End), 0, closing, f.turns})
	}
	if f.op == wasmcheck.OpLoop {
		return // who branches to it goes back
	}
	if p.way = max(p.way, f.way); f.op == wasmcheck.OpIf {
		p.way = max(p.way, f.before)
	}
	p.leave(top, f.at)
}

// leave records that the code that follows is no longer covered by the place, if
// the place is in the block that ends: a place that covers both is before that block.
func (p *placement) leave(depth, at int) {
	if p.calls && p.depth == depth {
		p.next, p.depth = at, depth-1
	}
}

// finish returns the edits in their order.
func (p *placement) finish() []edit {
	if p.calls {
		p.add(edit{uint32(p.place), 0, pay, step})
		slices.SortStableFunc(p.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	}
	return p.edits
}
