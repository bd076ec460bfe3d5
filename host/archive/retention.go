package archive

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// Why an entry was pruned.
const (
	ByAge   = "age"
	ByBytes = "bytes"
	ByCount = "count"
)

// A PruneReport is what a Prune removed, or would remove.
type PruneReport struct {
	DryRun bool
	Pruned []PrunedEntry // the newest first
	Bytes  int64         // of the pruned, as they lay on disk
	// Kept and KeptBytes are what stays.
	Kept      int
	KeptBytes int64
}

// A PrunedEntry is one entry whose text goes.
type PrunedEntry struct {
	UUID    string
	Scope   Scope
	Tool    string
	Created time.Time
	Bytes   int64
	Reason  string // ByAge, ByBytes or ByCount
}

// Prune removes the texts that are older than the store keeps them or that are
// too many: the newest stay. Rows stay without text, summary, parts and raw
// bytes, so that a reader learns which call brings the text again. With dryRun
// it only says what it would do. Afterwards nothing of the texts is left in
// the file or its log (see reclaim).
func (s *Store) Prune(ctx context.Context, dryRun bool) (PruneReport, error) {
	const doing = "pruning the archive"
	r, err := s.choose(ctx)
	r.DryRun = dryRun
	if err != nil || dryRun || len(r.Pruned) == 0 {
		return r, wrap(ctx, doing, err)
	}
	now := s.now().UnixMilli()
	for batch := range slices.Chunk(r.Pruned, pruneBatch) {
		tx, err := s.write.BeginTx(ctx, nil)
		if err != nil {
			return r, wrap(ctx, doing, err)
		}
		for _, p := range batch {
			if _, err = tx.ExecContext(ctx, `UPDATE tool_result_archive SET pruned_at = ?, encoding = ?, stored_bytes = 0, result_summary = '',
				result_full = NULL, result_parts = NULL, result_raw = NULL WHERE uuid = ?`, now, unpacked, p.UUID); err != nil {
				break
			}
		}
		if err == nil {
			err = tx.Commit()
		} else {
			tx.Rollback() // the first error is the one to tell
		}
		if err != nil {
			return r, wrap(ctx, doing, err)
		}
	}
	s.log.Info("archive pruned", "entries", len(r.Pruned), "bytes", r.Bytes, "kept", r.Kept, "kept_bytes", r.KeptBytes)
	return r, s.reclaim(ctx, true)
}

// pruneBatch bounds how long other writers wait for a Prune.
const pruneBatch = 100

// A budget is what may still be kept, of everyone or of one principal.
type budget struct {
	count, bytes       int64
	maxCount, maxBytes int64
}

// over reports which bound n bytes more would break; a kept entry is counted.
func (b *budget) over(n int64) string {
	switch {
	case b.maxCount > 0 && b.count+1 > b.maxCount:
		return ByCount
	case b.maxBytes > 0 && b.bytes+n > b.maxBytes:
		return ByBytes
	}
	return ""
}

func (b *budget) keep(n int64) { b.count, b.bytes = b.count+1, b.bytes+n }

// choose goes through all texts, the newest first, and keeps what fits. Behind
// the first that does not fit a budget, nothing older of that budget stays: a
// small old text must not outlive a large new one. A text that is larger than
// the whole budget goes alone.
func (s *Store) choose(ctx context.Context) (PruneReport, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT uuid, principal, conversation_id, tool_name, created_at, expires_at, stored_bytes
		FROM tool_result_archive WHERE pruned_at IS NULL ORDER BY created_at DESC, uuid DESC`)
	if err != nil {
		return PruneReport{}, err
	}
	defer rows.Close()
	now := s.now()
	all := budget{maxCount: int64(s.cfg().MaxCount), maxBytes: s.cfg().MaxBytes}
	each := map[string]*budget{}
	var r PruneReport
	for rows.Next() {
		var p PrunedEntry
		var created int64
		var expires sql.NullInt64
		if err := rows.Scan(&p.UUID, &p.Scope.Principal, &p.Scope.Conversation, &p.Tool, &created, &expires, &p.Bytes); err != nil {
			return r, err
		}
		p.Created = time.UnixMilli(created).UTC()
		own := each[p.Scope.Principal]
		if own == nil {
			own = &budget{maxCount: int64(s.cfg().MaxCountPerPrincipal), maxBytes: s.cfg().MaxBytesPerPrincipal}
			each[p.Scope.Principal] = own
		}
		if p.Reason = s.reason(p, timeOf(expires), now, &all, own); p.Reason == "" {
			all.keep(p.Bytes)
			own.keep(p.Bytes)
			r.Kept++
			r.KeptBytes += p.Bytes
			continue
		}
		r.Pruned = append(r.Pruned, p)
		r.Bytes += p.Bytes
	}
	return r, rows.Err()
}

// reason says why p must go; empty: it stays. A budget that p breaks is closed.
func (s *Store) reason(p PrunedEntry, expires, now time.Time, all, own *budget) string {
	if s.cfg().MaxAge > 0 && now.Sub(p.Created) > s.cfg().MaxAge || !expires.IsZero() && !now.Before(expires) {
		return ByAge
	}
	for _, b := range []*budget{own, all} {
		if reason := b.over(p.Bytes); reason != "" {
			if reason == ByBytes && p.Bytes <= b.maxBytes {
				b.bytes = b.maxBytes // closed for everything that has a size
			}
			return reason
		}
	}
	return ""
}

// reclaim gives freed pages back to the file system and empties the log, which
// still holds old pages. Deleted content is overwritten where it stood
// (secure_delete), so with a truncated log nothing of it is left in
// the files; what a file system or an SSD keeps of freed blocks is beyond us.
// After a deletion (all) every free page goes. After compressing, free pages
// are kept for coming entries while they are less than a quarter of the file.
func (s *Store) reclaim(ctx context.Context, all bool) error {
	const doing, step = "giving back space of the archive", 2000 // pages
	for {
		var free, pages int
		err := s.write.QueryRowContext(ctx, "SELECT (SELECT freelist_count FROM pragma_freelist_count), (SELECT page_count FROM pragma_page_count)").Scan(&free, &pages)
		if err != nil {
			return wrap(ctx, doing, err)
		}
		if free == 0 || !all && free*4 < pages {
			break
		}
		// The pragma frees one page for each row that is read from it.
		rows, err := s.write.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", step))
		if err != nil {
			return wrap(ctx, doing, err)
		}
		for rows.Next() {
		}
		err = rows.Err()
		rows.Close()
		if err != nil {
			return wrap(ctx, doing, err)
		}
	}
	return s.emptyLog(ctx)
}

// emptyLog copies the log into the file and cuts it to nothing. A reader that
// still needs the log prevents it; then the next maintenance does it.
func (s *Store) emptyLog(ctx context.Context) error {
	var busy, frames, done int
	err := s.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &done)
	if err != nil {
		return wrap(ctx, "emptying the archive's log", err)
	}
	s.owed.Store(busy != 0)
	if busy != 0 {
		s.log.Warn("the archive's log is in use; deleted texts stay in it until the next maintenance")
	}
	return nil
}

// DefaultMaintenance is how often Run works when nobody says.
const DefaultMaintenance = 10 * time.Minute

// Run compresses and prunes now and then every so often until ctx ends, and
// returns nil then. A failure is logged and tried again the next time. every 0
// or negative: DefaultMaintenance.
func (s *Store) Run(ctx context.Context, every time.Duration) error {
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

// warm is how long Maintain leaves a text as it came: what a running
// conversation loads back is read without decompressing.
const warm = time.Hour

// plainShare is the part of the bytes allowed that texts may take before
// Maintain compresses any: reading one back takes twice as long then, which
// buys nothing while there is room.
const plainShare = 0.25

// plainRoom is how many bytes of texts lie as they came: a share of the least
// bound, or of DefaultMaxBytes where there is none.
func (c Config) plainRoom() int64 {
	least := int64(DefaultMaxBytes)
	for _, bound := range []int64{c.MaxBytes, c.MaxBytesPerPrincipal} {
		if bound > 0 {
			least = min(least, bound)
		}
	}
	return int64(float64(least) * plainShare)
}

// Maintain does once what Run does every so often: it prunes, and compresses
// what is older than an hour, the oldest first, while all texts together take
// more than a quarter of the least of Config's bounds in bytes.
func (s *Store) Maintain(ctx context.Context) error {
	r, err := s.Prune(ctx, false)
	if err != nil {
		return err
	}
	if over := r.KeptBytes - s.cfg().plainRoom(); over > 0 {
		if err := s.compact(ctx, s.now().Add(-warm), int(over)); err != nil {
			return err
		}
	}
	if s.owed.Load() {
		return s.emptyLog(ctx)
	}
	return nil
}
