package daemon

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// feedBytes bounds the events that a feed keeps, in bytes as they stand in the
// stream. A client that is back within so much text misses nothing.
const feedBytes = 256 << 10

// A feed keeps the last events of one turn, so that a client which lost the
// stream can go on where it was. Events are numbered from 1. It is safe for
// concurrent use: one goroutine adds, any number read.
type feed struct {
	limit int // bytes

	mu    sync.Mutex
	kept  []fed
	bytes int
	last  int // number of the last event
	over  bool
	text  strings.Builder // of the pieces of the answer that are not kept any more
	wake  chan struct{}   // closed, and made anew, when there is something to read
}

// fed is one event as it stands in the stream, and its part of the answer.
type fed struct {
	raw  []byte
	text string
}

func newFeed(limit int) *feed { return &feed{limit: limit, wake: make(chan struct{})} }

// add appends an event; raw makes its bytes from its number. The oldest go when
// there are too many bytes, the newest never.
func (f *feed) add(raw func(n int) []byte, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	e := fed{raw(f.last), text}
	f.kept, f.bytes = append(f.kept, e), f.bytes+len(e.raw)
	for f.bytes > f.limit && len(f.kept) > 1 {
		f.bytes -= len(f.kept[0].raw)
		f.text.WriteString(f.kept[0].text)
		f.kept[0] = fed{}
		f.kept = f.kept[1:]
	}
	f.notify()
}

// end says that nothing follows.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.notify()
}

func (f *feed) notify() {
	close(f.wake)
	f.wake = make(chan struct{})
}

// A missed tells a client that it comes too late for some events.
type missed struct {
	before int    // the number of the first event that is still there
	events int    // how many are gone
	text   string // the whole answer in front of that event
}

// begun waits for the first event, or for the end where there is none. An error
// is that of ctx.
func (f *feed) begun(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wait(ctx, func() bool { return f.last > 0 })
}

// wait waits until ready says so, or for the end; f.mu is held.
func (f *feed) wait(ctx context.Context, ready func() bool) error {
	for !ready() && !f.over {
		wake := f.wake
		f.mu.Unlock()
		select {
		case <-wake:
			f.mu.Lock()
		case <-ctx.Done():
			f.mu.Lock()
			return ctx.Err()
		}
	}
	return nil
}

// next waits for events behind number n and returns their bytes, joined, and the
// number of the last. gap is set when some in between are gone, over when
// nothing will follow. An error is that of ctx.
func (f *feed) next(ctx context.Context, n int) (raw []byte, last int, gap *missed, over bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.wait(ctx, func() bool { return n < f.last }); err != nil {
		return nil, n, nil, false, err
	}
	n = min(n, f.last)
	first := f.last - len(f.kept) + 1
	if n+1 < first {
		gap = &missed{first, first - 1 - n, f.text.String()}
		n = first - 1
	}
	var b bytes.Buffer
	for _, e := range f.kept[min(n-first+1, len(f.kept)):] {
		b.Write(e.raw)
	}
	return b.Bytes(), f.last, gap, f.over, nil
}

// empty says that nothing was added.
func (f *feed) empty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last == 0
}

// number is the last event's; 0: there was none.
func (f *feed) number() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// size is what the feed holds, in bytes.
func (f *feed) size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes + f.text.Len()
}
