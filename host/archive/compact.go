package archive

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// minCompressBytes is the size of a row below which compression saves no page.
const minCompressBytes = 1 << 10

// A longRow holds the columns that Compact rewrites.
type longRow struct {
	id               int64
	full, parts, raw []byte
}

func (r longRow) size() int { return len(r.full) + len(r.parts) + len(r.raw) }

// Compact compresses the texts that are not compressed yet, one short transaction
// each: other writers wait for one row at most. It stops at the first error; the
// rows before it stay compressed.
func (s *SQLite) Compact(ctx context.Context) error { return s.compact(ctx, s.now(), math.MaxInt) }

// compact compresses texts that were put until a time, oldest first, until it saved
// a number of bytes.
func (s *SQLite) compact(ctx context.Context, until time.Time, save int) error {
	const doing = "compressing the archive"
	var rows, before, after int
	var last int64
	for ; before-after < save; rows++ {
		r, err := s.nextPlain(ctx, last, until)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return sqlite.Wrap(ctx, doing, err)
		}
		size, err := s.compress(ctx, r)
		if err != nil {
			return sqlite.Wrap(ctx, doing, err)
		}
		before, after, last = before+r.size(), after+size, r.id
	}
	if rows > 0 {
		s.log.Debug("archive compressed", "rows", rows, "bytes", before, "stored", after)
		return s.db.Reclaim(ctx, false)
	}
	return nil
}

// nextPlain returns the oldest row after another that compression was not tried on.
func (s *SQLite) nextPlain(ctx context.Context, after int64, until time.Time) (longRow, error) {
	var r longRow
	err := s.db.QueryRowContext(ctx, `SELECT id, result_full, result_parts, result_raw FROM result_texts
		WHERE id > ? AND encoding = 0 AND stored_at <= ? ORDER BY id LIMIT 1`, after, until.UnixMilli()).Scan(&r.id, &r.full, &r.parts, &r.raw)
	return r, err
}

// compress stores a row compressed, or marks that compression does not help, and
// returns its new size. It changes nothing if the row was removed in the meantime.
func (s *SQLite) compress(ctx context.Context, r longRow) (int, error) {
	z := longRow{id: r.id, full: encode(r.full)}
	if r.parts != nil {
		z.parts = encode(r.parts)
	}
	if r.raw != nil {
		z.raw = encode(r.raw)
	}
	if r.size() < minCompressBytes || z.size() >= r.size()*9/10 {
		_, err := s.db.ExecContext(ctx, "UPDATE result_texts SET encoding = ? WHERE id = ? AND encoding = ?", encodingNone, r.id, encodingPlain)
		return r.size(), err
	}
	// Only what decodes to the same bytes may replace them.
	for _, p := range [][2][]byte{{r.full, z.full}, {r.parts, z.parts}, {r.raw, z.raw}} {
		if back, err := decode(encodingS2, p[1]); err != nil || string(back) != string(p[0]) {
			return 0, msg.Errorf("a compressed text does not decode to the same bytes: %w", errors.Join(err, ErrDamaged))
		}
	}
	_, err := s.db.ExecContext(ctx, `UPDATE result_texts SET encoding = ?, stored_bytes = ?, result_full = ?, result_parts = ?, result_raw = ?
		WHERE id = ? AND encoding = ?`, encodingS2, z.size(), z.full, z.parts, z.raw, r.id, encodingPlain)
	return z.size(), err
}
