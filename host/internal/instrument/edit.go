package instrument

import (
	"encoding/binary"
	"slices"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// An edit puts something in the place of the bytes from at to before end of a body; there may
// be none. A body can have millions of edits, so each is short.
type edit struct {
	at   uint32
	size uint8 // of the bytes
	what change
	n    uint32
}

func (x edit) end() uint32 { return x.at + uint32(x.size) }

type change byte

const (
	pay     change = iota // pay n units, and look if there are none left
	spend                 // pay for what works on a stretch, whose length is on the stack
	growth                // the module's own memory.grow
	label                 // the label n
	groups                // n groups of locals
	counter               // the local that counts turns, which may first be n
	opening               // what comes before a counted loop
	turn                  // the head of one
	repeat                // n more copies of its body
	closing               // what follows one; it buys n turns
	use                   // of an exported function, before all else
)

// apply writes a body with its edits.
func (e *encoder) apply(out []byte, b body) []byte {
	return e.span(out, b, b.edits, 0, uint32(len(b.bytes)), 0)
}

// span writes a part of a body with the edits in it. Labels that are edited
// count more blocks.
func (e *encoder) span(out []byte, b body, edits []edit, from, to, more uint32) []byte {
	for i, x := range edits {
		out = append(out, b.bytes[from:x.at]...)
		switch x.what {
		case repeat:
			out = e.repeat(out, b, edits[i:])
		case label:
			out = binary.AppendUvarint(out, uint64(x.n+more))
		default:
			out = e.change(out, b, x)
		}
		from = x.end()
	}
	return append(out, b.bytes[from:to]...)
}

// repeat writes a loop's body before itself: the first of the edits asks for
// it, and the next closing one is the loop's, for there is no loop in it. A copy
// is a block, at whose end what went back to the loop's head goes on; whoever
// comes to its end leaves the loop.
func (e *encoder) repeat(c code, b body, edits []edit) code {
	n := slices.IndexFunc(edits, func(x edit) bool { return x.what == closing })
	for range edits[0].n {
		c = append(c, wasmcheck.OpBlock, typeNone)
		c = e.span(c, b, edits[1:n], edits[0].at, edits[n].at-1, 1)
		c = append(c.op(wasmcheck.OpBr, wraps+1), wasmcheck.OpEnd)
	}
	return c
}

func (e *encoder) change(c code, b body, x edit) code {
	switch x.what {
	case pay:
		return e.pay(c, func(c code) code { return c.i32(int32(x.n)) })
	case spend:
		return c.op(wasmcheck.OpCall, e.spend)
	case growth:
		if e.grow == 0 {
			return append(c, b.bytes[x.at:x.end()]...)
		}
		return c.op(wasmcheck.OpCall, e.grow)
	case groups:
		return binary.AppendUvarint(c, uint64(x.n))
	case counter:
		return append(c, 1, wasmcheck.TypeI32).i32(int32(x.n)).op(opLocalSet, b.counter)
	case use:
		return c.i32(1).op(wasmcheck.OpGlobalSet, e.used)
	case opening:
		typ := b.bytes[x.at+1 : loopHead(b.bytes, x.at)]
		c = append(append(c, wasmcheck.OpBlock), typ...)
		c = append(append(c, wasmcheck.OpLoop), typ...)
		return append(c, wasmcheck.OpBlock, typeNone)
	case turn:
		c = c.op(wasmcheck.OpLocalGet, b.counter).i32(1).op(opSub).op(opLocalTee, b.counter)
		return c.op(opEqz).op(wasmcheck.OpBrIf, 1)
	case closing:
		c = append(c.op(wasmcheck.OpBr, 2), wasmcheck.OpEnd)
		c = c.op(wasmcheck.OpCall, e.refill).i32(int32(x.n)).op(opLocalSet, b.counter).op(wasmcheck.OpBr, 0)
		return append(c, wasmcheck.OpEnd, wasmcheck.OpEnd)
	}
	return c
}

// wraps is the number of blocks around a counted loop:
//
//	block (of the loop's type)
//	  loop (the same)
//	    block
//	      loop ... end      ;; the guest's, which leaves the inner block when it has had its turns
//	      br 2
//	    end
//	    buy turns, br 0
//	  end
//	end
const wraps = 3

// loopHead is where the loop's type ends.
func loopHead(b []byte, at uint32) uint32 {
	for at++; b[at] >= 0x80; at++ {
		continue
	}
	return at + 1
}
