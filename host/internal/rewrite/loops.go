package rewrite

import "github.com/weirhost/weir/host/internal/gate"

// loops reads what must be known of a function's loops before their heads are
// written.
type loops struct {
	report *gate.Report
	all    []loop // in the order of their heads
	open   []int  // for each open block the loop that it is; -1: none
}

// loop is one of them.
type loop struct {
	turns bool // something branches back to its head
	calls bool // it calls, or a loop in it does
	takes bool // it has parameters, which stand on the stack at its head
	holds bool // there are loops in it
	bytes int  // its length
}

// counted says that the loop counts its turns in a local.
func (l loop) counted() bool { return l.turns && !l.calls && !l.takes }

// copies is how often the loop's body shall stand in it, so that short ones do
// not count at each turn.
func (l loop) copies() uint32 {
	if l.holds {
		return 1
	}
	return uint32(min(4, max(1, 192/l.bytes)))
}

// read goes through a body from its beginning.
func (l *loops) read(b *gate.Body) {
	l.all, l.open = l.all[:0], append(l.open[:0], -1)
	for b.Next() {
		switch b.Op {
		case gate.OpBlock, gate.OpIf:
			l.open = append(l.open, -1)
		case gate.OpLoop:
			l.mark(func(x *loop) *bool { return &x.holds })
			l.open = append(l.open, len(l.all))
			l.all = append(l.all, loop{takes: l.takes(b), bytes: -b.At})
		case gate.OpEnd:
			if n := l.open[len(l.open)-1]; n >= 0 {
				l.all[n].bytes += b.End
			}
			l.open = l.open[:len(l.open)-1]
		case gate.OpBr, gate.OpBrIf, gate.OpBrTable:
			for _, label := range b.Labels() {
				if n := l.open[len(l.open)-1-int(label)]; n >= 0 {
					l.all[n].turns = true
				}
			}
		case gate.OpCall, gate.OpCallIndirect:
			l.mark(func(x *loop) *bool { return &x.calls })
		}
	}
}

// mark marks the loops that are open. Those around a marked one are marked.
func (l *loops) mark(what func(*loop) *bool) {
	for i := len(l.open) - 1; i >= 0; i-- {
		if n := l.open[i]; n >= 0 {
			if *what(&l.all[n]) {
				return
			}
			*what(&l.all[n]) = true
		}
	}
}

// takes says whether a block has parameters. A type of one byte that is not an
// index has none.
func (l *loops) takes(b *gate.Body) bool {
	if first := b.Bytes[b.At+1]; first&0xc0 == 0x40 {
		return false
	}
	return l.report.Types[b.Number()].Params > 0
}
