package wire

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/weirhost/weir/agent"
)

// The timeouts if none are configured.
const (
	// DefaultFirst is the wait for the first byte of an answer: a local server
	// may load a model and read a long prompt before it.
	DefaultFirst = 5 * time.Minute
	// DefaultStall is the wait between two pieces of an answer.
	DefaultStall = 2 * time.Minute
	// lookTimeout bounds every wait for what a server says about itself.
	lookTimeout = 10 * time.Second
	// idleShare is how many times the wait for the first byte a server may go on
	// with signs of life and nothing else.
	idleShare = 3
	// maxAnswer bounds one answer, in bytes. No reply is as long: a model's
	// longest, in the wordiest stream, takes a tenth of it.
	maxAnswer = 256 << 20
	// afterFinish is the wait for the rest of a stream whose reply is complete.
	afterFinish = 3 * time.Second
)

// A Watch cancels a request whose server is silent. It counts only while the caller
// waits for the server: a slow reader does not count.
type Watch struct {
	first, stall time.Duration
	timer        *time.Timer
	cancel       context.CancelCauseFunc
	begun        bool
	stopped      bool
	look         bool // lookTimeout bounds the waits, no setting
	ctx          context.Context
	made         time.Time
	waited       *atomic.Int64 // what was waited in vain before, see agent.OnePatience
	idle         time.Duration // waited for bytes since the last that said something
	room         int64         // bytes that the answer may still take
}

// NewWatch starts to wait for an answer. first and stall are DefaultFirst and
// DefaultStall when 0, and without limit when negative; a first of 0 is never
// shorter than stall. Stop must be called.
func (p Peer) NewWatch(ctx context.Context, first, stall time.Duration) (context.Context, *Watch) {
	stall = cmp.Or(stall, DefaultStall)
	switch {
	case first == 0 && stall < 0:
		first = -1
	case first == 0:
		first = max(DefaultFirst, stall)
	}
	return p.newWatch(ctx, Watch{first: first, stall: stall})
}

func (p Peer) newWatch(ctx context.Context, w Watch) (context.Context, *Watch) {
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.ctx, w.room, w.made, w.waited = ctx, maxAnswer, time.Now(), agent.Waited(ctx, p.Name)
	w.start()
	return ctx, &w
}

// NewLook is NewWatch for a question about the server itself, which needs no model: the
// wait is lookTimeout, or first where that is shorter.
func (p Peer) NewLook(ctx context.Context, first time.Duration) (context.Context, *Watch) {
	w := Watch{first: first, look: first <= 0 || first > lookTimeout}
	if w.look {
		w.first = lookTimeout
	}
	w.stall = w.first
	return p.newWatch(ctx, w)
}

// start bounds one wait for the server: for its first byte, or for the next.
func (w *Watch) start() {
	d, rest := w.stall, w.stall
	if !w.begun {
		d, rest = w.first, max(0, w.first-time.Duration(w.waited.Load()))
	}
	if d < 0 {
		return
	}
	cause := &silence{after: d, begun: w.begun, look: w.look}
	w.timer = time.AfterFunc(rest, func() { w.cancel(cause) })
}

func (w *Watch) pause() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Stop ends the request and the watch; it may be called more than once.
func (w *Watch) Stop() {
	w.pause()
	switch {
	case w.ctx.Err() == nil:
		w.waited.Store(0) // the server answered, or refused
	case !w.begun && !w.stopped:
		w.waited.Add(int64(time.Since(w.made)))
	}
	w.stopped = true
	w.cancel(context.Canceled)
}

// Finished records that the reply is complete. The rest of the stream is awaited for a
// short time, and its loss is no failure.
func (w *Watch) Finished() { w.first, w.stall = afterFinish, afterFinish }

// Fed records that the last bytes were a piece of the reply, not a keep-alive.
func (w *Watch) Fed() { w.idle = 0 }

// ErrEndless is the error of reading a body that is longer than any reply.
var ErrEndless = errors.New("the answer does not end")

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
	b.w.start()
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.w.pause()
	if b.w.begun = b.w.begun || n > 0; b.w.begun {
		b.w.waited.Store(0)
	}
	b.w.idle += time.Since(began)
	if b.w.room -= int64(n); b.w.room < 0 {
		return 0, ErrEndless
	}
	if most := idleShare * b.w.first; most >= 0 && b.w.idle > most && b.w.begun {
		b.w.cancel(&silence{after: b.w.idle.Round(time.Second)})
	}
	return n, err
}
