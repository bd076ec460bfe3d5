package archive

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/internal/vector"
)

// A Vector is the meaning of some lines of a result.
type Vector struct {
	First, Last int // lines, counted from 1
	Values      []float32
}

// A Near is a result with the passage that is nearest to a query.
type Near struct {
	// Entry is the result, without its text.
	Entry       Entry
	First, Last int // lines of the passage
	// Score is the cosine of both vectors, -1 to 1.
	Score float64
}

// PutVectors stores the vectors of a result by an embedding model, in place of those it
// has. A result that does not exist, or whose text was removed, gets none: that is no
// error. A vector without a direction is left out.
func (s *SQLite) PutVectors(ctx context.Context, sc Scope, uuid, model string, vectors []Vector) error {
	err := s.db.Transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM result_vectors WHERE uuid = ? AND principal = ?", uuid, sc.Principal); err != nil {
			return err
		}
		for _, v := range vectors {
			blob := vector.Bytes(v.Values)
			if blob == nil {
				continue
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO result_vectors SELECT uuid, principal, conversation_id, ?, ?, ?, ?
				FROM tool_result_archive WHERE uuid = ? AND principal = ? AND pruned_at IS NULL`,
				model, v.First, v.Last, blob, uuid, sc.Principal); err != nil {
				return err
			}
		}
		return nil
	})
	return sqlite.Wrap(ctx, "storing vectors", err)
}

// Near returns the results of a scope whose vectors by the same model are nearest to a
// query's, the nearest first, each with its nearest passage. It compares all of them.
func (s *SQLite) Near(ctx context.Context, sc Scope, model string, query []float32, limit int) ([]Near, error) {
	const doing = "comparing vectors"
	q := slices.Clone(query)
	if limit <= 0 || !vector.Normalise(q) {
		return nil, nil
	}
	best, err := s.nearest(ctx, sc, model, q, 4*limit) // some may have expired
	if err != nil {
		return nil, sqlite.Wrap(ctx, doing, err)
	}
	var out []Near
	for _, b := range best {
		e, err := s.entryOf(ctx, doing, "uuid = ? AND principal = ?", b.uuid, sc.Principal)
		switch {
		case errors.Is(err, ErrNotFound):
			continue // deleted in the meantime
		case err != nil:
			return out, err
		case e.Pruned || !e.Expires.IsZero() && !s.now().Before(e.Expires):
			continue
		}
		if out = append(out, Near{e, b.first, b.last, b.score}); len(out) == limit {
			break
		}
	}
	return out, nil
}

type nearest struct {
	uuid        string
	first, last int
	score       float64
}

// nearest reads all vectors of a scope and keeps the results with the best.
func (s *SQLite) nearest(ctx context.Context, sc Scope, model string, q []float32, keep int) ([]nearest, error) {
	where, args := s.within(sc, false)
	rows, err := s.db.QueryContext(ctx, "SELECT uuid, first_line, last_line, vector FROM result_vectors WHERE "+where+" AND model = ? AND length(vector) = ?",
		append(args, model, 4*len(q))...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var best []nearest
	var id, blob sql.RawBytes
	for rows.Next() {
		var n nearest
		if err := rows.Scan(&id, &n.first, &n.last, &blob); err != nil {
			return nil, err
		}
		if n.score = vector.Dot(q, blob); len(best) == keep && n.score <= best[keep-1].score {
			continue
		}
		n.uuid = string(id)
		best = insertBest(best, n, keep)
	}
	return best, rows.Err()
}

// insertBest inserts n into a list that is sorted, each result once.
func insertBest(best []nearest, n nearest, keep int) []nearest {
	if at := slices.IndexFunc(best, func(b nearest) bool { return b.uuid == n.uuid }); at >= 0 {
		if best[at].score >= n.score {
			return best
		}
		best = slices.Delete(best, at, at+1)
	}
	at, _ := slices.BinarySearchFunc(best, n, func(a, b nearest) int { return cmp.Compare(b.score, a.score) })
	best = slices.Insert(best, at, n)
	return best[:min(len(best), keep)]
}

// SetSummary replaces the summary of a result.
func (s *SQLite) SetSummary(ctx context.Context, sc Scope, uuid, summary string) error {
	_, err := s.db.ExecContext(ctx, "UPDATE tool_result_archive SET result_summary = ? WHERE uuid = ? AND principal = ? AND pruned_at IS NULL", summary, uuid, sc.Principal)
	return sqlite.Wrap(ctx, "storing a summary", err)
}
