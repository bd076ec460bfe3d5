package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// hiddenAge is how long a branch that no list has is kept after its last request.
const hiddenAge = 24 * time.Hour

// isPassed reports whether a conversation is one of a client with a loop of its own.
func (s *Store) isPassed(ctx context.Context, q sqlite.Querier, sc archive.Scope) (bool, error) {
	n := 0
	err := q.QueryRowContext(ctx, "SELECT count(*) FROM passed_branches WHERE conversation_id = ? AND principal = ?", sc.Conversation, sc.Principal).Scan(&n)
	return n > 0, err
}

// deleteHiddenIn deletes the branches of a principal that no list has.
func (s *Store) deleteHiddenIn(ctx context.Context, tx *sql.Tx, principal string) error {
	rows, err := tx.QueryContext(ctx, "SELECT id FROM conversations WHERE principal = ? AND hidden <> 0", principal)
	ids, err := texts(rows, err)
	if err != nil {
		return err
	}
	return s.deletePassedIn(ctx, tx, principal, ids)
}

// deletePassedIn deletes passed-through conversations of a principal, and the texts that no
// conversation has any more.
func (s *Store) deletePassedIn(ctx context.Context, tx *sql.Tx, principal string, ids []string) error {
	for _, id := range ids {
		if _, _, err := s.deleteIn(ctx, tx, archive.Scope{Principal: principal, Conversation: id}); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM passed_texts WHERE principal = ?1 AND NOT EXISTS (SELECT 1 FROM messages m JOIN conversations c
		ON c.id = m.conversation_id WHERE m.digest = passed_texts.digest AND c.principal = ?1)
		AND digest NOT IN (SELECT system FROM passed_branches WHERE principal = ?1 UNION SELECT tools FROM passed_branches WHERE principal = ?1)`, principal)
	return err
}

// PrunePassed deletes passed-through conversations that were not used for as long as the archive
// keeps texts, the hidden ones after a day, and of a principal that has more bytes of them than
// the archive keeps of one, those that were used longest ago.
func (s *Store) PrunePassed(ctx context.Context) error {
	const doing = "pruning the conversations"
	pruned, err := s.pruneOld(ctx)
	if err == nil {
		var more bool
		more, err = s.pruneLarge(ctx)
		pruned = pruned || more
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, "DELETE FROM passed_notes WHERE created_at < ? AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = passed_notes.conversation_id)",
			s.now().Add(-hiddenAge).UnixMilli())
	}
	if err == nil && pruned {
		err = s.db.Reclaim(ctx, true)
	}
	return wrap(ctx, doing, err)
}

// pruneOld deletes what is older than its age, the oldest first, a few in each transaction, for
// which other writers wait.
func (s *Store) pruneOld(ctx context.Context) (pruned bool, err error) {
	age, _ := s.results.Retention()
	hidden, listed := s.now().Add(-hiddenAge), time.UnixMilli(0)
	if age > 0 {
		listed = s.now().Add(-age)
		hidden = s.now().Add(-min(hiddenAge, age))
	}
	for {
		old, err := s.branches(ctx, `c.hidden <> 0 AND c.updated_at < ? OR c.hidden = 0 AND c.updated_at < ?`, hidden.UnixMilli(), listed.UnixMilli())
		if err != nil || len(old) == 0 {
			return pruned, err
		}
		pruned = true
		for principal, ids := range old {
			if err := s.db.Transact(ctx, func(tx *sql.Tx) error { return s.deletePassedIn(ctx, tx, principal, ids) }); err != nil {
				return pruned, err
			}
		}
	}
}

// branches returns the ids of passed-through conversations by principals, the first few of those
// that were used longest ago.
func (s *Store) branches(ctx context.Context, where string, args ...any) (map[string][]string, error) {
	out := map[string][]string{}
	err := s.db.Each(ctx, "SELECT c.principal, c.id FROM conversations c JOIN passed_branches b ON b.conversation_id = c.id WHERE "+where+" ORDER BY c.updated_at LIMIT 32", args, func(row sqlite.Row) error {
		var principal, id string
		err := row.Scan(&principal, &id)
		out[principal] = append(out[principal], id)
		return err
	})
	return out, err
}

// pruneLarge deletes what is too much of a principal, one conversation at a time.
func (s *Store) pruneLarge(ctx context.Context) (pruned bool, err error) {
	_, most := s.results.Retention()
	if most <= 0 {
		return false, nil
	}
	for {
		large, err := sqlite.List(ctx, s.db, "SELECT principal FROM passed_texts GROUP BY principal HAVING sum(octet_length(content) + octet_length(thinking) + octet_length(body)) > ?", []any{most}, sqlite.Text)
		if err != nil || len(large) == 0 {
			return pruned, err
		}
		for _, principal := range large {
			old, err := s.branches(ctx, "c.principal = ?", principal)
			if err != nil || len(old[principal]) == 0 {
				return pruned, err
			}
			pruned = true
			if err := s.db.Transact(ctx, func(tx *sql.Tx) error { return s.deletePassedIn(ctx, tx, principal, old[principal][:1]) }); err != nil {
				return pruned, err
			}
		}
	}
}
