package resume

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// A Turn is one turn that a client can resume. It is safe for concurrent use.
type Turn struct {
	id        string
	principal string
	locale    tool.Locale // of errors
	grace     time.Duration
	cancel    context.CancelFunc
	leave     context.CancelFunc // cancels the turn so that another daemon goes on with it
	config    Config
	stopped   context.Context
	log       *log          // nil: another daemon runs the turn
	batch     *batcher      // nil: the events are in the log alone
	failed    error         // why the turn did not begin; read it after log is closed
	ended     chan struct{} // closed when the turn has ended and is stored

	mu      sync.Mutex
	readers []*reader   // the connections that read, the oldest first
	expiry  *time.Timer // cancels the turn at the end of the grace period
	over    bool
	ending  bool // the client has ended the turn
}

// A reader is one connection that reads a turn.
type reader struct{ cancel context.CancelFunc }

// ID returns the id of the turn. The id of its nth event is "ID-n".
func (t *Turn) ID() string { return t.id }

// Ended returns a channel that is closed when the turn has ended and is stored.
func (t *Turn) Ended() <-chan struct{} { return t.ended }

// HasReader reports whether a connection reads the turn.
func (t *Turn) HasReader() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.readers) > 0
}

// End cancels the turn for its client, and returns when the turn is stored, or ctx ends. The
// stream then has no error event: the client wanted the end. A turn that has ended stays
// unchanged.
func (t *Turn) End(ctx context.Context) error {
	if t.log == nil {
		return t.endElsewhere(ctx)
	}
	t.end()
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
	return nil
}

func (t *Turn) end() {
	t.mu.Lock()
	t.ending = true
	t.mu.Unlock()
	t.cancel()
}

// maxReaders is how many connections read a turn at once, as from several tabs.
const maxReaders = 8

// attach makes a connection a reader. If there are too many it disconnects the oldest.
// The caller must call detach.
func (t *Turn) attach(ctx context.Context) (_ context.Context, detach func()) {
	ctx, cancel := context.WithCancel(ctx)
	own := &reader{cancel}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.readers = append(t.readers, own); len(t.readers) > maxReaders {
		t.readers[0].cancel()
		t.readers = t.readers[1:]
	}
	if t.expiry != nil {
		t.expiry.Stop()
	}
	return ctx, func() {
		cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		i := slices.Index(t.readers, own)
		if i < 0 {
			return
		}
		if t.readers = slices.Delete(t.readers, i, i+1); len(t.readers) == 0 && !t.over {
			t.expiry = time.AfterFunc(t.grace, t.expire)
		}
	}
}

// stop cancels the turn if no connection reads it, or always if all is true. Where daemons
// share a database, another one goes on with it.
func (t *Turn) stop(all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if all || len(t.readers) == 0 {
		if t.batch != nil {
			t.leave()
		}
		t.cancel()
	}
}

// eventID returns the id of the nth event. It also identifies the turn.
func (t *Turn) eventID(n int) string { return t.id + "-" + strconv.Itoa(n) }

// passing are the events that do not matter to who joins a turn late: pieces of a text,
// and states that later events replace.
var passing = []string{api.EventText, api.EventThought, api.EventProgress, api.EventBudget, api.EventWaiting}

func (t *Turn) emit(name string, data any) {
	text := ""
	if p, ok := data.(*api.TextPiece); ok && name == api.EventText {
		text = p.Text
	}
	add := t.log.add
	if t.batch != nil {
		add = t.batch.add
	}
	add(func(n int) []byte { return sse.Frame(t.eventID(n), name, data) }, text, !slices.Contains(passing, name))
}

// began reports whether the turn has an event.
func (t *Turn) began() bool {
	if t.batch == nil {
		return !t.log.empty()
	}
	t.batch.mu.Lock()
	defer t.batch.mu.Unlock()
	return t.batch.last > 0
}

// Closing is that of a turns.Question.
func (t *Turn) Closing(show func(), end api.ChatEnd, err error) (last store.Events, done func(stored bool)) {
	if t.batch == nil || !t.began() {
		return store.Events{}, nil
	}
	return t.batch.closing(show, func() { t.emitEnd(end, err) })
}

// Flush is that of a turns.Question.
func (t *Turn) Flush() bool { return t.batch == nil || t.batch.commits(false) }

// emitEnd adds the last events.
func (t *Turn) emitEnd(end api.ChatEnd, err error) {
	t.mu.Lock()
	wanted := (t.ending || t.batch != nil) && errors.Is(err, context.Canceled)
	t.mu.Unlock()
	if err != nil && !wanted {
		end.Error = t.config.Problem(t.locale, err)
		t.emit(api.EventError, end.Error)
	}
	t.emit(api.EventEnd, end)
}

// finish adds the last events. An error before the first event becomes the answer of the
// request instead.
func (t *Turn) finish(end api.ChatEnd, err error) {
	t.mu.Lock()
	t.over = true
	if t.expiry != nil {
		t.expiry.Stop()
	}
	t.mu.Unlock()
	closes := false
	if t.batch != nil {
		defer func() {
			t.batch.end(closes)
			t.log.close()
		}()
	}
	switch {
	case t.batch != nil && t.batch.committed():
		return
	case t.batch != nil && errors.Is(err, t.config.Left):
		t.log.lose()
		return
	case err != nil && !t.began():
		t.failed = err
	default:
		t.emitEnd(end, err)
		if closes = true; t.batch != nil {
			return // which closes the log after the last event
		}
	}
	t.log.close()
}

// Serve sends the events after number n, until the end of the turn or of the connection.
// It opens the stream at the first event; before that, it returns the error of a turn
// that could not begin, and cancels a turn whose client disconnects.
func (t *Turn) Serve(w http.ResponseWriter, r *http.Request, n int) error {
	if t.log == nil {
		return t.serveElsewhere(w, r, n)
	}
	ctx, detach := t.attach(r.Context())
	defer detach()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if t.log.empty() {
		if err := t.log.waitFirst(ctx); err != nil {
			t.cancel() // the client knows no event to resume from
			return nil
		}
		if t.log.empty() && !t.log.isLost() {
			return t.failed
		}
		if t.log.empty() {
			if err := t.waitElsewhere(ctx); err != nil {
				t.cancel()
				return err
			}
		}
	}
	s := sse.New(w, cancel)
	defer s.Close()
	s.Ping() // the next event may come late
	defer sse.Beat(t.config.Heartbeat(), s.Ping)()
	for {
		raw, last, missed, closed, err := t.log.next(ctx, n)
		if err != nil {
			return nil // the client has disconnected, or too many connections read
		}
		if t.batch != nil && (missed != nil || t.log.isLost()) { // the table has all events
			t.follow(ctx, s, n)
			return nil
		}
		if missed != nil {
			writeEvents(s, missed.raw)
			s.Raw(sse.Frame(t.eventID(missed.before-1), api.EventMissed, api.Missed{Events: missed.events, Text: missed.text}))
		}
		writeEvents(s, raw)
		if n = last; closed {
			return nil
		}
	}
}

// writeEvents writes events, a few at a time.
func writeEvents(s *sse.Stream, raw []byte) {
	for len(raw) > 0 {
		n := firstWrite(raw)
		s.Raw(raw[:n])
		raw = raw[n:]
	}
}

// firstWrite returns the length of the first whole events in raw with at least
// sse.PieceBytes bytes, or of all of raw. Pings then come between events, never inside
// one.
func firstWrite(raw []byte) int {
	const end = "\n\n"
	if len(raw) <= sse.PieceBytes {
		return len(raw)
	}
	from := sse.PieceBytes - len(end)
	n := bytes.Index(raw[from:], []byte(end))
	if n < 0 {
		return len(raw)
	}
	return from + n + len(end)
}
