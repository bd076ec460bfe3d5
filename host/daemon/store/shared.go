package store

import (
	"context"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// runningTime is how long a request counts as running after it was renewed, and after the
// server started: while that was away, no daemon could renew any.
const runningTime = 10 * time.Second

// Milliseconds since 1970, by the database, by whose clock all daemons decide.
const (
	clockSQL   = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
	startedSQL = "CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000 AS BIGINT)"
)

// prepareShared prepares the statements of this file.
func (s *Store) prepareShared(ctx context.Context) error {
	return s.db.PrepareAll(ctx, map[**sqlite.Statement]string{
		&s.admission: `SELECT n.ms, (SELECT count(*) FROM usage_running WHERE principal = ?1 AND (expires_at > n.ms OR ` + startedSQL + ` > n.ms - ?2)),
			coalesce((SELECT times FROM usage_recent WHERE principal = ?1), '[]') FROM (SELECT ` + clockSQL + ` AS ms) n`,
		&s.setRunning: "INSERT INTO usage_running (id, principal, expires_at) VALUES (?, ?, " + clockSQL + ` + ?)
			ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`,
		&s.endRunning:  "DELETE FROM usage_running WHERE id = ?",
		&s.dropRunning: "DELETE FROM usage_running WHERE expires_at <= " + clockSQL + " AND " + startedSQL + " <= " + clockSQL + " - ?",
	})
}

// Shared reports whether other daemons may use the tables. The methods in this file are for
// such tables alone.
func (s *Store) Shared() bool { return s.db.InPostgres() }

// Clock returns the time of the database.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var ms int64
	err := s.db.QueryRowContext(ctx, "SELECT "+clockSQL).Scan(&ms)
	return time.UnixMilli(ms), wrap(ctx, "reading the usage", err)
}

// Running returns the number of running requests of a principal.
func (s *Store) Running(ctx context.Context, principal string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM usage_running WHERE principal = ? AND expires_at > "+clockSQL, principal).Scan(&n)
	return n, wrap(ctx, "reading the usage", err)
}

// Admit counts a request of a principal as running, unless decide returns an error, which
// Admit returns as it is. decide gets the time, the number of running requests, and the
// times of those of the last minute, and returns these with the new one, or with an error
// those that are to be stored, nil if they are right. It may be called twice.
func (s *Store) Admit(ctx context.Context, id, principal string, decide func(now time.Time, running int, recent []time.Time) ([]time.Time, error)) error {
	var refused error
	err := s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		rows, err := b.Query(s.admission, principal, runningTime.Milliseconds())
		if err != nil {
			return err
		}
		defer rows.Close()
		var ms int64
		var running int
		var times string
		for rows.Next() {
			if err := rows.Scan(&ms, &running, &times); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		recent, err := timesOf(times)
		if err != nil {
			return err
		}
		if recent, refused = decide(time.UnixMilli(ms), running, recent); refused != nil && recent == nil {
			return sqlite.Unchanged(refused)
		}
		if err := s.increment(b, Increment{Principal: principal, Recent: recent}); err != nil || refused != nil {
			return err
		}
		return b.Run(s.setRunning, id, principal, runningTime.Milliseconds())
	})
	if refused != nil {
		return refused
	}
	return wrap(ctx, "saving the usage", err)
}

// Renew renews the running requests that list returns, by their ids, each with its
// principal, and removes those of daemons that died.
func (s *Store) Renew(ctx context.Context, list func() map[string]string) error {
	return wrap(ctx, "saving the usage", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		for id, principal := range list() {
			if err := b.Run(s.setRunning, id, principal, runningTime.Milliseconds()); err != nil {
				return err
			}
		}
		return b.Run(s.dropRunning, runningTime.Milliseconds())
	}))
}

// EndRequest counts a request as ended.
func (s *Store) EndRequest(ctx context.Context, id string) error {
	return wrap(ctx, "saving the usage", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error { return b.Run(s.endRunning, id) }))
}
