package store

import (
	"context"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// setFingerprints replaces the fingerprints of a conversation: short texts by which
// FindByFingerprint finds it without its id. Empty texts are left out; the list may be
// empty. After its first turn a conversation has none yet.
func (s *Store) setFingerprints(b *sqlite.Batch, sc archive.Scope, first bool, fingerprints []string) error {
	if !first {
		if err := b.Run(s.deleteFingerprints, sc.Conversation); err != nil {
			return err
		}
	}
	for _, f := range fingerprints {
		if f == "" {
			continue
		}
		if err := b.Run(s.insertFingerprint, sc.Principal, f, sc.Conversation); err != nil {
			return err
		}
	}
	return nil
}

// FindByFingerprint returns the principal's conversations that have a fingerprint, the
// one used last first. There may be none.
func (s *Store) FindByFingerprint(ctx context.Context, principal, fingerprint string) ([]Conversation, error) {
	return s.conversations(ctx, "finding a conversation", `principal = ?
		AND id IN (SELECT conversation_id FROM conversation_fingerprints WHERE principal = ? AND fingerprint = ?)
		ORDER BY updated_at DESC, created_at DESC, id`, principal, principal, fingerprint)
}
