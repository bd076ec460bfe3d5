package resume

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/signal"
)

const (
	gatherFor  = 20 * time.Millisecond  // how long an event waits for others, or for the turn's end
	batchPause = 30 * time.Millisecond  // after a commit of events
	retryEvery = 200 * time.Millisecond // while the database is away
	retryFor   = time.Minute            // after which the connection of the client ends
	pollEvery  = 200 * time.Millisecond // while a client waits for events of another daemon
	readsEvery = 10 * time.Second       // between two notes that a client reads a turn of another daemon
)

// A batcher commits the events of one turn before its clients get them. It is safe for
// concurrent use.
type batcher struct {
	table *store.Store
	ctx   context.Context // fenced
	turn  string
	log   *log
	due   *time.Timer   // when the first of events has waited for others
	ends  chan struct{} // closed by end
	over  chan struct{} // closed when all is committed, or the turn is lost

	commit sync.Mutex // held while events are committed

	mu     sync.Mutex // guards what follows
	events []event    // that are not committed
	last   int        // the number of the last event
	closes bool       // the last one is the turn's
	stored bool       // all are committed, with the turn's end
}

func newBatcher(ctx context.Context, table *store.Store, turn string, fence int64, l *log) *batcher {
	b := &batcher{
		table: table, ctx: table.Fenced(context.WithoutCancel(ctx), turn, fence), turn: turn, log: l,
		due: time.NewTimer(0), ends: make(chan struct{}), over: make(chan struct{}), last: l.number(),
	}
	b.due.Stop()
	go b.run()
	return b
}

// add adds an event, as log.add.
func (b *batcher) add(raw func(n int) []byte, text string, lasts bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) == 0 {
		b.due.Reset(gatherFor)
	}
	b.last++
	b.events = append(b.events, event{raw(b.last), text, lasts})
}

// end says that no event follows here, and returns when all are committed or the turn is lost. closes
// says that none follows at all; otherwise those that are not committed are dropped.
func (b *batcher) end(closes bool) {
	b.mu.Lock()
	if b.stored {
		b.show(b.events)
	}
	stored := b.stored
	b.closes = closes && !stored
	b.mu.Unlock()
	close(b.ends)
	if !stored {
		<-b.over
	}
}

// take returns the events that are not committed, as a row.
func (b *batcher) take() (row store.Events, events []event, closes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, b.events = b.events, nil
	row = store.Events{First: b.last - len(events) + 1, Last: b.last}
	for _, e := range events {
		row.Data = append(row.Data, e.raw...)
	}
	return row, events, b.closes
}

// committed reports whether all are committed, with the turn's end.
func (b *batcher) committed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stored
}

// show gives events that are committed to the clients.
func (b *batcher) show(events []event) {
	for _, e := range events {
		b.log.add(func(int) []byte { return e.raw }, e.text, e.lasts)
	}
}

// run commits events until end, now and then before that.
func (b *batcher) run() {
	defer close(b.over)
	for ends := false; !ends; {
		select {
		case <-b.due.C:
		case <-b.ends:
			ends = true
		}
		if !b.commits(ends) {
			return
		}
		select {
		case <-b.ends:
		case <-time.After(batchPause):
		}
	}
}

// commits commits the events that wait, of which the last ones are dropped at an end that does
// not close the turn. It reports whether more may follow.
func (b *batcher) commits(ends bool) bool {
	b.commit.Lock()
	defer b.commit.Unlock()
	if b.committed() {
		return false
	}
	row, events, closes := b.take()
	if !closes && (ends || len(events) == 0) {
		return !ends
	}
	for began := time.Now(); ; time.Sleep(retryEvery) {
		err := b.table.AddEvents(b.ctx, b.turn, row, closes)
		if err == nil {
			b.show(events)
			return !closes
		}
		if errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrClosed) || time.Since(began) > retryFor {
			b.log.lose()
			return false
		}
	}
}

// closing returns the events that are not committed, to be committed with the turn's end: also
// those that show adds, which were held back until then, and the last ones, which end adds. No
// other ones are committed until done is called. Clients get them from end.
func (b *batcher) closing(show, end func()) (row store.Events, done func(stored bool)) {
	b.commit.Lock()
	if b.log.isLost() { // some were not committed
		b.commit.Unlock()
		return store.Events{}, nil
	}
	show()
	b.mu.Lock()
	before := len(b.events)
	b.mu.Unlock()
	end()
	row, events, _ := b.take()
	return row, func(stored bool) {
		defer b.commit.Unlock()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.stored = stored; stored {
			b.events = events
		} else { // the turn ends in another way
			b.events, b.last = events[:before], b.last-(len(events)-before)
		}
	}
}

// waitElsewhere waits until another daemon has an event of the turn. Where none has, the
// turn is over, and its client asks again.
func (t *Turn) waitElsewhere(ctx context.Context) error {
	for {
		list, closed, err := t.config.Table.EventsAfter(ctx, t.principal, t.id, 0)
		switch {
		case len(list) > 0 || ctx.Err() != nil:
			return nil
		case closed || errors.Is(err, store.ErrNotFound) || t.stopped.Err() != nil:
			return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "ask again in a moment", "the daemon stopped before the answer was complete")
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}

// follow sends the events of a turn after number n as they come into the table.
func (t *Turn) follow(ctx context.Context, s *sse.Stream, n int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.stopped, cancel)()
	woken := make(chan struct{}, 1)
	defer t.config.Table.Wake(store.WakeEvents, func(id string) {
		if id == t.id || id == "" {
			signal.One(woken)
		}
	})()
	noted := time.Time{}
	for ctx.Err() == nil {
		if time.Since(noted) > readsEvery {
			noted = time.Now()
			_ = t.config.Table.Reads(ctx, t.id) // the next one comes soon
		}
		pause := pollEvery
		list, closed, err := t.config.Table.EventsAfter(ctx, t.principal, t.id, n)
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		if err != nil {
			pause = retryEvery
		}
		for _, e := range list {
			writeEvents(s, after(e, n))
			n = e.Last
		}
		if closed {
			return
		}
		if len(list) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-woken:
		case <-time.After(pause):
		}
	}
}

// after returns the events of a row after number n.
func after(e store.Events, n int) []byte {
	data := e.Data
	for range n + 1 - e.First {
		_, data, _ = bytes.Cut(data, []byte("\n\n"))
	}
	return data
}

// elsewhere returns a turn that another daemon runs, or has run.
func (ts *Turns) elsewhere(ctx context.Context, principal, id string, n int) (*Turn, error) {
	if ts.config.Table == nil {
		return nil, store.ErrNotFound
	}
	_, closed, err := ts.config.Table.EventsAfter(ctx, principal, id, n)
	if err != nil {
		return nil, err
	}
	if last, err := ts.config.Table.LastEvent(ctx, id); err != nil || n > last {
		return nil, errors.Join(err, store.ErrNotFound)
	}
	t := &Turn{id: id, principal: principal, config: ts.config, stopped: ts.stopped, ended: make(chan struct{})}
	if closed {
		close(t.ended)
	}
	return t, nil
}

// serveElsewhere sends the events of a turn that another daemon runs.
func (t *Turn) serveElsewhere(w http.ResponseWriter, r *http.Request, n int) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := sse.New(w, cancel)
	defer s.Close()
	s.Ping()
	defer sse.Beat(t.config.Heartbeat(), s.Ping)()
	t.follow(ctx, s, n)
	return nil
}

// endElsewhere ends a turn that another daemon runs, and returns when it is stored.
func (t *Turn) endElsewhere(ctx context.Context) error {
	if err := t.config.Table.CancelRun(ctx, t.principal, t.id); err != nil {
		return err
	}
	for {
		_, closed, err := t.config.Table.EventsAfter(ctx, t.principal, t.id, 1<<40)
		if closed || errors.Is(err, store.ErrNotFound) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollEvery):
		}
	}
}

// An Adopted is a turn that this daemon has taken over.
type Adopted struct {
	Start
	ID, Conversation string
	Fence            int64
}

// Adopt goes on with a turn that another daemon began. It returns when the turn can be found.
func (ts *Turns) Adopt(ctx context.Context, a Adopted) error {
	last, err := ts.config.Table.LastEvent(ctx, a.ID)
	if err != nil {
		return err
	}
	t := ts.start(ctx, a.Start, a.ID, last, a.Fence)
	ts.begin(t, a.Conversation)
	t.mu.Lock()
	t.expiry = time.AfterFunc(t.grace, t.expire)
	t.mu.Unlock()
	return nil
}

// expire cancels a turn that no connection has read for its grace period, here or on
// another daemon.
func (t *Turn) expire() {
	if t.batch != nil {
		if read, err := t.config.Table.ReadElsewhere(t.batch.ctx, t.id, t.grace); read || err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			if len(t.readers) == 0 && !t.over {
				t.expiry.Reset(t.grace)
			}
			return
		}
	}
	t.cancel()
}
