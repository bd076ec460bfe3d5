package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/postgres"
)

// wakes are those of this process who are called when a transaction of any process says
// that something changed. Its zero value calls none: a file has one process.
type wakes struct {
	listen func(ctx context.Context, f func(text string))
	send   *Statement

	mu     sync.Mutex // guards what follows
	called map[*wake]bool
	end    context.CancelFunc // of the goroutine that listens, nil without one
	ended  sync.WaitGroup
	closed bool
}

type wake struct {
	kind string
	f    func(id string)
}

// Notify is the beginning of a statement that wakes as Batch.Notify, for each row that the rest
// of it selects, with PostgreSQL. Its first parameter is the kind, a space and the id.
const Notify = postgres.Notify

// Notify wakes those who called Wake for a kind, in all processes that share the database,
// when the batch is committed. kind and id have 200 bytes together at most.
func (b *Batch) Notify(kind, id string) error {
	if b.db.wakes.send == nil {
		return nil
	}
	return b.Run(b.db.wakes.send, kind+" "+id)
}

// Notify is Batch.Notify in a transaction of Transact.
func (db *DB) Notify(ctx context.Context, tx *sql.Tx, kind, id string) error {
	if db.wakes.send == nil {
		return nil
	}
	_, err := tx.StmtContext(ctx, db.wakes.send.stmt).ExecContext(ctx, kind+" "+id)
	return err
}

// Wake calls f with the id of what changed, when a committed Batch notifies of a kind, and
// with "" when some may have been missed: who waits must also ask now and then. f is called
// from one goroutine, which it must not hold up, until stop returns. stop must not be called
// by f. A file never calls it.
func (db *DB) Wake(kind string, f func(id string)) (stop func()) {
	w, own := &db.wakes, &wake{kind, f}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listen == nil || w.closed {
		return func() {}
	}
	if w.called == nil {
		w.called = map[*wake]bool{}
	}
	w.called[own] = true
	if w.end == nil {
		var ctx context.Context
		ctx, w.end = context.WithCancel(context.Background())
		w.ended.Go(func() { w.listen(ctx, w.call) })
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.called, own)
	}
}

// call calls those who wait for the kind in a text.
func (w *wakes) call(text string) {
	kind, id, _ := strings.Cut(text, " ")
	w.mu.Lock()
	defer w.mu.Unlock()
	for each := range w.called {
		if text == "" || each.kind == kind {
			each.f(id)
		}
	}
}

// close ends the goroutine that listens.
func (w *wakes) close() {
	w.mu.Lock()
	w.closed = true
	if w.end != nil {
		w.end()
	}
	w.mu.Unlock()
	w.ended.Wait()
}
