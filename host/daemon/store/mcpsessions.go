package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

const (
	// MCPSessionTime is how long the session of an MCP client is kept since it was stored or
	// read.
	MCPSessionTime = 7 * 24 * time.Hour
	// maxMCPSessions bounds the sessions that are kept of a principal.
	maxMCPSessions = 1000
)

const mcpEnded = "mcp-ended" // the kind of the notice that a session has ended

// An MCPSession is a session of an MCP client over HTTP.
type MCPSession struct {
	ID, Principal string
	// Token is the digest of the token of the request that began it, in hexadecimal. Empty:
	// the request had none.
	Token string
	Hello []byte // the message that began it
}

// mcpClock returns the time by which sessions end: where daemons share them, the database's.
func (s *Store) mcpClock(ctx context.Context) (time.Time, error) {
	if s.Shared() {
		return s.Clock(ctx)
	}
	return s.now(), nil
}

// PutMCPSession stores a session. Of too many sessions of a principal it deletes the oldest.
func (s *Store) PutMCPSession(ctx context.Context, one MCPSession) error {
	now, err := s.mcpClock(ctx)
	if err != nil {
		return err
	}
	return wrap(ctx, "storing a session", s.db.Transact(ctx, func(tx *sql.Tx) error {
		for _, do := range []struct {
			query string
			args  []any
		}{
			{"DELETE FROM mcp_sessions WHERE principal = ? AND created_at < ?", []any{one.Principal, now.Add(-MCPSessionTime).UnixMilli()}},
			{"INSERT INTO mcp_sessions (id, principal, token, created_at, hello) VALUES (?, ?, ?, ?, ?)", []any{one.ID, one.Principal, one.Token, now.UnixMilli(), one.Hello}},
			{"DELETE FROM mcp_sessions WHERE principal = ?1 AND id NOT IN (SELECT id FROM mcp_sessions WHERE principal = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2)",
				[]any{one.Principal, maxMCPSessions}},
		} {
			if _, err := tx.ExecContext(ctx, do.query, do.args...); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TakeMCPSession returns the message that began a principal's session, for a request with the
// token of that digest, and has the session kept as long as a new one. Nil: there is none, or
// a request with another token began it.
func (s *Store) TakeMCPSession(ctx context.Context, principal, id, token string) (hello []byte, err error) {
	now, err := s.mcpClock(ctx)
	if err != nil {
		return nil, err
	}
	err = s.db.Transact(ctx, func(tx *sql.Tx) error {
		hello = nil
		err := tx.QueryRowContext(ctx, "SELECT hello FROM mcp_sessions WHERE id = ? AND principal = ? AND token IN (?, '') AND created_at >= ?",
			id, principal, token, now.Add(-MCPSessionTime).UnixMilli()).Scan(&hello)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE mcp_sessions SET created_at = ? WHERE id = ?", now.UnixMilli(), id)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return hello, wrap(ctx, "reading the sessions", err)
}

// EndMCPSession deletes a principal's session and notifies all daemons, if it is there.
func (s *Store) EndMCPSession(ctx context.Context, principal, id string) (ended bool, err error) {
	err = s.db.Transact(ctx, func(tx *sql.Tx) error {
		ended, err = s.endMCPIn(ctx, tx, principal, id)
		return err
	})
	return ended, wrap(ctx, "deleting sessions", err)
}

func (s *Store) endMCPIn(ctx context.Context, tx *sql.Tx, principal, id string) (ended bool, err error) {
	done, err := tx.ExecContext(ctx, "DELETE FROM mcp_sessions WHERE id = ? AND principal = ?", id, principal)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	if err != nil || n == 0 {
		return false, err
	}
	return true, s.db.Notify(ctx, tx, mcpEnded, id+" "+principal[:min(len(principal), 100)])
}

// RevokeMCPSessions deletes the sessions that were not used for MCPSessionTime, and those of
// tokens that do not hold any more, and returns these; all daemons are notified of them. holds
// is asked about tokens that are not those of client programs.
func (s *Store) RevokeMCPSessions(ctx context.Context, holds func(principal, token string) bool) (ended []MCPSession, err error) {
	now, err := s.mcpClock(ctx)
	if err != nil {
		return nil, err
	}
	err = s.db.Transact(ctx, func(tx *sql.Tx) error {
		ended = nil
		if _, err := tx.ExecContext(ctx, "DELETE FROM mcp_sessions WHERE created_at < ?", now.Add(-MCPSessionTime).UnixMilli()); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT id, principal, token FROM mcp_sessions WHERE token <> '' AND token NOT IN (SELECT digest FROM client_tokens)")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var one MCPSession
			if err := rows.Scan(&one.ID, &one.Principal, &one.Token); err != nil {
				return err
			}
			if !holds(one.Principal, one.Token) {
				ended = append(ended, one)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for _, one := range ended {
			if _, err := s.endMCPIn(ctx, tx, one.Principal, one.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return ended, wrap(ctx, "deleting sessions", err)
}

// OnMCPEnd calls f with each session that ends on any daemon, where several share the tables.
func (s *Store) OnMCPEnd(f func(principal, id string)) {
	s.db.Wake(mcpEnded, func(text string) {
		if id, principal, ok := strings.Cut(text, " "); ok {
			f(principal, id)
		}
	})
}
