package store

import (
	"context"
	"database/sql"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// An Inventory counts what the store and the archive hold of one principal.
type Inventory struct {
	// Conversations are those that lists have; Messages are of the hidden ones, too.
	Conversations, Messages, Calls, Archives int
	// ArchiveBytes is the number of bytes that the results use on disk.
	ArchiveBytes int64
	// Days is the number of days with usage.
	Days int
}

// Inventory returns what is stored of a principal; zeros for an unknown one.
func (s *Store) Inventory(ctx context.Context, principal string) (Inventory, error) {
	const doing = "counting what a user has"
	out, err := inventory(ctx, s.db, principal)
	if err != nil {
		return Inventory{}, wrap(ctx, doing, err)
	}
	size, err := s.results.PrincipalSize(ctx, principal)
	out.Archives, out.ArchiveBytes = size.Results, size.Bytes
	return out, err
}

// inventory counts everything but the results.
func inventory(ctx context.Context, q sqlite.Querier, principal string) (out Inventory, err error) {
	err = q.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM conversations WHERE principal = ?1 AND hidden = 0),
		(SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE c.principal = ?1),
		(SELECT count(*) FROM tool_calls WHERE principal = ?1),
		(SELECT count(*) FROM usage_days WHERE principal = ?1)`, principal).
		Scan(&out.Conversations, &out.Messages, &out.Calls, &out.Days)
	return out, err
}

// Purge deletes everything of a principal, results and usage included, and leaves
// nothing of it in the file. It returns what it deleted.
func (s *Store) Purge(ctx context.Context, principal string) (Inventory, error) {
	var out Inventory
	err := s.db.Transact(ctx, func(tx *sql.Tx) (err error) {
		if out, err = inventory(ctx, tx, principal); err != nil {
			return err
		}
		// Messages, turns, traces, fingerprints and branches are deleted with their conversation.
		for _, table := range []string{"conversations", "tool_calls", "usage_days", "usage_costs", "usage_recent", "usage_running", "approvals", "answers", "mcp_sessions", "mcp_mail", "sessions", "client_tokens", "scripts", "passed_texts", "passed_notes", "folds"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE principal = ?", principal); err != nil {
				return err
			}
		}
		size, err := s.results.DeletePrincipalIn(ctx, tx, principal)
		out.Archives, out.ArchiveBytes = size.Results, size.Bytes
		return err
	})
	if err != nil {
		return Inventory{}, wrap(ctx, "deleting what a user has", err)
	}
	return out, s.db.Reclaim(ctx, true)
}
