package worker

import (
	"sync/atomic"
	"time"
)

// A ring is memory that a parent and its child share, through which one of them
// sends short frames to the other: nobody has to ask the kernel for anything while
// both are awake. What does not fit goes by the pipe, which also wakes a reader that
// sleeps. One side puts and one takes; each believes nothing that it reads here
// beyond what it checks, for the other one may write anything at any time.
type ring struct {
	*ringHead
	*region
	room []byte
	mine uint64 // what this side has put, or has taken, in bytes since the beginning
}

// ringHead is what both sides say of themselves, each in a cache line of its own.
type ringHead struct {
	put    atomic.Uint64 // bytes since the beginning
	_      [7]uint64
	taken  atomic.Uint64 // so many of them
	_      [7]uint64
	asleep atomic.Uint32 // not 0: the reader wants a bell
	_      [15]uint32
	piped  atomic.Uint64 // bytes of frames that were taken from the pipe, since the beginning
	_      [7]uint64
}

// ringRoom is what a ring holds, and ringMost the longest that goes through it, in
// bytes.
const (
	ringRoom = 64 << 10
	ringMost = ringRoom / 4
)

// offer puts whole frames into the ring, and reports whether there was room.
func (r *ring) offer(frames []byte) bool {
	if len(frames) > ringMost || r.mine-r.taken.Load() > uint64(len(r.room)-len(frames)) {
		return false
	}
	n := copy(r.room[r.mine%ringRoom:], frames)
	copy(r.room, frames[n:])
	r.mine += uint64(len(frames))
	r.put.Store(r.mine)
	return true
}

// filled reports whether something lies in the ring.
func (r *ring) filled() bool { return r.put.Load() != r.mine }

// lie is how many bytes lie in the ring. The error is that it cannot hold so many.
func (r *ring) lie() (int, error) {
	n := r.put.Load() - r.mine
	if n > ringRoom {
		return 0, errFrame
	}
	return int(n), nil
}

// take copies bytes out of the ring; the caller knows that they lie there.
func (r *ring) take(to []byte) {
	n := copy(to, r.room[r.mine%ringRoom:])
	copy(to[n:], r.room)
	r.mine += uint64(len(to))
	r.taken.Store(r.mine)
}

// A spin waits for something without sleeping: who is woken waits for longer than
// many calls take. It costs a core, so it is short, and where it was in vain it is
// tried less and less often.
type spin struct {
	most   time.Duration // 0: it never waits
	vain   int           // times in vain, one after the other, up to spinRare
	passed int           // since the last one
}

// spinRare is the exponent of how rarely it waits at last.
const spinRare = 6

// until waits until something holds, and reports whether it does.
func (s *spin) until(holds func() bool) bool {
	if s.most <= 0 {
		return false
	}
	if s.passed++; s.passed < 1<<s.vain {
		return false
	}
	s.passed = 0
	for began := time.Now(); time.Since(began) < s.most; {
		for range 16 {
			if holds() {
				s.vain = 0
				return true
			}
		}
	}
	s.vain = min(s.vain+1, spinRare)
	return false
}
