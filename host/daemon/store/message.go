package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// A Message is one stored message. Body is the neutral form of package agent as JSON;
// the other fields repeat it in columns that people can query.
type Message struct {
	Seq      int
	Turn     int
	Role     string
	Content  string
	Thinking string
	Model    string
	Body     json.RawMessage
	Created  time.Time
	// Passed says that the message is one of a client with a loop of its own; see Passed.
	Passed bool
}

const messageColumns = `seq, turn, role, model, m.created_at, coalesce(x.content, m.content), coalesce(x.thinking, m.thinking), m.body, x.body
	FROM messages m JOIN conversations c ON c.id = m.conversation_id
	LEFT JOIN passed_texts x ON m.digest <> '' AND x.principal = c.principal AND x.digest = m.digest
	WHERE m.conversation_id = ? AND c.principal = ?`

const messagesSQL = "SELECT " + messageColumns + " ORDER BY seq"

// replace stores messages in place of those from number from on, so that a reader sees
// the old messages or the new ones. 0: after the last one, number last. It sets Seq, from 1
// on, and Created where it is zero, in msgs itself.
func (s *Store) replace(b *sqlite.Batch, conversation string, last, from int, msgs []Message, now time.Time) error {
	switch {
	case from == 0:
		from = last + 1
	case from < 0 || from > last+1:
		return msg.Errorf("message %d does not exist; the last is %d", from, last)
	case from <= last:
		if err := b.Run(s.deleteMessages, conversation, from); err != nil {
			return err
		}
	}
	return s.insert(b, conversation, from, msgs, now)
}

// insert inserts messages from number first on.
func (s *Store) insert(b *sqlite.Batch, conversation string, first int, msgs []Message, now time.Time) error {
	args := make([]any, 0, 9*len(msgs))
	for i := range msgs {
		m := &msgs[i]
		m.Seq = first + i
		if m.Created = sqlite.Truncate(m.Created); m.Created.IsZero() {
			m.Created = now
		}
		args = append(args, conversation, m.Seq, m.Turn, m.Role, m.Model, m.Created.UnixMilli(), m.Content, m.Thinking, string(m.Body))
	}
	return b.Insert(s.insertMessages, args...)
}

func messageBytes(msgs []Message) int {
	n := 0
	for _, m := range msgs {
		n += len(m.Content) + len(m.Thinking) + len(m.Body)
	}
	return n
}

// Messages returns a conversation's messages in order, or ErrNotFound.
func (s *Store) Messages(ctx context.Context, sc archive.Scope) ([]Message, error) {
	const doing = "reading messages"
	rows, err := s.messages.QueryContext(ctx, sc.Conversation, sc.Principal)
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
	_, err = s.Conversation(ctx, sc) // it may have no message yet
	return nil, err
}

// pageRows is the number of rows that are read at once.
const pageRows = 64

// EachMessage calls f for a conversation's messages in order. It reads a few at a time
// from the disk, so that f may be slow. A conversation that the principal does not
// have, or that is deleted in the meantime, is ErrNotFound. A message that changes in
// the meantime is passed in its old or its new form.
func (s *Store) EachMessage(ctx context.Context, sc archive.Scope, f func(Message) error) error {
	last := 0
	for {
		var page []Message
		err := s.db.Each(ctx, "SELECT "+messageColumns+" AND seq > ? ORDER BY seq LIMIT ?",
			[]any{sc.Conversation, sc.Principal, last, pageRows}, func(row sqlite.Row) error {
				m, err := scanMessage(row)
				page = append(page, m)
				return err
			})
		if err != nil {
			return wrap(ctx, "reading messages", err)
		}
		if len(page) == 0 {
			_, err := s.Conversation(ctx, sc)
			return err
		}
		for _, m := range page {
			if err := f(m); err != nil {
				return err
			}
			last = m.Seq
		}
	}
}

func scanMessage(row sqlite.Row) (Message, error) {
	var m Message
	var created sql.NullInt64
	var body, passed []byte
	err := row.Scan(&m.Seq, &m.Turn, &m.Role, &m.Model, &created, &m.Content, &m.Thinking, &body, &passed)
	m.Created = sqlite.Time(created)
	if len(passed) > 0 {
		m.Passed, m.Body = true, passed
		m.Body = passedBody(m, body)
	} else if len(body) > 0 {
		m.Body = body
	}
	return m, err
}
