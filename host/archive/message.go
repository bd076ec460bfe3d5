package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Append stores messages behind those of a conversation and assigns their Seq,
// from 1 on, and Created where it is zero, in msgs itself. They are
// synced to disk, all or none, when it returns. It answers ErrNotFound for a
// conversation that the principal does not have.
func (s *Store) Append(ctx context.Context, sc Scope, msgs []Message) error {
	return s.store(ctx, "saving messages", sc, func(last int) (int, error) { return last + 1, nil }, msgs)
}

// Replace puts msgs in the place of everything from message fromSeq on, in one
// transaction; a reader sees the old or the new, nothing between. fromSeq is 1
// at least, and at most one more than the last. It assigns Seq like Append.
func (s *Store) Replace(ctx context.Context, sc Scope, fromSeq int, msgs []Message) error {
	return s.store(ctx, "replacing messages", sc, func(last int) (int, error) {
		if fromSeq < 1 || fromSeq > last+1 {
			return 0, fmt.Errorf("message %d does not exist; the last is %d", fromSeq, last)
		}
		return fromSeq, nil
	}, msgs)
}

// store deletes what stands from the message on that from names, and puts msgs
// there.
func (s *Store) store(ctx context.Context, doing string, sc Scope, from func(last int) (int, error), msgs []Message) error {
	now := stored(s.now())
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE conversations SET updated_at = ? WHERE id = ? AND principal = ?", now.UnixMilli(), sc.Conversation, sc.Principal)
		if err != nil {
			return err
		}
		if err := touched(res); err != nil {
			return err
		}
		var last int
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM messages WHERE conversation_id = ?", sc.Conversation).Scan(&last); err != nil {
			return err
		}
		first, err := from(last)
		if err != nil {
			return err
		}
		if first <= last {
			if _, err := tx.ExecContext(ctx, "DELETE FROM messages WHERE conversation_id = ? AND seq >= ?", sc.Conversation, first); err != nil {
				return err
			}
		}
		for i := range msgs {
			m := &msgs[i]
			m.Seq = first + i
			if m.Created = stored(m.Created); m.Created.IsZero() {
				m.Created = now
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO messages (conversation_id, seq, turn, role, model, created_at, content, thinking, body)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				sc.Conversation, m.Seq, m.Turn, m.Role, m.Model, m.Created.UnixMilli(), m.Content, m.Thinking, string(m.Body)); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return ErrNotFound
	}
	return wrap(ctx, doing, err)
}

// Messages returns a conversation's messages in order, or ErrNotFound.
func (s *Store) Messages(ctx context.Context, sc Scope) ([]Message, error) {
	const doing = "reading messages"
	if _, err := s.Conversation(ctx, sc); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, `SELECT seq, turn, role, model, m.created_at, content, thinking, body
		FROM messages m JOIN conversations c ON c.id = m.conversation_id
		WHERE m.conversation_id = ? AND c.principal = ? ORDER BY seq`, sc.Conversation, sc.Principal)
	if err != nil {
		return nil, wrap(ctx, doing, err)
	}
	defer rows.Close()
	var list []Message
	for rows.Next() {
		var m Message
		var created sql.NullInt64
		var body []byte
		if err := rows.Scan(&m.Seq, &m.Turn, &m.Role, &m.Model, &created, &m.Content, &m.Thinking, &body); err != nil {
			return nil, wrap(ctx, doing, err)
		}
		m.Created = timeOf(created)
		if len(body) > 0 {
			m.Body = body
		}
		list = append(list, m)
	}
	return list, wrap(ctx, doing, rows.Err())
}
