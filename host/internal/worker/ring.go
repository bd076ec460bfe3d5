package worker

import "sync/atomic"

// A ring is memory that a parent and its child share, through which one of them
// sends short frames to the other: while both are awake nobody asks the kernel for
// anything. What does not fit goes by the pipe, which also wakes a reader that
// sleeps. One side puts and one takes, each by one goroutine at a time. Neither
// believes what it reads here beyond what it checks: the other may write anything at
// any time. Who is about to use it holds its region.
type ring struct {
	*ringHead
	*region
	room []byte
	mine uint64 // bytes that this side has put, or has taken, since the beginning
}

// ringHead is what both sides say of themselves, each in a cache line of its own.
type ringHead struct {
	put    atomic.Uint64 // bytes since the beginning
	_      [7]uint64
	taken  atomic.Uint64 // so many of them
	_      [7]uint64
	piped  atomic.Uint64 // bytes of frames that the reader took from the pipe, since the beginning
	_      [7]uint64
	asleep atomic.Uint32 // not 0: the reader wants a bell
	_      [15]uint32
}

// ringRoom is what a ring holds, and ringMost the most that is put at once, in bytes:
// small enough to stay in a core's cache.
const (
	ringRoom = 64 << 10
	ringMost = ringRoom / 4
)

// offer puts whole frames into the ring, and reports whether there was room.
func (r *ring) offer(frames []byte) bool {
	if len(frames) > ringMost || r.mine-r.taken.Load() > uint64(ringRoom-len(frames)) {
		return false
	}
	n := copy(r.room[r.mine%ringRoom:], frames)
	copy(r.room, frames[n:])
	r.mine += uint64(len(frames))
	r.put.Swap(r.mine) // before wakes looks: under the race detector a Store may come behind a Load that follows it
	return true
}

// wakes reports whether the reader sleeps and wants a bell, which it gets then.
func (r *ring) wakes() bool { return r.asleep.Load() != 0 && r.asleep.Swap(0) != 0 }

// filled reports whether something lies in the ring.
func (r *ring) filled() bool { return r.put.Load() != r.mine }

// unread is how many bytes lie in the ring. The error is that it cannot hold so many.
func (r *ring) unread() (int, error) {
	n := r.put.Load() - r.mine
	if n > ringRoom {
		return 0, errFrame
	}
	return int(n), nil
}

// take copies bytes out of the ring, which the caller knows to lie there; free says
// that there is room where they lay.
func (r *ring) take(to []byte) {
	n := copy(to, r.room[r.mine%ringRoom:])
	copy(to[n:], r.room)
	r.mine += uint64(len(to))
}

func (r *ring) free() { r.taken.Store(r.mine) }
