package worker

import (
	"sync/atomic"
	"unsafe"
)

// A region is the memory that a parent and its child share: the claims, and a ring
// each way. It is let go when nobody uses it any more.
type region struct {
	room  []byte
	users atomic.Int64
}

// Where everything lies in a region, in bytes.
const (
	atClaims   = 0
	atHeads    = lineSlots * 8
	atRings    = 4 << 10
	regionSize = atRings + 2*ringRoom
)

// The rings of a region.
const (
	toChild = iota
	toParent
)

func regionOf(room []byte) *region {
	r := &region{room: room}
	r.users.Store(1)
	return r
}

func (r *region) claims() claims {
	return claims{slots: (*[lineSlots]atomic.Uint64)(unsafe.Pointer(&r.room[atClaims])), region: r}
}

func (r *region) ring(which int) *ring {
	at := atRings + which*ringRoom
	return &ring{
		ringHead: (*ringHead)(unsafe.Pointer(&r.room[atHeads+which*int(unsafe.Sizeof(ringHead{}))])),
		region:   r,
		room:     r.room[at : at+ringRoom : at+ringRoom],
	}
}

// hold keeps the region for one who is about to use it, until drop; it reports
// whether it is there.
func (r *region) hold() bool {
	for {
		n := r.users.Load()
		if n == 0 {
			return false
		}
		if r.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// drop lets go of the region.
func (r *region) drop() {
	if r.users.Add(-1) == 0 {
		unmap(r.room)
	}
}
