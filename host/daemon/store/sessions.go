package store

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// A Session is a browser that is logged in. ID, Key and Token are digests, in hexadecimal:
// of the cookie, of what the page sends beside it, and of the token that began it.
type Session struct {
	ID, Key, Token   string
	Principal        string
	Created, Expires time.Time
}

// Sessions returns the sessions that have not expired, the oldest first.
func (s *Store) Sessions(ctx context.Context) (list []Session, err error) {
	err = s.db.Each(ctx, "SELECT id, key, token, principal, created_at, expires_at FROM sessions WHERE expires_at > ? ORDER BY created_at, id", []any{s.now().UnixMilli()}, func(row sqlite.Row) error {
		var one Session
		var created, expires sql.NullInt64
		err := row.Scan(&one.ID, &one.Key, &one.Token, &one.Principal, &created, &expires)
		one.Created, one.Expires = sqlite.Time(created), sqlite.Time(expires)
		list = append(list, one)
		return err
	})
	return list, wrap(ctx, "reading the sessions", err)
}

// PutSession stores a new session, and deletes others by their IDs, and those that have expired.
func (s *Store) PutSession(ctx context.Context, one Session, gone ...string) error {
	return wrap(ctx, "storing a session", s.db.Transact(ctx, func(tx *sql.Tx) error {
		if err := deleteSessions(ctx, tx, gone); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE expires_at <= ?", s.now().UnixMilli()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions (id, key, token, principal, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
			one.ID, one.Key, one.Token, one.Principal, one.Created.UnixMilli(), one.Expires.UnixMilli())
		return cmp.Or(err, s.db.Notify(ctx, tx, sessionsKind, ""))
	}))
}

// DeleteSessions deletes sessions by their IDs.
func (s *Store) DeleteSessions(ctx context.Context, ids ...string) error {
	return wrap(ctx, "deleting sessions", s.db.Transact(ctx, func(tx *sql.Tx) error {
		return cmp.Or(deleteSessions(ctx, tx, ids), s.db.Notify(ctx, tx, sessionsKind, ""))
	}))
}

const sessionsKind = "sessions" // of the notices that they changed

// OnSessions calls f when a daemon has changed the sessions.
func (s *Store) OnSessions(f func()) { s.db.Wake(sessionsKind, func(string) { f() }) }

func deleteSessions(ctx context.Context, tx *sql.Tx, ids []string) error {
	for _, id := range ids {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
}
