package store

import (
	"context"
	"time"

	"github.com/weirhost/weir/host/archive"
)

// EachResult calls f for the results of a conversation, oldest first, with their texts
// if whole is true. See archive.SQLite.Each.
func (s *Store) EachResult(ctx context.Context, sc archive.Scope, whole bool, f func(archive.Entry) error) error {
	return s.results.Each(ctx, sc, whole, f)
}

// ArchiveUsage returns the bytes that the results of a principal use on disk, and when
// retention removes the oldest text; the zero time if it removes none.
func (s *Store) ArchiveUsage(ctx context.Context, principal string) (bytes int64, freeAt time.Time, err error) {
	return s.results.Usage(ctx, principal)
}
