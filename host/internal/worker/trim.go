package worker

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// trimDelay is how long a worker waits for its next call before it returns unneeded
// memory to the system.
const trimDelay = time.Second

// A memoryTrimmer returns memory to the system when no call has come for a while.
// begin and end run for every call, so they only note the time; a goroutine checks it.
type memoryTrimmer struct {
	born  time.Time
	since atomic.Int64  // nanoseconds after born; busy: a call runs
	wake  chan struct{} // wakes the goroutine
}

const busy = -1

func newMemoryTrimmer() *memoryTrimmer {
	r := &memoryTrimmer{born: time.Now(), wake: make(chan struct{}, 1)}
	go r.watch()
	return r
}

// begin notes that no call runs.
func (r *memoryTrimmer) begin() {
	r.since.Store(int64(time.Since(r.born)))
	select {
	case r.wake <- struct{}{}:
	default: // it is awake already
	}
}

// end notes that a call has come.
func (r *memoryTrimmer) end() { r.since.Store(busy) }

func (r *memoryTrimmer) watch() {
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
