package instrument

import "github.com/weirhost/weir/host/internal/wasmcheck"

// loops reads what must be known of a function's loops before their heads are
// written.
type loops struct {
	report *wasmcheck.Report
	all    []loop  // in the order of their heads
	open   []int32 // for each open block the loop that it is; -1: none
	inner  int32   // the innermost open loop; -1: none
}

// loop is one of them. A function can have millions, so each is short.
type loop struct {
	turns bool  // something branches back to its head
	takes bool  // it has parameters, which are on the stack at its head
	holds bool  // there are loops in it
	calls int32 // how many calls are in it
	bytes int32 // its length
	outer int32 // the loop around it; -1: none
}

// counted says that the loop counts its turns in a local.
func (l loop) counted() bool { return l.turns && !l.takes }

// weight is the cost of a turn, in turns of the shortest loops.
func (l loop) weight() int {
	return max(1, min(int(l.bytes)+callWeight*int(l.calls), straight)/turnBytes)
}

// copies is how often the loop's body is repeated, so that a short loop does not
// count at each turn.
func (l loop) copies() uint32 {
	if l.holds || l.calls > 0 {
		return 1
	}
	return uint32(min(4, max(1, 192/l.bytes)))
}

// read goes through a body from its beginning. Only the innermost loop learns of a
// call, and tells the loop around it at its end: a function can have millions of calls
// inside thousands of blocks.
func (l *loops) read(b *wasmcheck.Body) {
	l.all, l.open, l.inner = l.all[:0], append(l.open[:0], -1), -1
	for b.Next() {
		switch b.Op {
		case wasmcheck.OpBlock, wasmcheck.OpIf:
			l.open = append(l.open, -1)
		case wasmcheck.OpLoop:
			if l.inner >= 0 {
				l.all[l.inner].holds = true
			}
			l.all = append(l.all, loop{takes: l.takes(b), bytes: int32(-b.At), outer: l.inner})
			l.inner = int32(len(l.all) - 1)
			l.open = append(l.open, l.inner)
		case wasmcheck.OpEnd:
			if n := l.open[len(l.open)-1]; n >= 0 {
				l.end(n, b.End)
			}
			l.open = l.open[:len(l.open)-1]
		case wasmcheck.OpBr, wasmcheck.OpBrIf, wasmcheck.OpBrTable:
			for _, label := range b.Labels() {
				if n := l.open[len(l.open)-1-int(label)]; n >= 0 {
					l.all[n].turns = true
				}
			}
		case wasmcheck.OpCall, wasmcheck.OpCallIndirect:
			if l.inner >= 0 {
				l.all[l.inner].calls++
			}
		}
	}
}

// end closes a loop.
func (l *loops) end(n int32, at int) {
	x := l.all[n]
	l.all[n].bytes += int32(at)
	if l.inner = x.outer; x.outer >= 0 {
		l.all[x.outer].calls += x.calls
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
