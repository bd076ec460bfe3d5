package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// mcpTime is how long the session of an MCP client is kept.
const mcpTime = 7 * 24 * time.Hour

const mcpEnded = "mcp-ended" // the kind of the notice that a session has ended

// PutMCPSession stores a client's session, and the message that began it.
func (s *Store) PutMCPSession(ctx context.Context, principal, id string, hello []byte) error {
	return wrap(ctx, "storing a session", s.db.Transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM mcp_sessions WHERE created_at < "+clockSQL+" - ?", mcpTime.Milliseconds()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO mcp_sessions (id, principal, created_at, hello) VALUES (?, ?, "+clockSQL+", ?)", id, principal, hello)
		return err
	}))
}

// MCPSession returns the message that began a principal's session, nil if there is none.
func (s *Store) MCPSession(ctx context.Context, principal, id string) (hello []byte, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT hello FROM mcp_sessions WHERE id = ? AND principal = ?", id, principal).Scan(&hello)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return hello, wrap(ctx, "reading the sessions", err)
}

// EndMCPSession deletes a principal's session and notifies all daemons, if it is there.
func (s *Store) EndMCPSession(ctx context.Context, principal, id string) (ended bool, err error) {
	err = s.db.Transact(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "DELETE FROM mcp_sessions WHERE id = ? AND principal = ?", id, principal)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if ended = n > 0; err != nil || n == 0 {
			return err
		}
		return s.db.Notify(ctx, tx, mcpEnded, id+" "+principal[:min(len(principal), 100)])
	})
	return ended, wrap(ctx, "deleting sessions", err)
}

// OnMCPEnd calls f with each session that ends on any daemon.
func (s *Store) OnMCPEnd(f func(principal, id string)) {
	s.db.Wake(mcpEnded, func(text string) {
		if id, principal, ok := strings.Cut(text, " "); ok {
			f(principal, id)
		}
	})
}
