package archive

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// MaxTraces is how many traces are kept, of all conversations together; older
// ones make room.
const MaxTraces = 1000

// DefaultTraces is how many are listed when nobody says.
const DefaultTraces = 20

// A Trace is how one turn went, as whoever ran it wrote it down.
type Trace struct {
	ID      int64 // a later turn has a greater one
	Scope   Scope
	Turn    int
	Created time.Time // now where it is zero
	Body    []byte    // JSON
}

func (b *batch) trace(sc Scope, t Trace, now time.Time) error {
	if t.Created.IsZero() {
		t.Created = now
	}
	b.traced = true
	return b.exec(insertTrace, sc.Conversation, t.Turn, t.Created.UnixMilli(), string(t.Body))
}

const traceColumns = `SELECT t.id, c.principal, t.conversation_id, t.turn, t.created_at, t.body
	FROM traces t JOIN conversations c ON c.id = t.conversation_id WHERE c.principal = ?`

// Traces lists the traces of a conversation, the newest first; a Scope without
// one means all of the principal's. limit 0: DefaultTraces; negative: all.
func (s *Store) Traces(ctx context.Context, sc Scope, limit int) ([]Trace, error) {
	const doing = "listing traces"
	if limit == 0 {
		limit = DefaultTraces
	}
	rows, err := s.read.QueryContext(ctx, traceColumns+" AND (t.conversation_id = ? OR ?) ORDER BY t.id DESC LIMIT ?",
		sc.Principal, sc.Conversation, sc.Conversation == "", limit)
	if err != nil {
		return nil, wrap(ctx, doing, err)
	}
	defer rows.Close()
	var list []Trace
	for rows.Next() {
		t, err := scanTrace(rows)
		if err != nil {
			return nil, wrap(ctx, doing, err)
		}
		list = append(list, t)
	}
	return list, wrap(ctx, doing, rows.Err())
}

// Trace reads one trace of the principal, or answers ErrNotFound.
func (s *Store) Trace(ctx context.Context, principal string, id int64) (Trace, error) {
	t, err := scanTrace(s.read.QueryRowContext(ctx, traceColumns+" AND t.id = ?", principal, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Trace{}, ErrNotFound
	}
	return t, wrap(ctx, "reading a trace", err)
}

func scanTrace(row interface{ Scan(...any) error }) (Trace, error) {
	var t Trace
	var created sql.NullInt64
	err := row.Scan(&t.ID, &t.Scope.Principal, &t.Scope.Conversation, &t.Turn, &created, &t.Body)
	t.Created = timeOf(created)
	return t, err
}
