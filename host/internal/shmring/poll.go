package shmring

import (
	"runtime"
	"time"
)

// A poller polls a ring instead of sleeping. Polling needs a core, so after failures
// it is tried less and less often.
type poller struct {
	most     time.Duration // 0: it never polls
	yields   bool          // other goroutines run in between
	failures int           // in a row, up to maxFailures
	skipped  int           // waits without polling since the last poll
}

// maxFailures bounds how rarely a poller polls: once in 2^maxFailures waits.
const maxFailures = 6

// pollTime returns d, or 0 on one core: there the other side cannot run meanwhile.
func pollTime(d time.Duration) time.Duration {
	if runtime.NumCPU() < 2 {
		return 0
	}
	return d
}

// due reports whether to poll now.
func (p *poller) due() bool {
	if p.skipped++; p.most <= 0 || p.skipped < 1<<p.failures {
		return false
	}
	p.skipped = 0
	return true
}

// until polls until the ring is filled, and reports whether it is.
func (p *poller) until(r *ring) bool {
	if !p.due() {
		return false
	}
	for began, over := time.Now(), false; !over; over = time.Since(began) >= p.most {
		if p.yields {
			runtime.Gosched()
		}
		for range 16 {
			if r.filled() {
				p.failures = 0
				return true
			}
		}
	}
	p.failures = min(p.failures+1, maxFailures)
	return false
}
