package wire

import (
	"context"
	"io"
	"time"
)

// Patience that holds when nothing is configured.
const (
	// DefaultFirst is the wait for the first byte of an answer: a local server
	// may load a model and read a long prompt before it.
	DefaultFirst = 5 * time.Minute
	// DefaultStall is the wait between two pieces of an answer.
	DefaultStall = 2 * time.Minute
	// afterFinish is the wait for the rest of a stream whose reply is complete.
	afterFinish = 3 * time.Second
)

// A Watch ends a request whose server falls silent. It counts only while
// somebody waits for the server, so that a slow reader is never blamed on it.
type Watch struct {
	first, stall time.Duration
	timer        *time.Timer
	cancel       context.CancelCauseFunc
	wait         *silence
	begun        bool
}

// NewWatch starts to wait for an answer. first and stall are DefaultFirst and
// DefaultStall when 0, and without limit when negative; a first of 0 is never
// shorter than stall. Stop must be called.
func NewWatch(ctx context.Context, first, stall time.Duration) (context.Context, *Watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	stall = orDefault(stall, DefaultStall)
	switch {
	case first == 0 && stall < 0:
		first = -1
	case first == 0:
		first = max(DefaultFirst, stall)
	}
	w := &Watch{first: first, stall: stall, cancel: cancel}
	w.start(w.first)
	return ctx, w
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

func (w *Watch) start(d time.Duration) {
	if d < 0 {
		return
	}
	w.wait = &silence{after: d}
	cause := w.wait
	w.timer = time.AfterFunc(d, func() { w.cancel(cause) })
}

func (w *Watch) pause() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Stop ends the request and the watch; it may be called more than once.
func (w *Watch) Stop() {
	w.pause()
	w.cancel(context.Canceled)
}

// Finished says that the reply is complete: what is left of the stream is
// waited for shortly and its loss is no failure.
func (w *Watch) Finished() { w.first, w.stall = afterFinish, afterFinish }

// Body watches every read of an answer's body.
func (w *Watch) Body(rc io.ReadCloser) io.ReadCloser {
	w.pause()
	return &watched{rc, w}
}

type watched struct {
	io.ReadCloser
	w *Watch
}

func (b *watched) Read(p []byte) (int, error) {
	if b.w.begun {
		b.w.start(b.w.stall)
	} else {
		b.w.start(b.w.first)
	}
	n, err := b.ReadCloser.Read(p)
	b.w.pause()
	b.w.begun = b.w.begun || n > 0
	return n, err
}
