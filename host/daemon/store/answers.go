package store

import (
	"context"
	"database/sql"
	"strings"
)

// maxAnswers is the most answers that are remembered; the oldest are deleted first.
const maxAnswers = 4096

// Answers are the remembered approvals of all daemons that share the tables.
type Answers struct{ s *Store }

// Answers returns those of a Store that is Shared.
func (s *Store) Answers() Answers { return Answers{s} }

// Remembers implements approval.Answers.
func (a Answers) Remembers(ctx context.Context, scope, digest string) (there bool, err error) {
	principal, conversation, _ := strings.Cut(scope, "\x00")
	err = a.s.db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM answers WHERE principal = ? AND conversation = ? AND digest = ?", principal, conversation, digest).Scan(&there)
	return there, wrap(ctx, "reading the answers", err)
}

// Remember implements approval.Answers.
func (a Answers) Remember(ctx context.Context, scope, digest string) error {
	principal, conversation, _ := strings.Cut(scope, "\x00")
	return wrap(ctx, "saving an answer", a.s.db.Transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO answers (principal, conversation, digest, created_at) VALUES (?, ?, ?, "+clockSQL+") ON CONFLICT DO NOTHING",
			principal, conversation, digest); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM answers WHERE digest <> 'private' AND created_at < (SELECT created_at FROM answers WHERE digest <> 'private'
			ORDER BY created_at DESC LIMIT 1 OFFSET ?)`, maxAnswers-1)
		return err
	}))
}

// Forget implements approval.Answers.
func (a Answers) Forget(ctx context.Context, scope string, all bool) error {
	principal, conversation, _ := strings.Cut(scope, "\x00")
	return wrap(ctx, "deleting answers", a.s.db.Transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM answers WHERE principal = ? AND (conversation = ? OR ?)", principal, conversation, all)
		return err
	}))
}
