package store

import (
	"context"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// FoldStats are the sums of the requests of one client program for which fold is switched on.
type FoldStats struct {
	Client   string `json:"client"` // its name; empty: unknown
	Requests int    `json:"requests"`
	// Cut and Folded count the results that were sent cut, and as placeholders, in each request
	// again.
	Cut    int `json:"cut"`
	Folded int `json:"folded"`
	// Sent and Saved are characters of messages; Saved were not sent.
	Sent  int64 `json:"sent"`
	Saved int64 `json:"saved"`
	// Loads counts the calls of the history tools that weir answered, Refused the calls of the
	// client's tools that had a placeholder in their arguments.
	Loads   int `json:"loads"`
	Refused int `json:"refused"`
}

// AddFold adds to the sums of a client.
func (s *Store) AddFold(ctx context.Context, principal string, f FoldStats) error {
	return wrap(ctx, "counting what was folded", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		return b.Run(s.addFold, principal, f.Client, f.Requests, f.Cut, f.Folded, f.Sent, f.Saved, f.Loads, f.Refused)
	}))
}

const addFoldSQL = `INSERT INTO folds (principal, client, requests, cut, folded, sent, saved, loads, refused) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (principal, client) DO UPDATE SET requests = folds.requests + excluded.requests, cut = folds.cut + excluded.cut, folded = folds.folded + excluded.folded,
	sent = folds.sent + excluded.sent, saved = folds.saved + excluded.saved, loads = folds.loads + excluded.loads, refused = folds.refused + excluded.refused`

func (s *Store) foldStats(ctx context.Context, st *Stats) error {
	return s.db.Each(ctx, `SELECT client, sum(requests), sum(cut), sum(folded), sum(sent), sum(saved), sum(loads), sum(refused) FROM folds
		GROUP BY client ORDER BY 6 DESC, 1`, nil, func(row sqlite.Row) error {
		var f FoldStats
		err := row.Scan(&f.Client, &f.Requests, &f.Cut, &f.Folded, &f.Sent, &f.Saved, &f.Loads, &f.Refused)
		st.Folds = append(st.Folds, f)
		return err
	})
}
