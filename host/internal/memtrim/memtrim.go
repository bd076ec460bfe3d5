// Package memtrim returns the memory of a process to the system while it has nothing to do.
package memtrim

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// trimDelay is how long a process waits for its next call before it returns unneeded
// memory to the system.
const trimDelay = time.Second

// A Trimmer returns memory to the system when no call has come for a while.
// Begin and End run for every call, so they only note the time; a goroutine checks it.
type Trimmer struct {
	born  time.Time
	since atomic.Int64  // nanoseconds after born; busy: a call runs
	wake  chan struct{} // wakes the goroutine
}

const busy = -1

// New returns a Trimmer, and starts its goroutine, which has no end.
func New() *Trimmer {
	r := &Trimmer{born: time.Now(), wake: make(chan struct{}, 1)}
	go r.watch()
	return r
}

// Begin notes that no call runs.
func (r *Trimmer) Begin() {
	r.since.Store(int64(time.Since(r.born)))
	select {
	case r.wake <- struct{}{}:
	default: // it is awake already
	}
}

// End notes that a call has come.
func (r *Trimmer) End() { r.since.Store(busy) }

func (r *Trimmer) watch() {
	for range r.wake {
		for {
			wait, since := trimDelay, r.since.Load()
			if since != busy {
				wait -= time.Since(r.born) - time.Duration(since)
			}
			if wait <= 0 {
				break
			}
			time.Sleep(wait)
		}
		debug.FreeOSMemory()
	}
}
