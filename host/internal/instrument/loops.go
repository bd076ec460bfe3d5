package instrument

import "github.com/weirhost/weir/host/internal/wasmcheck"

// loops reads what must be known of a function's loops before their heads are
// written.
type loops struct {
	report *wasmcheck.Report
	all    []loop // in the order of their heads
	open   []int  // for each open block the loop that it is; -1: none
}

// loop is one of them.
type loop struct {
	turns bool // something branches back to its head
	calls int  // how many calls are in it
	takes bool // it has parameters, which are on the stack at its head
	holds bool // there are loops in it
	bytes int  // its length
}

// counted says that the loop counts its turns in a local.
func (l loop) counted() bool { return l.turns && !l.takes }

// weight is the cost of a turn, in turns of the shortest loops.
func (l loop) weight() int {
	return max(1, min(l.bytes+callWeight*l.calls, straight)/turnBytes)
}

// copies is how often the loop's body is repeated, so that a short loop does not
// count at each turn.
func (l loop) copies() uint32 {
	if l.holds || l.calls > 0 {
		return 1
	}
	return uint32(min(4, max(1, 192/l.bytes)))
}

// read goes through a body from its beginning.
func (l *loops) read(b *wasmcheck.Body) {
	l.all, l.open = l.all[:0], append(l.open[:0], -1)
	for b.Next() {
		switch b.Op {
		case wasmcheck.OpBlock, wasmcheck.OpIf:
			l.open = append(l.open, -1)
		case wasmcheck.OpLoop:
			l.around(func(x *loop) { x.holds = true })
			l.open = append(l.open, len(l.all))
			l.all = append(l.all, loop{takes: l.takes(b), bytes: -b.At})
		case wasmcheck.OpEnd:
			if n := l.open[len(l.open)-1]; n >= 0 {
				l.all[n].bytes += b.End
			}
			l.open = l.open[:len(l.open)-1]
		case wasmcheck.OpBr, wasmcheck.OpBrIf, wasmcheck.OpBrTable:
			for _, label := range b.Labels() {
				if n := l.open[len(l.open)-1-int(label)]; n >= 0 {
					l.all[n].turns = true
				}
			}
		case wasmcheck.OpCall, wasmcheck.OpCallIndirect:
			l.around(func(x *loop) { x.calls++ })
		}
	}
}

// around tells all loops that are open of what is in them.
func (l *loops) around(tell func(*loop)) {
	for _, n := range l.open {
		if n >= 0 {
			tell(&l.all[n])
		}
	}
}

// takes says whether a block has parameters. A type of one byte that is not an
// index has none.
func (l *loops) takes(b *wasmcheck.Body) bool {
	if first := b.Bytes[b.At+1]; first&0xc0 == 0x40 {
		return false
	}
	return l.report.Types[b.Number()].Params > 0
}
