package shmring

import "sync/atomic"

// Claims decide which side has a call that waits in a child's pipe. The child claims a
// call before it begins it, and the parent takes back what it wants to give to another
// worker; only one of them succeeds, so no call runs twice. The slots are in shared
// memory. The parent relies on its own compare-and-swap only: whatever a child writes
// there, the call counts as begun.
type Claims struct {
	slots  *[ClaimSlots]atomic.Uint64 // nil: closed
	region *Region
}

// ClaimSlots bounds the distance between the first waiting call and the last one.
const ClaimSlots = 64

// A slot holds the number of its call, shifted by two bits, and one of these states.
// A call whose slot holds another number was taken back.
const (
	waiting = iota + 1
	claimed
	takenBack
)

func (c Claims) slot(call uint64) *atomic.Uint64 { return &c.slots[call%ClaimSlots] }

// Offer offers a call to the child. It comes before the call is sent.
func (c Claims) Offer(call uint64) { c.slot(call).Store(call<<2 | waiting) }

// Claim claims a call for the child, and reports whether it may begin it.
func (c Claims) Claim(call uint64) bool {
	return c.slot(call).CompareAndSwap(call<<2|waiting, call<<2|claimed)
}

// TakeBack takes a call back for the parent, and reports whether the child will not
// begin it.
func (c Claims) TakeBack(call uint64) bool {
	return c.slots != nil && c.slot(call).CompareAndSwap(call<<2|waiting, call<<2|takenBack)
}

// Begun reports whether the child has begun a call, or may have.
func (c Claims) Begun(call uint64) bool {
	return c.slots == nil || c.slot(call).Load() != call<<2|waiting
}

// Closed reports whether Close was called.
func (c Claims) Closed() bool { return c.slots == nil }

// Close releases the memory. TakeBack and Begun may still be called.
func (c *Claims) Close() {
	if c.region != nil {
		c.region.Release()
	}
	*c = Claims{}
}
