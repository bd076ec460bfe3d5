package cpusched

import (
	"runtime"
	"sync"
)

// largeText is the size in bytes from which a text occupies a core for ten
// milliseconds and more.
const largeText = 1 << 20

// LargeTexts runs what works on large texts, one at a time: if they occupied all cores,
// short calls would wait several of the scheduler's time slices. Calls in worker
// processes have priority over them. The zero value is ready.
type LargeTexts struct {
	mu   sync.Mutex
	done int // bytes since the last collection
}

// collectEvery is how many bytes of large texts are garbage enough for a collection: a
// heap of few megabytes would else grow by a hundred before the next one.
const collectEvery = 16 << 20

// Do runs f, which works on a text of n bytes.
func (l *LargeTexts) Do(n int, f func()) {
	if n < largeText {
		f()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	RunPreemptible(f)
	if l.done += n; l.done >= collectEvery {
		l.done = 0
		runtime.GC()
	}
}
