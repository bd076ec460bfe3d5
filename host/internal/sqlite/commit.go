package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
)

// The bounds of one batch: the number of writes, and the bytes after which no
// further write is added.
const (
	maxBatchJobs  = 256
	maxBatchBytes = 8 << 20
)

// A job is one write that waits for its transaction. Jobs of many callers are
// committed together, because a sync takes milliseconds however much it syncs.
type job struct {
	run   func(*Batch) error
	bytes int
	// leads reports whether the job's caller commits the next batch. The mutex of
	// the queue guards it.
	leads bool
	// err is the job's result. Only the leader writes it, before it sends to done.
	err error
	// done receives one value, unless the job leads from the start: finished, or
	// lead, after which err is not set yet.
	done chan signal
}

// A signal is what a waiting job receives.
type signal int

const (
	finished signal = iota
	lead
)

// A commitQueue holds the jobs that wait. The caller of the first job leads: it
// commits a batch and then hands the lead to the first job that waits. So no job
// waits for more than two syncs, and the queue needs no goroutine of its own. A
// commitQueue is safe for concurrent use.
type commitQueue struct {
	mu        sync.Mutex // guards everything below, and leads of each waiting job
	waiting   []*job
	hasLeader bool
}

// enqueue adds a job and reports whether its caller leads.
func (q *commitQueue) enqueue(j *job) (leads bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, j)
	j.leads = !q.hasLeader
	q.hasLeader = true
	return j.leads
}

// cancel removes a job that is in no batch yet, and reports whether it did.
func (q *commitQueue) cancel(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, j)
	if i < 0 || j.leads {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// batch removes and returns the jobs of the next transaction.
func (q *commitQueue) batch() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, bytes := 0, 0
	for n < len(q.waiting) && n < maxBatchJobs && (n == 0 || bytes < maxBatchBytes) {
		bytes += q.waiting[n].bytes
		n++
	}
	jobs := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return jobs
}

// handOff makes the first waiting job the leader, if one waits.
func (q *commitQueue) handOff() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hasLeader = len(q.waiting) > 0; q.hasLeader {
		q.waiting[0].leads = true
		q.waiting[0].done <- lead
	}
}

// errUncommitted is the result of a job whose transaction ended in a panic.
var errUncommitted = msg.Errorf("the write was not made")

// Commit runs run in a transaction and returns when it is synced to disk. The
// transaction may be shared with other calls of Commit. bytes is roughly the size
// of the write. If ctx ends before the transaction begins, Commit returns its error;
// a write that has begun is finished.
//
// run may be called twice: if one write fails, the writes of the batch are repeated
// one by one. A run that changed nothing returns Unchanged, which spares the others
// the repetition.
func (db *DB) Commit(ctx context.Context, bytes int, run func(*Batch) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if g := guardOf(ctx); g != nil {
		write := run
		run = func(b *Batch) error {
			if err := b.Run(g.stmt, g.args...); err != nil {
				return err
			}
			return write(b)
		}
	}
	j := &job{run: run, bytes: bytes, done: make(chan signal, 1)}
	if !db.queue.enqueue(j) {
		var got signal
		select {
		case got = <-j.done:
		case <-ctx.Done():
			if db.queue.cancel(j) {
				return ctx.Err()
			}
			got = <-j.done
		}
		if got == finished {
			return j.err
		}
	}
	jobs := db.queue.batch()
	// The next leader starts and the callers return even if a job panics.
	defer func() {
		db.queue.handOff()
		for _, other := range jobs {
			if other != j {
				other.done <- finished
			}
		}
	}()
	for _, each := range jobs {
		each.err = errUncommitted
	}
	db.commitJobs(jobs)
	return j.err
}

// commitJobs commits jobs in one transaction, or each in its own if one of them
// fails. If the connection fails, all of them do: whether a commit that was under way was
// made is not known then, and the next attempt would fail too.
func (db *DB) commitJobs(jobs []*job) {
	err := db.commitBatch(jobs)
	if err == nil {
		return
	}
	if unreachable(err) {
		for _, j := range jobs {
			j.err = err
		}
		return
	}
	for i := range jobs {
		if err := db.commitBatch(jobs[i : i+1]); err != nil {
			jobs[i].err = err
		}
	}
}

// commitBatch commits jobs in one transaction. The error of a job that changed
// nothing is set on that job; every other error is returned and nothing is
// committed.
func (db *DB) commitBatch(jobs []*job) error {
	release, err := db.occupy(context.Background())
	if err != nil {
		return err
	}
	defer release()
	b := &Batch{db: db}
	if err := b.begin(); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			_ = b.end(false) // the first error matters more
		}
	}()
	for _, j := range jobs {
		err := j.run(b)
		if u, ok := errors.AsType[*unchanged](err); ok {
			j.err = u.err
			continue
		}
		if j.err = err; err != nil {
			return err
		}
	}
	if err := b.end(true); err != nil {
		return err
	}
	committed = true
	return nil
}

// Transact runs run in a transaction of its own and syncs it to disk. Unlike Commit
// it can be interrupted by ctx at any time, and run is called once.
func (db *DB) Transact(ctx context.Context, run func(*sql.Tx) error) error {
	release, err := db.occupy(ctx)
	if err != nil {
		return err
	}
	defer release()
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if g := guardOf(ctx); g != nil {
		if _, err := tx.Stmt(g.stmt.stmt).Exec(g.args...); err != nil {
			_ = tx.Rollback() // the first error matters more
			return err
		}
	}
	if err := run(tx); err != nil {
		_ = tx.Rollback() // the first error matters more
		return err
	}
	return tx.Commit()
}

// A guard is a statement that begins each write of a context.
type guard struct {
	stmt *Statement
	args []any
}

type guardKey struct{}

// Guarded returns a context whose writes are made only if a statement, which runs before
// each in its transaction, does not divide by zero; otherwise they return ErrFenced. What
// it changes is a part of the write.
func Guarded(ctx context.Context, s *Statement, args ...any) context.Context {
	return context.WithValue(ctx, guardKey{}, &guard{s, args})
}

// Merged returns a context of Guarded in which another statement is both the guard, with the
// same arguments first, and a part of the write.
func Merged(ctx context.Context, s *Statement, args ...any) context.Context {
	return Guarded(ctx, s, append(slices.Clip(guardOf(ctx).args), args...)...)
}

func guardOf(ctx context.Context) *guard {
	g, _ := ctx.Value(guardKey{}).(*guard)
	return g
}
