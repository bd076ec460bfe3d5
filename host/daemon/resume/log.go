package resume

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// logBytes bounds the events in a log. A client that reconnects within so many bytes of
// the stream misses no event.
const logBytes = 256 << 10

// keptShare is how many times the limit of a log the events may have that it keeps longer.
const keptShare = 2

// A log keeps the last events of one turn. Numbers of events start at 1. It is safe for
// concurrent use by one goroutine that adds events and any number that read.
type log struct {
	limit int // bytes

	mu     sync.Mutex
	events []event
	bytes  int
	kept   []keptEvent // of the dropped ones, in order
	spared int         // bytes of kept
	last   int         // number of the last event
	closed bool
	lost   bool            // another daemon has the events that follow
	text   strings.Builder // the part of the answer in events that the log has dropped
	change chan struct{}   // closed and replaced at each change
}

// An event is the bytes of one event of the stream, and its part of the answer. One that
// lasts is needed to show the turn from its beginning: the log keeps it longer.
type event struct {
	raw   []byte
	text  string
	lasts bool
}

// A keptEvent is an event that lasts, with its number.
type keptEvent struct {
	number int
	raw    []byte
}

func newLog(limit int) *log { return &log{limit: limit, change: make(chan struct{})} }

// add appends an event. raw returns the event's bytes for its number. If the log exceeds
// its limit, add drops the oldest events, but never the newest one, and of those that last
// only what is beyond another bound.
func (l *log) add(raw func(n int) []byte, text string, lasts bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e := event{raw(l.last), text, lasts}
	l.events, l.bytes = append(l.events, e), l.bytes+len(e.raw)
	for l.bytes > l.limit && len(l.events) > 1 {
		old := l.events[0]
		l.bytes -= len(old.raw)
		l.text.WriteString(old.text)
		if old.lasts && l.spared+len(old.raw) <= keptShare*l.limit {
			l.kept = append(l.kept, keptEvent{l.last - len(l.events) + 1, old.raw})
			l.spared += len(old.raw)
		}
		l.events[0] = event{}
		l.events = l.events[1:]
	}
	l.notify()
}

// close marks the end of the stream.
func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.notify()
}

// lose marks that the events which follow are another daemon's.
func (l *log) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost, l.closed = true, true
	l.notify()
}

// isLost reports whether lose was called.
func (l *log) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *log) notify() {
	close(l.change)
	l.change = make(chan struct{})
}

// A gap describes the events that a client can no longer read.
type gap struct {
	before int    // the number of the first event that the log still has
	events int    // the number of missed events
	text   string // the whole answer before that event
	raw    []byte // the events before it that the log has kept
}

// waitFirst waits for the first event, or for the end of a log without events. Its error
// is that of ctx.
func (l *log) waitFirst(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait(ctx, func() bool { return l.last > 0 })
}

// wait waits until ready returns true or the log is closed. The caller holds l.mu.
func (l *log) wait(ctx context.Context, ready func() bool) error {
	for !ready() && !l.closed {
		change := l.change
		l.mu.Unlock()
		select {
		case <-change:
			l.mu.Lock()
		case <-ctx.Done():
			l.mu.Lock()
			return ctx.Err()
		}
	}
	return nil
}

// next waits for events after number n. It returns their bytes, joined, and the number of
// the last one. missed is not nil if the log has not all of them in order; closed reports
// that no event follows. The error is that of ctx.
func (l *log) next(ctx context.Context, n int) (raw []byte, last int, missed *gap, closed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.wait(ctx, func() bool { return n < l.last }); err != nil {
		return nil, n, nil, false, err
	}
	n = min(n, l.last)
	first := l.last - len(l.events) + 1
	if n+1 < first {
		missed = &gap{first, first - 1 - n, l.text.String(), nil}
		for _, k := range l.kept {
			if k.number > n {
				missed.raw = append(missed.raw, k.raw...)
				missed.events--
			}
		}
		n = first - 1
	}
	var b bytes.Buffer
	for _, e := range l.events[min(n-first+1, len(l.events)):] {
		b.Write(e.raw)
	}
	return b.Bytes(), l.last, missed, l.closed, nil
}

// empty reports whether the log never had an event.
func (l *log) empty() bool { return l.number() == 0 }

// number returns the number of the last event; 0: none.
func (l *log) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// size returns the memory of the log's events and text, in bytes.
func (l *log) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes + l.spared + l.text.Len()
}
