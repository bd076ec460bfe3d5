package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"
)

// smallText is the length in bytes under which compressing saves no page.
const smallText = 1 << 10

// A longRow is what Compact rewrites.
type longRow struct {
	uuid             string
	full, parts, raw []byte
}

func (r longRow) size() int { return len(r.full) + len(r.parts) + len(r.raw) }

// Compact compresses the texts that Put left as they came, one short
// transaction each, so that other writers wait for one row at most. It stops at
// the first error; what it did until then stays done.
func (s *Store) Compact(ctx context.Context) error { return s.compact(ctx, s.now(), math.MaxInt) }

// compact compresses what was put until a time, the oldest first, until so many
// bytes are saved.
func (s *Store) compact(ctx context.Context, until time.Time, save int) error {
	const doing = "compressing the archive"
	var rows, before, after int
	for ; before-after < save; rows++ {
		r, err := s.nextPlain(ctx, until)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return wrap(ctx, doing, err)
		}
		size, err := s.pack(ctx, r)
		if err != nil {
			return wrap(ctx, doing, err)
		}
		before, after = before+r.size(), after+size
	}
	if rows > 0 {
		s.log.Debug("archive compressed", "rows", rows, "bytes", before, "stored", after)
		return s.reclaim(ctx, false)
	}
	return nil
}

// nextPlain returns the oldest row that was not tried yet.
func (s *Store) nextPlain(ctx context.Context, until time.Time) (longRow, error) {
	var r longRow
	err := s.read.QueryRowContext(ctx, `SELECT uuid, result_full, result_parts, result_raw FROM tool_result_archive
		WHERE encoding = 0 AND created_at <= ? ORDER BY created_at LIMIT 1`, until.UnixMilli()).Scan(&r.uuid, &r.full, &r.parts, &r.raw)
	return r, err
}

// pack stores r compressed, or marks it as not worth it, and returns its new
// size. A row that was pruned in between is left alone.
func (s *Store) pack(ctx context.Context, r longRow) (int, error) {
	z := longRow{uuid: r.uuid, full: pack(r.full)}
	if r.parts != nil {
		z.parts = pack(r.parts)
	}
	if r.raw != nil {
		z.raw = pack(r.raw)
	}
	if r.size() < smallText || z.size() >= r.size()*9/10 {
		_, err := s.write.ExecContext(ctx, "UPDATE tool_result_archive SET encoding = ? WHERE uuid = ? AND encoding = ?", unpacked, r.uuid, plain)
		return r.size(), err
	}
	// What cannot be read back must not replace what can.
	for _, p := range [][2][]byte{{r.full, z.full}, {r.parts, z.parts}, {r.raw, z.raw}} {
		if back, err := unpack(s.dec, packed, p[1]); err != nil || string(back) != string(p[0]) {
			return 0, fmt.Errorf("a compressed text does not read back: %w", errors.Join(err, ErrDamaged))
		}
	}
	_, err := s.write.ExecContext(ctx, `UPDATE tool_result_archive SET encoding = ?, stored_bytes = ?, result_full = ?, result_parts = ?, result_raw = ?
		WHERE uuid = ? AND encoding = ? AND pruned_at IS NULL`, packed, z.size(), z.full, z.parts, z.raw, r.uuid, plain)
	return z.size(), err
}
