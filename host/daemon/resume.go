package daemon

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// DefaultResumeGrace is how long a turn goes on whose client has gone, if it
// asked for that.
const DefaultResumeGrace = time.Minute

// What is kept of turns that are over, for clients that lost their end.
const (
	keepOver      = 5 * time.Minute
	keepOverCount = 256
	keepOverOf    = 64 // of one principal, so that nobody's go because of another's
	keepOverBytes = 32 << 20
)

// A liveTurn is a turn that its client can come back to.
type liveTurn struct {
	d         *Daemon
	id        string
	principal string
	feed      *feed
	grace     time.Duration
	cancel    context.CancelFunc // ends the turn
	failed    error              // why the turn never began; read when the feed is over
	ended     chan struct{}      // closed when the turn is over and stored
	locale    tool.Locale        // of errors

	mu     sync.Mutex
	reader *reader     // nil: nobody reads
	leave  *time.Timer // ends the turn when nobody comes back
	over   bool
	ending bool // its client has ended it
}

// A reader is one connection that is sent a live turn.
type reader struct{ end context.CancelFunc }

// attach makes a connection the one that reads; the one before ends, for it is
// the same client's. detach must be called.
func (l *liveTurn) attach(ctx context.Context) (_ context.Context, detach func()) {
	ctx, cancel := context.WithCancel(ctx)
	me := &reader{cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reader != nil {
		l.reader.end()
	}
	l.reader = me
	if l.leave != nil {
		l.leave.Stop()
	}
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.reader != me {
			return
		}
		if l.reader = nil; !l.over {
			l.leave = time.AfterFunc(l.grace, l.cancel)
		}
	}
}

// stop ends the turn as its client wants it: that is no failure of it.
func (l *liveTurn) stop() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	l.cancel()
}

// abandon ends the turn if nobody reads, or whoever does.
func (l *liveTurn) abandon(whoever bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if whoever || l.reader == nil {
		l.cancel()
	}
}

// eventID names one event of one turn, so that the turn is found by it alone.
func (l *liveTurn) eventID(n int) string { return l.id + "-" + strconv.Itoa(n) }

func (l *liveTurn) emit(name string, data any) {
	text := ""
	if p, ok := data.(*api.TextPiece); ok && name == api.EventText {
		text = p.Text
	}
	l.feed.add(func(n int) []byte { return sse.Frame(l.eventID(n), name, data) }, text)
}

func (l *liveTurn) finish(end api.ChatEnd, err error) {
	l.mu.Lock()
	l.over = true
	wanted := l.ending && errors.Is(err, context.Canceled)
	if l.leave != nil {
		l.leave.Stop()
	}
	l.mu.Unlock()
	if err != nil && l.feed.empty() {
		l.failed = err
	} else {
		if err != nil && !wanted {
			l.emit(api.EventError, l.d.render(l.locale, asProblem(err)))
		}
		l.emit(api.EventEnd, end)
	}
	l.feed.end()
}

// lives are the turns that can be come back to: those that run, and for a while
// those that are over. It is safe for concurrent use.
type lives struct {
	mu   sync.Mutex
	byID map[string]*liveTurn
	done []*liveTurn // the oldest first
}

func newLives() *lives { return &lives{byID: map[string]*liveTurn{}} }

func (ls *lives) add(l *liveTurn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.byID[l.id] = l
}

// find returns a principal's turn; those of others are not there.
func (ls *lives) find(principal, id string) (*liveTurn, bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l, ok := ls.byID[id]
	return l, ok && l.principal == principal
}

// settle keeps a turn that is over for a while, and drops the oldest where there
// are too many.
func (ls *lives) settle(l *liveTurn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.failed != nil { // whoever asked is told, and nobody else knows of it
		delete(ls.byID, l.id)
		return
	}
	ls.done = append(ls.done, l)
	ls.bound(l.principal)
	sum := 0
	for _, x := range ls.done {
		sum += x.feed.size()
	}
	for len(ls.done) > keepOverCount || sum > keepOverBytes && len(ls.done) > 1 {
		sum -= ls.done[0].feed.size()
		delete(ls.byID, ls.done[0].id)
		ls.done = ls.done[1:]
	}
	time.AfterFunc(keepOver, func() { ls.drop(l) })
}

// bound drops the oldest of a principal's where there are too many; ls.mu is held.
func (ls *lives) bound(principal string) {
	theirs := 0
	for _, x := range ls.done {
		if x.principal == principal {
			theirs++
		}
	}
	ls.done = slices.DeleteFunc(ls.done, func(x *liveTurn) bool {
		if x.principal != principal || theirs <= keepOverOf {
			return false
		}
		theirs--
		delete(ls.byID, x.id)
		return true
	})
}

func (ls *lives) drop(l *liveTurn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.byID, l.id)
	ls.done = slices.DeleteFunc(ls.done, func(x *liveTurn) bool { return x == l })
}

// abandon ends the turns that nobody reads, or all.
func (ls *lives) abandon(all bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byID {
		l.abandon(all)
	}
}

// begin runs a turn that does not end with its client.
func (d *Daemon) begin(r *http.Request, ask turns.Question) *liveTurn {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	l := &liveTurn{id: uuid.NewString(), principal: d.principal(r), feed: newFeed(feedBytes), grace: d.cfg.ResumeGrace, cancel: cancel, ended: make(chan struct{}), locale: localeOf(r), d: d}
	d.lives.add(l)
	go func() {
		defer cancel()
		defer close(l.ended)
		end, err := d.guarded(func() (api.ChatEnd, error) { return d.chat(ctx, l.principal, ask, nil, l.emit) })
		l.finish(end, err)
		d.lives.settle(l)
	}()
	return l
}

// guarded makes an error of a turn's panic, so that a stream comes to its end, and
// keeps it from ending the daemon where no request stands around the turn.
func (d *Daemon) guarded(f func() (api.ChatEnd, error)) (end api.ChatEnd, err error) {
	defer func() {
		if p := recover(); p != nil {
			d.panicked("a turn panicked", p)
			err = asProblem(nil)
		}
	}()
	return f()
}

// resumeChat goes on with the stream of a turn behind the event that the client
// read last.
func (d *Daemon) resumeChat(w http.ResponseWriter, r *http.Request) error {
	l, n, err := d.liveTurn(r)
	if err != nil {
		return err
	}
	return d.send(w, r, l, n)
}

// endChat ends a turn that runs, and answers when it is stored. One that is over
// already stays as it is.
func (d *Daemon) endChat(w http.ResponseWriter, r *http.Request) error {
	l, _, err := d.liveTurn(r)
	if err != nil {
		return err
	}
	l.stop()
	select {
	case <-l.ended:
	case <-r.Context().Done():
		return nil // the client has gone
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// liveTurn finds the turn of the event that a request names, and the event's
// number in it.
func (d *Daemon) liveTurn(r *http.Request) (*liveTurn, int, error) {
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		return nil, 0, api.Problemf(http.StatusBadRequest, "no_event", "send the header Last-Event-ID with the id of the last event that was read, or POST a question", "the request names no stream")
	}
	at := max(strings.LastIndexByte(last, '-'), 0)
	n, err := strconv.Atoi(strings.TrimPrefix(last[at:], "-"))
	l, ok := d.lives.find(d.principal(r), last[:at])
	if !ok || err != nil || n < 0 || n > l.feed.number() { // of an event that is still to come nothing was read
		return nil, 0, api.Problemf(http.StatusNotFound, "no_stream", "read the conversation instead; a stream can be resumed when the question said \"resume\": true, for five minutes after its end, and not after a restart of the daemon",
			"there is no stream with the event %q", api.Clip(last, 80))
	}
	return l, n, nil
}

// send sends the events of a turn behind number n, until its end or the
// client's. The stream opens with the first event, or at once where one was sent
// before: the next may be long in coming.
func (d *Daemon) send(w http.ResponseWriter, r *http.Request, l *liveTurn, n int) error {
	ctx, detach := l.attach(r.Context())
	defer detach()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if l.feed.empty() {
		if err := l.feed.begun(ctx); err != nil {
			l.cancel() // the client has gone, and knows no event to come back to
			return nil
		}
		if l.feed.empty() {
			return l.failed
		}
	}
	s := sse.New(w, cancel)
	defer s.Close()
	s.Ping()
	defer sse.Beat(d.beat, s.Ping)()
	for {
		raw, last, gap, over, err := l.feed.next(ctx, n)
		if err != nil {
			return nil // the client has gone, or is back on another connection
		}
		if gap != nil {
			s.Raw(sse.Frame(l.eventID(gap.before-1), api.EventMissed, api.Missed{Events: gap.events, Text: gap.text}))
		}
		for len(raw) > 0 {
			n := framesEnd(raw)
			s.Raw(raw[:n])
			raw = raw[n:]
		}
		if n = last; over {
			return nil
		}
	}
}

// framesEnd is the index behind the first events in raw, of at least pieceBytes
// together if there is so much. What else a stream is sent goes between events.
func framesEnd(raw []byte) int {
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
