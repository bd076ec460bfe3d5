package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// A Conversation is one row of the list of conversations.
type Conversation struct {
	ID        string
	Principal string
	Title     string
	Profile   string
	Created   time.Time
	Updated   time.Time
	Messages  int
	// Passed says that the messages are those of a client with a loop of its own; see Passed.
	// Client is its name, Label what it calls the conversation; empty: unknown.
	Passed        bool
	Client, Label string
}

// DefaultConversations is the number of conversations that a list has by default.
const DefaultConversations = 100

const conversationColumns = `id, principal, title, profile, created_at, updated_at,
	(SELECT count(*) FROM messages WHERE conversation_id = conversations.id),
	(SELECT client FROM passed_branches WHERE conversation_id = conversations.id),
	(SELECT label FROM passed_branches WHERE conversation_id = conversations.id)`

// EnsureConversation returns the conversation with c's ID and creates it if it does
// not exist. An empty ID creates one with a new id. An existing conversation keeps its
// title and profile. The id of another principal is ErrNotFound.
func (s *Store) EnsureConversation(ctx context.Context, c Conversation) (Conversation, error) {
	if c.Principal == "" {
		return Conversation{}, msg.Errorf("opening a conversation: it needs a principal")
	}
	if c.ID == "" {
		id, err := uuid.NewV7() // ordered by time, as those of results
		if err != nil {
			return Conversation{}, err
		}
		c.ID = id.String()
	}
	sc := archive.Scope{Principal: c.Principal, Conversation: c.ID}
	if existing, err := s.Conversation(ctx, sc); !errors.Is(err, ErrNotFound) {
		return existing, err
	}
	err := s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		_, err := s.ensure(b, c, s.now())
		return err
	})
	if err != nil {
		return Conversation{}, wrap(ctx, "opening a conversation", err)
	}
	return s.Conversation(ctx, sc)
}

// ensure creates a conversation that does not exist, and reports whether it did. An
// existing one may be another principal's.
func (s *Store) ensure(b *sqlite.Batch, c Conversation, now time.Time) (created bool, err error) {
	rows, err := b.Exec(s.insertConversation, c.ID, c.Principal, c.Title, c.Profile, now.UnixMilli(), now.UnixMilli())
	return rows > 0, err
}

// Conversation returns one conversation, or ErrNotFound.
func (s *Store) Conversation(ctx context.Context, sc archive.Scope) (Conversation, error) {
	c, err := scanConversation(s.db.QueryRowContext(ctx, "SELECT "+conversationColumns+" FROM conversations WHERE id = ? AND principal = ?",
		sc.Conversation, sc.Principal))
	if errors.Is(err, sql.ErrNoRows) {
		return Conversation{}, ErrNotFound
	}
	return c, wrap(ctx, "reading a conversation", err)
}

// Conversations returns a principal's conversations, the one used last first. limit
// 0: DefaultConversations; negative: all.
func (s *Store) Conversations(ctx context.Context, principal string, limit int) ([]Conversation, error) {
	limit = cmp.Or(limit, DefaultConversations)
	return s.conversations(ctx, "listing conversations", `principal = ? AND hidden = 0
		ORDER BY updated_at DESC, created_at DESC, id LIMIT ?`, principal, sqlite.Limit(limit))
}

// conversations returns the conversations for which a condition holds.
func (s *Store) conversations(ctx context.Context, doing, where string, args ...any) (list []Conversation, err error) {
	list, err = sqlite.List(ctx, s.db, "SELECT "+conversationColumns+" FROM conversations WHERE "+where, args, scanConversation)
	return list, wrap(ctx, doing, err)
}

// Rename sets the title of a conversation, or returns ErrNotFound.
func (s *Store) Rename(ctx context.Context, sc archive.Scope, title string) error {
	return wrap(ctx, "renaming a conversation", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		return b.ExecOne(s.renameConversation, ErrNotFound, title, sc.Conversation, sc.Principal)
	}))
}

// Deleted counts what was deleted with a conversation.
type Deleted struct {
	Messages, Calls, Archives int
	// ArchiveBytes is the number of bytes that the results used on disk.
	ArchiveBytes int64
}

// DeleteConversation deletes a conversation with its messages, calls, turns, traces,
// scripts and results, and leaves nothing of them in the file. A principal that has nothing
// under the id receives ErrNotFound. Results that other conversations of the principal
// may read (archive.Config.UserScope) are deleted too. The usage for quotas stays. With one whose
// client has a loop of its own go all hidden branches of the principal: they may have its text,
// and a client that goes on sends everything again.
func (s *Store) DeleteConversation(ctx context.Context, sc archive.Scope) (Deleted, error) {
	var out Deleted
	found := 0
	err := s.db.Transact(ctx, func(tx *sql.Tx) (err error) {
		passed, err := s.isPassed(ctx, tx, sc)
		if err == nil {
			out, found, err = s.deleteIn(ctx, tx, sc)
		}
		if err != nil || !passed {
			return err
		}
		return s.deleteHiddenIn(ctx, tx, sc.Principal)
	})
	switch {
	case err != nil:
		return Deleted{}, wrap(ctx, "deleting a conversation", err)
	case found+out.Calls+out.Archives == 0:
		return Deleted{}, ErrNotFound
	}
	return out, s.db.Reclaim(ctx, true)
}

// deleteIn deletes a conversation within a transaction. found is 0 if there is none of that id.
func (s *Store) deleteIn(ctx context.Context, tx *sql.Tx, sc archive.Scope) (out Deleted, found int, err error) {
	own := []any{sc.Conversation, sc.Principal}
	if err := tx.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM conversations WHERE id = ?1 AND principal = ?2),
		(SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE c.id = ?1 AND c.principal = ?2),
		(SELECT count(*) FROM tool_calls WHERE conversation_id = ?1 AND principal = ?2)`, own...).
		Scan(&found, &out.Messages, &out.Calls); err != nil {
		return out, found, err
	}
	// Messages, turns, traces, fingerprints and branches are deleted with their conversation.
	for _, table := range []string{"conversations WHERE id", "tool_calls WHERE conversation_id", "scripts WHERE conversation_id", "passed_notes WHERE conversation_id"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" = ? AND principal = ?", own...); err != nil {
			return out, found, err
		}
	}
	if err := s.deleteApprovals(ctx, tx, sc); err != nil {
		return out, found, err
	}
	size, err := s.results.DeleteConversationIn(ctx, tx, sc)
	out.Archives, out.ArchiveBytes = size.Results, size.Bytes
	return out, found, err
}

func scanConversation(row sqlite.Row) (Conversation, error) {
	var c Conversation
	var created, updated sql.NullInt64
	var client, label sql.NullString
	err := row.Scan(&c.ID, &c.Principal, &c.Title, &c.Profile, &created, &updated, &c.Messages, &client, &label)
	c.Passed, c.Client, c.Label = client.Valid, client.String, label.String
	c.Created, c.Updated = sqlite.Time(created), sqlite.Time(updated)
	return c, err
}
