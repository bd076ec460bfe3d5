package rewrite

import (
	"encoding/binary"

	"github.com/weirhost/weir/host/internal/gate"
)

// An edit puts something in the place of the bytes from at to before end of a
// body; there may be none.
type edit struct {
	at, end int
	what    change
	n       uint32
}

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
	closing               // what comes behind one, which buys n turns
)

// apply writes a body with its edits.
func (e *encoder) apply(out []byte, b body) []byte {
	from := 0
	for _, x := range b.edits {
		out = append(out, b.bytes[from:x.at]...)
		out = e.change(out, b, x)
		from = x.end
	}
	return append(out, b.bytes[from:]...)
}

func (e *encoder) change(c code, b body, x edit) code {
	switch x.what {
	case pay:
		return e.pay(c, func(c code) code { return c.i32(int32(x.n)) })
	case spend:
		return c.op(gate.OpCall, e.spend)
	case growth:
		if e.grow == 0 {
			return append(c, b.bytes[x.at:x.end]...)
		}
		return c.op(gate.OpCall, e.grow)
	case label, groups:
		return binary.AppendUvarint(c, uint64(x.n))
	case counter:
		return append(c, 1, gate.TypeI32).i32(int32(x.n)).op(opLocalSet, b.counter)
	case opening:
		typ := b.bytes[x.at+1 : loopHead(b.bytes, x.at)]
		c = append(append(c, gate.OpBlock), typ...)
		c = append(append(c, gate.OpLoop), typ...)
		return append(c, gate.OpBlock, typeNone)
	case turn:
		c = c.op(gate.OpLocalGet, b.counter).i32(1).op(opSub).op(opLocalTee, b.counter)
		return c.op(opEqz).op(gate.OpBrIf, 1)
	case closing:
		c = append(c.op(gate.OpBr, 2), gate.OpEnd)
		c = c.op(gate.OpCall, e.refill).i32(int32(x.n)).op(opLocalSet, b.counter).op(gate.OpBr, 0)
		return append(c, gate.OpEnd, gate.OpEnd)
	}
	return c
}

// wraps is how many blocks stand around a counted loop:
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
func loopHead(b []byte, at int) int {
	for at++; b[at] >= 0x80; at++ {
		continue
	}
	return at + 1
}
