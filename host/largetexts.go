package host

import (
	"runtime"
	"sync"
)

// largeText is the size in bytes from which a text occupies a core for ten milliseconds
// and more.
const largeText = 1 << 20

// largeTexts runs what works on large texts, one at a time: if they occupied all cores,
// short calls would wait for them. The zero value is ready.
type largeTexts struct {
	mu   sync.Mutex
	done int // bytes since the last collection
}

// collectEvery is how many bytes of large texts are garbage enough for a collection: a
// heap of few megabytes would else grow by a hundred before the next one.
const collectEvery = 16 << 20

// Do runs f, which works on a text of n bytes.
func (l *largeTexts) Do(n int, f func()) {
	if n < largeText {
		f()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	if l.done += n; l.done >= collectEvery {
		l.done = 0
		runtime.GC()
	}
}
