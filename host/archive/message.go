package archive

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Append stores messages behind those of a conversation and assigns their Seq,
// from 1 on, and Created where it is zero, in msgs itself. They are
// synced to disk, all or none, when it returns. It answers ErrNotFound for a
// conversation that the principal does not have.
func (s *Store) Append(ctx context.Context, sc Scope, msgs []Message) error {
	return s.store(ctx, "saving messages", sc, 0, msgs)
}

// Replace puts msgs in the place of everything from message fromSeq on, in one
// transaction; a reader sees the old or the new, nothing between. fromSeq is 1
// at least, and at most one more than the last. It assigns Seq like Append.
func (s *Store) Replace(ctx context.Context, sc Scope, fromSeq int, msgs []Message) error {
	if fromSeq < 1 {
		return fmt.Errorf("replacing messages: %w", badPlace(fromSeq, 0))
	}
	return s.store(ctx, "replacing messages", sc, fromSeq, msgs)
}

func (s *Store) store(ctx context.Context, doing string, sc Scope, from int, msgs []Message) error {
	now := stored(s.now())
	return wrap(ctx, doing, s.commit(ctx, sizeOf(msgs), func(b *batch) error {
		if err := b.touch(touchConversation, now.UnixMilli(), sc.Conversation, sc.Principal); err != nil {
			return err
		}
		return b.replace(sc.Conversation, from, msgs, now)
	}))
}

// replace puts messages in the place of everything from number from on; 0: behind
// the last.
func (b *batch) replace(conversation string, from int, msgs []Message, now time.Time) error {
	last, err := b.number(lastMessage, conversation)
	switch {
	case err != nil:
		return err
	case from == 0:
		from = last + 1
	case from > last+1:
		return badPlace(from, last)
	case from <= last:
		if err := b.exec(deleteMessages, conversation, from); err != nil {
			return err
		}
	}
	return b.append(conversation, from, msgs, now)
}

// append inserts messages from number first on.
func (b *batch) append(conversation string, first int, msgs []Message, now time.Time) error {
	for i := range msgs {
		m := &msgs[i]
		m.Seq = first + i
		if m.Created = stored(m.Created); m.Created.IsZero() {
			m.Created = now
		}
		if err := b.exec(insertMessage, conversation, m.Seq, m.Turn, m.Role, m.Model, m.Created.UnixMilli(), m.Content, m.Thinking, string(m.Body)); err != nil {
			return err
		}
	}
	return nil
}

func sizeOf(msgs []Message) int {
	n := 0
	for _, m := range msgs {
		n += len(m.Content) + len(m.Thinking) + len(m.Body)
	}
	return n
}

const messagesSQL = `SELECT seq, turn, role, model, m.created_at, content, thinking, body
	FROM messages m JOIN conversations c ON c.id = m.conversation_id
	WHERE m.conversation_id = ? AND c.principal = ? ORDER BY seq`

// Messages returns a conversation's messages in order, or ErrNotFound.
func (s *Store) Messages(ctx context.Context, sc Scope) ([]Message, error) {
	const doing = "reading messages"
	rows, err := s.said.QueryContext(ctx, sc.Conversation, sc.Principal)
	if err != nil {
		return nil, wrap(ctx, doing, err)
	}
	defer rows.Close()
	var list []Message
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, wrap(ctx, doing, err)
		}
		list = append(list, m)
	}
	if err := rows.Err(); err != nil || len(list) > 0 {
		return list, wrap(ctx, doing, err)
	}
	_, err = s.Conversation(ctx, sc) // it may have none yet
	return nil, err
}

func scanMessage(row scanner) (Message, error) {
	var m Message
	var created sql.NullInt64
	var body []byte
	err := row.Scan(&m.Seq, &m.Turn, &m.Role, &m.Model, &created, &m.Content, &m.Thinking, &body)
	m.Created = timeOf(created)
	if len(body) > 0 {
		m.Body = body
	}
	return m, err
}
