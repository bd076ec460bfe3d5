package worker

import (
	"runtime"
	"time"
)

// How long the two sides stay awake for each other. To wake a thread whose core
// sleeps took 5 to 50 microseconds where it was measured, which is longer than most
// calls take: waiting as long as that would have taken costs at most the same again.
const (
	childSpin  = 20 * time.Microsecond // for the next call, behind one
	parentSpin = 50 * time.Microsecond // for a result
	besideSpin = 5 * time.Microsecond  // for a result beside other calls, which it lets run meanwhile
)

// A spin waits for something in a ring without sleeping. That takes a core, so where
// it was in vain it is tried less and less often.
type spin struct {
	most   time.Duration // 0: it never waits
	yields bool          // it lets others run in between
	vain   int           // how often it was in vain, one after the other, up to spinRare
	passed int           // how often it did not wait since it last did
}

// spinRare bounds how rarely a spin waits: once in two to the power of it.
const spinRare = 6

// awake is for how long to wait awake: with one core, nobody could do what is waited for.
func awake(d time.Duration) time.Duration {
	if runtime.NumCPU() < 2 {
		return 0
	}
	return d
}

// spins reports whether it would wait now.
func (s *spin) spins() bool {
	if s.passed++; s.most <= 0 || s.passed < 1<<s.vain {
		return false
	}
	s.passed = 0
	return true
}

// until waits until something lies in the ring, and reports whether it does.
func (s *spin) until(r *ring) bool {
	if !s.spins() {
		return false
	}
	for began, over := time.Now(), false; !over; over = time.Since(began) >= s.most {
		if s.yields {
			runtime.Gosched()
		}
		for range 16 {
			if r.filled() {
				s.vain = 0
				return true
			}
		}
	}
	s.vain = min(s.vain+1, spinRare)
	return false
}
