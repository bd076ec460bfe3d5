package store

import (
	"context"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// Notes returns what weir remembers about messages of a client: the notes of one kind that the
// principal has for these digests. A digest without a note is not in the map. What a digest is
// of, such as a message or all messages up to it, is the caller's choice; see
// passthrough.Message.
func (s *Store) Notes(ctx context.Context, principal, kind string, digests []string) (map[string]string, error) {
	out := map[string]string{}
	if len(digests) == 0 {
		return out, nil
	}
	err := s.db.Each(ctx, "SELECT digest, body FROM passed_notes WHERE principal = ? AND kind = ? AND digest IN "+s.listed(), []any{principal, kind, listOf(digests)}, noteInto(out))
	return out, wrap(ctx, "reading notes", err)
}

// AddNotes stores notes of one kind by their digests, synced to disk, and returns those that hold
// now: one that was there before stays, so that several daemons agree. They are deleted with the
// conversation, which need not exist yet; if it never does, a day later.
func (s *Store) AddNotes(ctx context.Context, sc archive.Scope, kind string, notes map[string]string) (map[string]string, error) {
	out := map[string]string{}
	if len(notes) == 0 {
		return out, nil
	}
	if sc.Principal == "" || sc.Conversation == "" || kind == "" {
		return nil, msg.Errorf("storing a note: it needs a principal, a conversation and a kind")
	}
	var digests []string
	bytes := 0
	for d, body := range notes {
		digests, bytes = append(digests, d), bytes+len(body)
	}
	now := s.now().UnixMilli()
	err := s.db.Commit(ctx, bytes, func(b *sqlite.Batch) error {
		for d, body := range notes {
			if err := b.Run(s.passed.addNote, sc.Principal, kind, d, sc.Conversation, body, now); err != nil {
				return err
			}
		}
		rows, err := b.Query(s.passed.notes, sc.Principal, kind, listOf(digests))
		if err != nil {
			return err
		}
		defer rows.Close()
		clear(out)
		for rows.Next() {
			if err := noteInto(out)(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return out, wrap(ctx, "storing notes", err)
}

func noteInto(out map[string]string) func(sqlite.Row) error {
	return func(row sqlite.Row) error {
		var digest, body string
		err := row.Scan(&digest, &body)
		out[digest] = body
		return err
	}
}
