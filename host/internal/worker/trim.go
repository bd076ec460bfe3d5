package worker

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// trimDelay is how long a worker waits for its next call before it gives back the
// memory that it does not need while it waits.
const trimDelay = time.Second

// A rest gives memory back when no call came for a while. begin and end cost next
// to nothing, for every call pays them: who watches finds out what has happened
// since it last looked.
type memoryTrimmer struct {
	born  time.Time
	since atomic.Int64  // nanoseconds after born; busy: a call runs
	wake  chan struct{} // tells the watcher to look again
}

const busy = -1

func newMemoryTrimmer() *memoryTrimmer {
	r := &memoryTrimmer{born: time.Now(), wake: make(chan struct{}, 1)}
	go r.watch()
	return r
}

// begin says that no call runs any more.
func (r *memoryTrimmer) begin() {
	r.since.Store(int64(time.Since(r.born)))
	select {
	case r.wake <- struct{}{}:
	default: // it is awake
	}
}

// end says that a call has come.
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
