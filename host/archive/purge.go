package archive

import (
	"context"
	"database/sql"
)

// Belongings are what the store holds of one principal.
type Belongings struct {
	Conversations, Messages, Calls, Archives int
	// ArchiveBytes is what the archives' texts take on disk.
	ArchiveBytes int64
	// Days are those on which the principal took something of its quotas.
	Days int
}

// querier is what reads, inside a transaction or not.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Belongings sums up what there is of a principal; of one that nobody knows
// there is nothing.
func (s *Store) Belongings(ctx context.Context, principal string) (Belongings, error) {
	out, err := belongings(ctx, s.read, principal)
	return out, wrap(ctx, "summing up what a user has", err)
}

func belongings(ctx context.Context, q querier, principal string) (out Belongings, err error) {
	err = q.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM conversations WHERE principal = ?1),
		(SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE c.principal = ?1),
		(SELECT count(*) FROM tool_calls WHERE principal = ?1),
		(SELECT count(*) FROM tool_result_archive WHERE principal = ?1),
		(SELECT coalesce(sum(stored_bytes), 0) FROM tool_result_archive WHERE principal = ?1),
		(SELECT count(*) FROM usage_days WHERE principal = ?1)`, principal).
		Scan(&out.Conversations, &out.Messages, &out.Calls, &out.Archives, &out.ArchiveBytes, &out.Days)
	return out, err
}

// Purge deletes everything of a principal, what it took of its quotas too, and
// leaves nothing of it in the file. It returns what there was.
func (s *Store) Purge(ctx context.Context, principal string) (Belongings, error) {
	const doing = "deleting what a user has"
	var out Belongings
	err := s.inTx(ctx, func(tx *sql.Tx) (err error) {
		if out, err = belongings(ctx, tx, principal); err != nil {
			return err
		}
		// Messages, turns, traces and marks go with their conversation.
		for _, table := range []string{"conversations", "tool_calls", "tool_result_archive", "usage_days", "usage_costs", "usage_recent"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE principal = ?", principal); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Belongings{}, wrap(ctx, doing, err)
	}
	return out, s.reclaim(ctx, true)
}
