package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Deferred returns a context for BeginTx: the transaction sends its prepared statements
// together, with its begin and its commit, as soon as something has to be known: rows, the
// number of changed rows, or that it is committed. An error of a statement comes then. What
// the arguments point to must not change until then.
func Deferred(ctx context.Context) context.Context { return context.WithValue(ctx, deferred{}, true) }

type deferred struct{}

// maxQueued is how many statements wait at most.
const maxQueued = 64

// A pipeline is a transaction whose statements wait. A nil one is none.
type pipeline struct {
	conn  *conn
	ctx   context.Context
	sent  bool // whether the server knows of the transaction
	size  int  // of the arguments that wait, in bytes
	batch *pgx.Batch
	done  *[]int64 // how many rows the statements of batch changed, once they are sent
	err   error    // of the first statement that failed
}

// BeginTx implements driver.ConnBeginTx.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if ctx.Value(deferred{}) == nil || c.Conn.Conn().IsClosed() {
		tx, err := c.Conn.BeginTx(ctx, o)
		if err != nil || !c.writes {
			return tx, err
		}
		if _, err := c.Conn.ExecContext(ctx, c.lock, nil); err != nil {
			_ = tx.Rollback() // the first error matters more
			return nil, err
		}
		return tx, nil
	}
	c.tx = &pipeline{conn: c, ctx: ctx}
	c.tx.queue(c.lock)
	return c.tx, nil
}

// Key is the number of the lock that each transaction that writes has.
const Key = "hashtextextended('weir writes ' || coalesce(current_schema(), ''), 0)"

func (p *pipeline) queue(query string, args ...any) (index int) {
	if p.batch == nil {
		p.batch, p.done = &pgx.Batch{}, new([]int64)
	}
	p.batch.Queue(query, args...)
	return p.batch.Len() - 1
}

// add adds a statement.
func (p *pipeline) add(query string, named []driver.NamedValue) (driver.Result, error) {
	if p.batch != nil && p.batch.Len() >= maxQueued {
		if err := p.flush(); err != nil {
			return nil, err
		}
	}
	args := make([]any, len(named))
	for i, a := range named {
		args[i] = a.Value
	}
	p.size += size(named)
	i := p.queue(query, args...)
	return later{p, p.done, i}, p.err
}

// flush sends what waits, for a transaction that goes on. The server makes none of what
// follows an error.
func (p *pipeline) flush() error {
	if p == nil || p.err != nil || p.batch == nil {
		if p != nil {
			return p.err
		}
		return nil
	}
	return p.send(!p.sent)
}

// send sends what waits. Without a begin, now or before, the server commits it at its end.
func (p *pipeline) send(begins bool) error {
	if p.err = p.conn.patient(p.ctx, p.size); p.err != nil {
		return p.err
	}
	batch, done := p.batch, p.done
	p.batch, p.done, p.sent, p.size = nil, nil, true, 0
	if begins {
		batch.QueuedQueries = slices.Insert(batch.QueuedQueries, 0, &pgx.QueuedQuery{SQL: "begin"})
	}
	results := p.conn.Conn.Conn().SendBatch(p.ctx, batch)
	for i := range batch.Len() {
		tag, err := results.Exec()
		if err == nil && tag.String() == "ROLLBACK" {
			err = pgx.ErrTxCommitRollback
		}
		p.err = errors.Join(p.err, err)
		if err != nil {
			break
		}
		if !begins || i > 0 {
			*done = append(*done, tag.RowsAffected())
		}
	}
	if err := results.Close(); p.err == nil {
		p.err = err
	}
	return p.err
}

// Commit implements driver.Tx.
func (p *pipeline) Commit() error {
	if p.sent {
		p.queue("commit")
	}
	err := p.err
	if err == nil {
		err = p.send(false)
	}
	if err != nil {
		_ = p.Rollback() // the first error matters more
		return err
	}
	p.conn.tx = nil
	return nil
}

// Rollback implements driver.Tx.
func (p *pipeline) Rollback() error {
	p.conn.tx = nil
	if conn := p.conn.Conn.Conn(); !conn.IsClosed() && conn.PgConn().TxStatus() != inNoTransaction {
		_, err := conn.Exec(p.ctx, "rollback")
		return err
	}
	return nil
}

// later is the result of a statement that waits.
type later struct {
	p     *pipeline
	done  *[]int64
	index int
}

// LastInsertId implements driver.Result.
func (l later) LastInsertId() (int64, error) { return 0, errors.New("PostgreSQL has none") }

// RowsAffected implements driver.Result.
func (l later) RowsAffected() (int64, error) {
	if l.index >= len(*l.done) {
		if err := l.p.flush(); err != nil {
			return 0, err
		}
	}
	return (*l.done)[l.index], nil
}
