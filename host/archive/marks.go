package archive

import (
	"context"
)

// Mark replaces the marks of a conversation: short texts by which it is found
// when nobody gives its id. An empty one is left out; none at all is allowed.
// It answers ErrNotFound for a conversation that the principal does not have.
func (s *Store) Mark(ctx context.Context, sc Scope, marks []string) error {
	return wrap(ctx, "marking a conversation", s.commit(ctx, 0, func(b *batch) error {
		n, err := b.number(hasConversation, sc.Conversation, sc.Principal)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		return b.mark(sc, marks)
	}))
}

func (b *batch) mark(sc Scope, marks []string) error {
	if err := b.exec(deleteMarks, sc.Conversation); err != nil {
		return err
	}
	for _, m := range marks {
		if m == "" {
			continue
		}
		if err := b.exec(insertMark, sc.Principal, m, sc.Conversation); err != nil {
			return err
		}
	}
	return nil
}

// Marked lists the principal's conversations that bear a mark, the one used
// last first. Nobody's mark is no error.
func (s *Store) Marked(ctx context.Context, principal, mark string) ([]Conversation, error) {
	return s.conversations(ctx, "finding a conversation", `principal = ?
		AND id IN (SELECT conversation_id FROM conversation_marks WHERE principal = ? AND mark = ?)
		ORDER BY updated_at DESC, created_at DESC, id`, principal, principal, mark)
}
