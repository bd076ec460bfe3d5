package shmring

import "sync/atomic"

// A ring is one direction of the shared memory. One side puts and the other reads,
// each by one goroutine at a time. Both check all that they read here: the other side
// may write anything at any time. Its user must retain the Region.
type ring struct {
	*ringHead
	*Region
	bytes []byte
	mine  uint64 // bytes that this side has put, or has read, since the beginning
}

// ringHead is the shared state of a ring; each field has a cache line of its own.
type ringHead struct {
	written atomic.Uint64 // bytes since the beginning
	_       [7]uint64
	taken   atomic.Uint64 // bytes of them that were read
	_       [7]uint64
	piped   atomic.Uint64 // bytes of frames that the reader read from the pipe, since the beginning
	_       [7]uint64
	asleep  atomic.Uint32 // not 0: the reader needs a bell
	_       [15]uint32
}

// ringSize is the size of a ring, and maxPut the most that is put at once, in bytes:
// small enough to stay in a core's cache.
const (
	ringSize = 64 << 10
	maxPut   = ringSize / 4
)

// put puts whole frames into the ring, and reports whether there was room.
func (r *ring) put(frames []byte) bool {
	if len(frames) > maxPut || r.mine-r.taken.Load() > uint64(ringSize-len(frames)) {
		return false
	}
	n := copy(r.bytes[r.mine%ringSize:], frames)
	copy(r.bytes, frames[n:])
	r.mine += uint64(len(frames))
	r.written.Swap(r.mine) // must come before the Load in wake; the race detector may reorder a Store
	return true
}

// wake reports whether the reader sleeps. The caller must then ring the bell.
func (r *ring) wake() bool { return r.asleep.Load() != 0 && r.asleep.Swap(0) != 0 }

// filled reports whether there is something to read.
func (r *ring) filled() bool { return r.written.Load() != r.mine }

// unread returns how many bytes there are to read. The error is ErrProtocol: the ring
// cannot hold so many.
func (r *ring) unread() (int, error) {
	n := r.written.Load() - r.mine
	if n > ringSize {
		return 0, ErrProtocol
	}
	return int(n), nil
}

// read copies bytes out of the ring; the caller knows that they are there. free then
// makes room for others.
func (r *ring) read(to []byte) {
	n := copy(to, r.bytes[r.mine%ringSize:])
	copy(to[n:], r.bytes)
	r.mine += uint64(len(to))
}

func (r *ring) free() { r.taken.Store(r.mine) }
