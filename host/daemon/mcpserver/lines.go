package mcpserver

import (
	"cmp"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/signal"
)

// maxWaiting is how many bytes may wait for a client that reads slowly; then
// whoever writes waits too.
const maxWaiting = 4 << 20

// A lineWriter writes whole lines. What is written while a write is under way
// goes out with the next one, all together.
//
// A write is a fifth of a short call, for both ends. So an answer that others are
// likely to follow lets what can run go first, whose answers then go out with it.
// What goes first may be a tool that computes for long inside this process: when
// that has been so, a while of answers does not wait.
type lineWriter struct {
	to     io.Writer
	failed func() // called when the client does not take what is written
	yield  func() // lets others go first

	mu      sync.Mutex
	less    sync.Cond // waiting has become less, or err is there
	waiting []byte
	spare   []byte // what waiting becomes while the other is written
	writing bool
	rested  chan struct{} // holds one when writing has come to its end
	hasty   int           // so many answers do not wait
	err     error
}

// Letting others go first is worth no more than shortYield; when it took longer,
// so many answers do without.
const (
	shortYield = time.Millisecond
	hasteAfter = 256
)

func newLineWriter(to io.Writer, failed func()) *lineWriter {
	w := &lineWriter{to: to, failed: failed, yield: yield, rested: make(chan struct{}, 1)}
	w.less.L = &w.mu
	return w
}

// yield lets others go first, and those that they wake, and those in turn: three rounds
// gave some 4 % more calls a second than one.
func yield() {
	for range 3 {
		runtime.Gosched()
	}
}

func (w *lineWriter) line(b []byte) { w.answer(b, false) }

// answer writes a line without its end. others says that more are likely to come
// at once. Errors are noticed by failed.
func (w *lineWriter) answer(b []byte, others bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(append(b, '\n'), others)
}

// Write takes whole lines. The error is that of an earlier write, too.
func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(b, false)
	return len(b), w.err
}

// add writes the lines, or leaves them to the goroutine that is writing already. The
// caller holds w.mu; add releases it at times.
func (w *lineWriter) add(b []byte, others bool) {
	for w.writing && len(w.waiting) > maxWaiting && w.err == nil {
		w.less.Wait()
	}
	w.waiting = append(w.waiting, b...)
	if w.writing {
		return
	}
	w.writing = true
	defer w.rest()
	if others {
		w.gather()
	}
	w.flush()
}

// rest ends the writing; w.mu is held.
func (w *lineWriter) rest() {
	w.writing = false
	signal.One(w.rested)
}

// busy reports whether lines are on their way, some of which may be of others than
// who writes them.
func (w *lineWriter) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writing
}

// gather lets others add lines. w.mu is held, and given up meanwhile.
func (w *lineWriter) gather() {
	if w.hasty > 0 {
		w.hasty--
		return
	}
	w.mu.Unlock()
	began := time.Now()
	w.yield()
	long := time.Since(began) > shortYield
	w.mu.Lock()
	if long {
		w.hasty = hasteAfter
	}
}

// flush writes what waits, and what comes to wait meanwhile. w.mu is held, and
// given up while it writes.
func (w *lineWriter) flush() {
	for len(w.waiting) > 0 && w.err == nil {
		lines := w.waiting
		w.waiting = w.spare[:0]
		w.less.Broadcast()
		w.mu.Unlock()
		_, err := w.to.Write(lines)
		w.mu.Lock()
		w.spare = lines
		if err != nil {
			w.err = err
			w.less.Broadcast()
			w.failed()
		}
	}
}

// first is the error of the first write that failed, else err.
func (w *lineWriter) first(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.err, err)
}
