package archive

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"
)

// DefaultConversations is how many conversations are listed when nobody says.
const DefaultConversations = 100

const conversationColumns = `id, principal, title, profile, created_at, updated_at,
	(SELECT count(*) FROM messages WHERE conversation_id = conversations.id)`

// EnsureConversation returns the conversation with c's ID, and creates it when
// there is none; an empty ID gets a new one. An existing one keeps its title
// and profile. It answers ErrNotFound for an id that is another principal's.
func (s *Store) EnsureConversation(ctx context.Context, c Conversation) (Conversation, error) {
	const doing = "opening a conversation"
	if c.Principal == "" {
		return Conversation{}, errors.New(doing + ": it needs a principal")
	}
	if c.ID == "" {
		id, err := uuid.NewV7() // as for entries
		if err != nil {
			return Conversation{}, err
		}
		c.ID = id.String()
	}
	if there, err := s.Conversation(ctx, Scope{Principal: c.Principal, Conversation: c.ID}); !errors.Is(err, ErrNotFound) {
		return there, err
	}
	err := s.commit(ctx, 0, func(b *batch) error {
		_, err := b.ensure(c, s.now().UnixMilli())
		return err
	})
	if err != nil {
		return Conversation{}, wrap(ctx, doing, err)
	}
	return s.Conversation(ctx, Scope{Principal: c.Principal, Conversation: c.ID})
}

// ensure creates a conversation that is not there, and reports whether it did.
// One that is there may be another principal's.
func (b *batch) ensure(c Conversation, now int64) (made bool, err error) {
	res, err := b.stmt(insertConversation).Exec(c.ID, c.Principal, c.Title, c.Profile, now, now)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// Conversation returns one conversation, or ErrNotFound.
func (s *Store) Conversation(ctx context.Context, sc Scope) (Conversation, error) {
	c, err := scanConversation(s.read.QueryRowContext(ctx, "SELECT "+conversationColumns+" FROM conversations WHERE id = ? AND principal = ?",
		sc.Conversation, sc.Principal))
	if errors.Is(err, sql.ErrNoRows) {
		return Conversation{}, ErrNotFound
	}
	return c, wrap(ctx, "reading a conversation", err)
}

// Conversations lists a principal's conversations, the one used last first.
// limit 0: DefaultConversations; negative: all.
func (s *Store) Conversations(ctx context.Context, principal string, limit int) ([]Conversation, error) {
	if limit == 0 {
		limit = DefaultConversations
	}
	return s.conversations(ctx, "listing conversations", `principal = ?
		ORDER BY updated_at DESC, created_at DESC, id LIMIT ?`, principal, limit)
}

// conversations lists those of which a condition holds; doing is for errors.
func (s *Store) conversations(ctx context.Context, doing, where string, args ...any) (list []Conversation, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+conversationColumns+" FROM conversations WHERE "+where, args...)
	if err != nil {
		return nil, wrap(ctx, doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanConversation(rows)
		if err != nil {
			return nil, wrap(ctx, doing, err)
		}
		list = append(list, c)
	}
	return list, wrap(ctx, doing, rows.Err())
}

// Rename gives a conversation another title, or answers ErrNotFound.
func (s *Store) Rename(ctx context.Context, sc Scope, title string) error {
	return wrap(ctx, "renaming a conversation", s.commit(ctx, 0, func(b *batch) error {
		return b.touch(renameConversation, title, sc.Conversation, sc.Principal)
	}))
}

// Deleted says what went with a conversation.
type Deleted struct {
	Messages, Calls, Archives int
	// ArchiveBytes is what the archives' texts took on disk.
	ArchiveBytes int64
}

// DeleteConversation deletes a conversation with its messages, its call log,
// what its turns took and its archives, and leaves nothing of them in the file.
// It answers ErrNotFound when the principal has nothing under that id. Archives
// that other conversations of the principal see (Config.UserScope) go too. What
// the principal used of its quotas stays.
func (s *Store) DeleteConversation(ctx context.Context, sc Scope) (Deleted, error) {
	const doing = "deleting a conversation"
	var out Deleted
	there := 0
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		own := []any{sc.Conversation, sc.Principal}
		if err := tx.QueryRowContext(ctx, `SELECT
			(SELECT count(*) FROM conversations WHERE id = ?1 AND principal = ?2),
			(SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE c.id = ?1 AND c.principal = ?2),
			(SELECT count(*) FROM tool_calls WHERE conversation_id = ?1 AND principal = ?2),
			(SELECT count(*) FROM tool_result_archive WHERE conversation_id = ?1 AND principal = ?2),
			(SELECT coalesce(sum(stored_bytes), 0) FROM tool_result_archive WHERE conversation_id = ?1 AND principal = ?2)`, own...).
			Scan(&there, &out.Messages, &out.Calls, &out.Archives, &out.ArchiveBytes); err != nil {
			return err
		}
		// Messages, turns and marks go with their conversation.
		for _, stmt := range []string{
			"DELETE FROM conversations WHERE id = ? AND principal = ?",
			"DELETE FROM tool_calls WHERE conversation_id = ? AND principal = ?",
			"DELETE FROM tool_result_archive WHERE conversation_id = ? AND principal = ?",
		} {
			if _, err := tx.ExecContext(ctx, stmt, own...); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return Deleted{}, wrap(ctx, doing, err)
	case there+out.Calls+out.Archives == 0:
		return Deleted{}, ErrNotFound
	}
	return out, s.reclaim(ctx, true)
}

// inTx runs f in one transaction of the writer.
func (s *Store) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		tx.Rollback() // the first error is the one to tell
		return err
	}
	return tx.Commit()
}

func scanConversation(row scanner) (Conversation, error) {
	var c Conversation
	var created, updated sql.NullInt64
	err := row.Scan(&c.ID, &c.Principal, &c.Title, &c.Profile, &created, &updated, &c.Messages)
	c.Created, c.Updated = timeOf(created), timeOf(updated)
	return c, err
}
