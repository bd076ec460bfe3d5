package shmring

import (
	"sync/atomic"
	"unsafe"
)

// A Region is the memory that a parent and its child share: the claims, and a ring in
// each direction. It counts its users and is unmapped after the last Release.
type Region struct {
	bytes []byte
	users atomic.Int64
}

// Offsets in a Region, in bytes.
const (
	atClaims   = 0
	atHeads    = ClaimSlots * 8
	atRings    = 4 << 10
	regionSize = atRings + 2*ringSize
)

// The rings of a Region.
const (
	ToChild = iota
	ToParent
)

// Bytes returns the mapped memory: the claim slots of 8 bytes; a head of 256 bytes for
// each ring, with four counters 64 bytes apart; and from 4 KiB on the rings of 64 KiB.
// Only tests of children that break the rules need it.
func (r *Region) Bytes() []byte { return r.bytes }

func regionOf(bytes []byte) *Region {
	r := &Region{bytes: bytes}
	r.users.Store(1)
	return r
}

// Claims returns the claims of the Region, which the caller must Close.
func (r *Region) Claims() Claims {
	return Claims{slots: (*[ClaimSlots]atomic.Uint64)(unsafe.Pointer(&r.bytes[atClaims])), region: r}
}

// ring returns a ring; nil if there is no Region.
func (r *Region) ring(which int) *ring {
	if r == nil {
		return nil
	}
	at := atRings + which*ringSize
	return &ring{
		ringHead: (*ringHead)(unsafe.Pointer(&r.bytes[atHeads+which*int(unsafe.Sizeof(ringHead{}))])),
		Region:   r,
		bytes:    r.bytes[at : at+ringSize : at+ringSize],
	}
}

// retain keeps the Region until Release, and reports whether it is still mapped.
func (r *Region) retain() bool {
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

// Release ends one use of the Region.
func (r *Region) Release() {
	if r.users.Add(-1) == 0 {
		unmap(r.bytes)
	}
}
