package worker

import "sync/atomic"

// Claims say of the calls in a worker's pipe who has them: the worker claims a
// call before it begins with it, and its parent takes back what it wants to give
// to another one. Only one of them gets it, so no call runs twice. They lie in
// memory that both share. The parent believes nothing that it reads there but
// that its own taking back went well: whatever else a worker writes into it, the
// call counts as begun.
type claims struct {
	slots  *[lineSlots]atomic.Uint64 // nil: the worker is gone
	region *region
}

// lineSlots is how many calls there may be from the first that waits to the last.
const lineSlots = 64

// What a slot says, beside which call it says it of: the number of the call, and
// one of these in the lowest bits. A call whose slot says another number was
// taken back.
const (
	waits = iota + 1
	claimed
	takenBack
)

func (c claims) slot(call uint64) *atomic.Uint64 { return &c.slots[call%lineSlots] }

// offer puts a call up, before it is sent.
func (c claims) offer(call uint64) { c.slot(call).Store(call<<2 | waits) }

// claim reports whether the worker may begin with a call.
func (c claims) claim(call uint64) bool {
	return c.slot(call).CompareAndSwap(call<<2|waits, call<<2|claimed)
}

// takeBack reports whether the parent has a call again, which the worker will not
// begin with.
func (c claims) takeBack(call uint64) bool {
	return c.slots != nil && c.slot(call).CompareAndSwap(call<<2|waits, call<<2|takenBack)
}

// begun reports whether the worker has, or may have, begun with a call.
func (c claims) begun(call uint64) bool {
	return c.slots == nil || c.slot(call).Load() != call<<2|waits
}

// close lets go of the memory; takeBack and begun may be used still.
func (c *claims) close() {
	if c.region != nil {
		c.region.drop()
	}
	*c = claims{}
}
