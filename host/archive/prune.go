package archive

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// The reasons to prune an entry.
const (
	ByAge   = "age"
	ByBytes = "bytes"
	ByCount = "count"
)

// A PruneReport is what a Prune removed, or would remove.
type PruneReport struct {
	DryRun bool
	Pruned []PrunedEntry // the newest first
	Bytes  int64         // of the pruned texts, on disk
	// Kept and KeptBytes are the number and the bytes of the texts that stay.
	Kept      int
	KeptBytes int64
}

// A PrunedEntry is one entry whose text was removed.
type PrunedEntry struct {
	UUID    string
	Scope   Scope
	Tool    string
	Created time.Time
	Bytes   int64  // that its removal frees: none if a newer entry has the same text
	Reason  string // ByAge, ByBytes or ByCount
}

// Prune removes the texts that are older than Config.MaxAge or exceed the other
// bounds; the newest stay. The rows stay without text, summary, parts and raw bytes,
// and name the call that returns the text again. With dryRun it only reports what it
// would remove. Nothing of the texts is left in the file or its log afterwards, except of
// one that a newer entry of the same principal has.
func (s *SQLite) Prune(ctx context.Context, dryRun bool) (PruneReport, error) {
	const doing = "pruning the archive"
	r, err := s.choose(ctx)
	r.DryRun = dryRun
	if err != nil || dryRun || len(r.Pruned) == 0 {
		return r, sqlite.Wrap(ctx, doing, err)
	}
	now := s.now().UnixMilli()
	for batch := range slices.Chunk(r.Pruned, pruneBatch) {
		if err := s.db.Transact(ctx, func(tx *sql.Tx) error {
			for _, p := range batch {
				if _, err := tx.ExecContext(ctx, "UPDATE tool_result_archive SET pruned_at = ?, text_id = NULL, result_summary = '' WHERE uuid = ?", now, p.UUID); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return r, sqlite.Wrap(ctx, doing, err)
		}
	}
	s.log.Info("archive pruned", "entries", len(r.Pruned), "bytes", r.Bytes, "kept", r.Kept, "kept_bytes", r.KeptBytes)
	return r, s.db.Reclaim(ctx, true)
}

// pruneBatch is the number of rows of one transaction, for which other writers wait.
const pruneBatch = 100

// A budget is what may still be kept, of all principals or of one.
type budget struct {
	count, bytes       int64
	maxCount, maxBytes int64
}

// exceeded returns the bound that one more entry of n bytes would exceed; empty if
// none.
func (b *budget) exceeded(n int64) string {
	switch {
	case b.maxCount > 0 && b.count+1 > b.maxCount:
		return ByCount
	case b.maxBytes > 0 && b.bytes+n > b.maxBytes:
		return ByBytes
	}
	return ""
}

func (b *budget) add(n int64) { b.count, b.bytes = b.count+1, b.bytes+n }

// choose walks through all texts, newest first, and keeps what fits. After the first
// text that does not fit a budget, nothing older of that budget stays, because a
// small old text must not outlive a large new one. A text that is larger than the
// whole budget is removed alone.
func (s *SQLite) choose(ctx context.Context) (PruneReport, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT uuid, principal, conversation_id, tool_name, created_at, expires_at, text_id, coalesce(stored_bytes, 0)`+withTexts+`
		WHERE pruned_at IS NULL ORDER BY created_at DESC, uuid DESC`)
	if err != nil {
		return PruneReport{}, err
	}
	defer rows.Close()
	now := s.now()
	all := budget{maxCount: int64(s.cfg().MaxCount), maxBytes: s.cfg().MaxBytes}
	each := map[string]*budget{}
	kept, counted := map[int64]bool{}, map[int64]bool{} // texts
	var r PruneReport
	for rows.Next() {
		var p PrunedEntry
		var created, text int64
		var expires sql.NullInt64
		if err := rows.Scan(&p.UUID, &p.Scope.Principal, &p.Scope.Conversation, &p.Tool, &created, &expires, &text, &p.Bytes); err != nil {
			return r, err
		}
		if kept[text] { // by a newer entry
			p.Bytes = 0
		}
		p.Created = time.UnixMilli(created).UTC()
		own := each[p.Scope.Principal]
		if own == nil {
			own = &budget{maxCount: int64(s.cfg().MaxCountPerPrincipal), maxBytes: s.cfg().MaxBytesPerPrincipal}
			each[p.Scope.Principal] = own
		}
		if p.Reason = s.reason(p, sqlite.Time(expires), now, &all, own); p.Reason == "" {
			all.add(p.Bytes)
			own.add(p.Bytes)
			r.Kept++
			r.KeptBytes += p.Bytes
			kept[text] = true
			continue
		}
		if counted[text] {
			p.Bytes = 0
		}
		counted[text] = true
		r.Pruned = append(r.Pruned, p)
		r.Bytes += p.Bytes
	}
	return r, rows.Err()
}

// reason returns why p must be removed; empty if it stays. It closes a budget that p
// exceeds.
func (s *SQLite) reason(p PrunedEntry, expires, now time.Time, all, own *budget) string {
	if s.cfg().MaxAge > 0 && now.Sub(p.Created) > s.cfg().MaxAge || !expires.IsZero() && !now.Before(expires) {
		return ByAge
	}
	for _, b := range []*budget{own, all} {
		if reason := b.exceeded(p.Bytes); reason != "" {
			if reason == ByBytes && p.Bytes <= b.maxBytes {
				b.bytes = b.maxBytes // closed for every text that has a size
			}
			return reason
		}
	}
	return ""
}

// DefaultMaintenance is the default interval of Run.
const DefaultMaintenance = 10 * time.Minute

// Run calls Maintain at once and then at an interval until ctx ends, and returns nil.
// It logs a failure and tries again the next time. If every is 0 or negative, it is
// DefaultMaintenance.
func (s *SQLite) Run(ctx context.Context, every time.Duration) error {
	if every <= 0 {
		every = DefaultMaintenance
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := s.Maintain(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("maintaining the archive failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// minCompressAge is the age at which Maintain compresses a text. The texts that a
// running conversation loads again are younger and are read without decompression.
const minCompressAge = time.Hour

// plainShare is the part of the allowed bytes that texts may use before Maintain
// compresses any. Reading a compressed text takes twice as long, which has no use while
// there is room.
const plainShare = 0.25

// maxPlainBytes returns the number of bytes that are not compressed: a share of the
// least bound, or of DefaultMaxBytes if there is none.
func (c Config) maxPlainBytes() int64 {
	least := int64(DefaultMaxBytes)
	for _, bound := range []int64{c.MaxBytes, c.MaxBytesPerPrincipal} {
		if bound > 0 {
			least = min(least, bound)
		}
	}
	return int64(float64(least) * plainShare)
}

// Maintain prunes, and compresses texts that are older than an hour, oldest first,
// while all texts together use more than a quarter of the least of Config's bounds in
// bytes.
func (s *SQLite) Maintain(ctx context.Context) error {
	r, err := s.Prune(ctx, false)
	if err != nil {
		return err
	}
	if s.also != nil {
		if err := s.also(ctx); err != nil {
			return err
		}
	}
	if over := r.KeptBytes - s.cfg().maxPlainBytes(); over > 0 {
		if err := s.compact(ctx, s.now().Add(-minCompressAge), int(over)); err != nil {
			return err
		}
	}
	if s.db.LogInUse() {
		return s.db.TruncateLog(ctx)
	}
	return nil
}
