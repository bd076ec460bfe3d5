package archive

import (
	"context"
	"database/sql"
	"errors"
)

// Mark replaces the marks of a conversation: short texts by which it is found
// when nobody gives its id. An empty one is left out; none at all is allowed.
// It answers ErrNotFound for a conversation that the principal does not have.
func (s *Store) Mark(ctx context.Context, sc Scope, marks []string) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM conversations WHERE id = ? AND principal = ?", sc.Conversation, sc.Principal).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM conversation_marks WHERE conversation_id = ?", sc.Conversation); err != nil {
			return err
		}
		for _, m := range marks {
			if m == "" {
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO conversation_marks (principal, mark, conversation_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
				sc.Principal, m, sc.Conversation); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return ErrNotFound
	}
	return wrap(ctx, "marking a conversation", err)
}

// Marked lists the principal's conversations that bear a mark, the one used
// last first. Nobody's mark is no error.
func (s *Store) Marked(ctx context.Context, principal, mark string) ([]Conversation, error) {
	const doing = "finding a conversation"
	rows, err := s.read.QueryContext(ctx, "SELECT "+conversationColumns+` FROM conversations WHERE principal = ?
		AND id IN (SELECT conversation_id FROM conversation_marks WHERE principal = ? AND mark = ?)
		ORDER BY updated_at DESC, created_at DESC, id`, principal, principal, mark)
	if err != nil {
		return nil, wrap(ctx, doing, err)
	}
	defer rows.Close()
	var list []Conversation
	for rows.Next() {
		c, err := scanConversation(rows)
		if err != nil {
			return nil, wrap(ctx, doing, err)
		}
		list = append(list, c)
	}
	return list, wrap(ctx, doing, rows.Err())
}
