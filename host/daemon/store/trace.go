package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// MaxTraces is the number of traces that are kept, of all conversations together.
// The oldest are deleted, a few at once; until then no list has them.
const MaxTraces = 1000

// DefaultTraces is the number of traces that a list has by default.
const DefaultTraces = 20

// A Trace is the report of one turn.
type Trace struct {
	ID      int64 // a later turn has a greater one
	Scope   archive.Scope
	Turn    int
	Created time.Time // zero: the time of storing
	Body    []byte    // JSON
}

func (s *Store) trace(b *sqlite.Batch, sc archive.Scope, t Trace, now time.Time) error {
	if t.Created.IsZero() {
		t.Created = now
	}
	if err := b.Run(s.insertTrace, sc.Conversation, t.Turn, t.Created.UnixMilli(), string(t.Body)); err != nil {
		return err
	}
	if s.traces.Add(1)%32 != 1 {
		return nil
	}
	return b.Run(s.deleteOldTraces, MaxTraces)
}

const traceSQL = `SELECT t.id, c.principal, t.conversation_id, t.turn, t.created_at, t.body
	FROM traces t JOIN conversations c ON c.id = t.conversation_id WHERE t.id > (SELECT max(id) FROM traces) - ? AND c.principal = ?`

// Traces returns the traces of a conversation, newest first. A Scope without a
// conversation selects all of the principal's. limit 0: DefaultTraces; negative: all.
func (s *Store) Traces(ctx context.Context, sc archive.Scope, limit int) (list []Trace, err error) {
	limit = cmp.Or(limit, DefaultTraces)
	err = s.db.Each(ctx, traceSQL+" AND (t.conversation_id = ? OR ?) ORDER BY t.id DESC LIMIT ?",
		[]any{MaxTraces, sc.Principal, sc.Conversation, sc.Conversation == "", sqlite.Limit(limit)}, func(row sqlite.Row) error {
			t, err := scanTrace(row)
			list = append(list, t)
			return err
		})
	if err != nil {
		list = nil
	}
	return list, wrap(ctx, "listing traces", err)
}

// Trace returns one trace of the principal, or ErrNotFound.
func (s *Store) Trace(ctx context.Context, principal string, id int64) (Trace, error) {
	t, err := scanTrace(s.db.QueryRowContext(ctx, traceSQL+" AND t.id = ?", MaxTraces, principal, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Trace{}, ErrNotFound
	}
	return t, wrap(ctx, "reading a trace", err)
}

func scanTrace(row sqlite.Row) (Trace, error) {
	var t Trace
	var created sql.NullInt64
	err := row.Scan(&t.ID, &t.Scope.Principal, &t.Scope.Conversation, &t.Turn, &created, &t.Body)
	t.Created = sqlite.Time(created)
	return t, err
}
