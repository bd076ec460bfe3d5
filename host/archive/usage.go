package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// A DayUse is what a principal took on one day, in every conversation, also in
// those that are deleted.
type DayUse struct {
	// Day is written 2026-01-02.
	Day string
	// Requests are those that began, Refused those that a quota refused.
	Requests, Refused int64
	// Tokens as providers count them.
	Prompt, Completion int64
	Costs              []CostSum
}

// A Used is to be added to what a principal took.
type Used struct {
	Principal string
	DayUse
	// Recent are the requests of the last minute, which replace those that stand
	// there; nil: they stay.
	Recent []time.Time
}

// AddUsage adds to what principals took, all or nothing.
func (s *Store) AddUsage(ctx context.Context, list []Used) error {
	if len(list) == 0 {
		return nil
	}
	return wrap(ctx, "writing down what was used", s.commit(ctx, 0, func(b *batch) error {
		for _, u := range list {
			if err := b.use(u); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (b *batch) use(u Used) error {
	if u.Day != "" {
		if err := b.exec(addDay, u.Principal, u.Day, u.Requests, u.Refused, u.Prompt, u.Completion); err != nil {
			return err
		}
	}
	for _, c := range u.Costs {
		if err := b.exec(addCostOfDay, u.Principal, u.Day, c.Currency, c.Amount); err != nil {
			return err
		}
	}
	if u.Recent == nil {
		return nil
	}
	times := make([]int64, len(u.Recent))
	for i, t := range u.Recent {
		times[i] = t.UnixMilli()
	}
	text, err := json.Marshal(times)
	if err != nil {
		return err
	}
	return b.exec(setRecent, u.Principal, string(text))
}

// Usage returns what a principal took from a day on, the newest day first. Days
// on which nothing was taken are missing.
func (s *Store) Usage(ctx context.Context, principal, from string) ([]DayUse, error) {
	const doing = "reading what was used"
	var list []DayUse
	by := map[string]int{}
	if err := s.each(ctx, `SELECT day, requests, refused, prompt_tokens, completion_tokens FROM usage_days
		WHERE principal = ? AND day >= ? ORDER BY day DESC`, []any{principal, from}, func(row scanner) error {
		var d DayUse
		err := row.Scan(&d.Day, &d.Requests, &d.Refused, &d.Prompt, &d.Completion)
		by[d.Day] = len(list)
		list = append(list, d)
		return err
	}); err != nil {
		return nil, wrap(ctx, doing, err)
	}
	return list, wrap(ctx, doing, s.each(ctx, "SELECT day, currency, amount FROM usage_costs WHERE principal = ? AND day >= ? ORDER BY day, currency",
		[]any{principal, from}, func(row scanner) error {
			var day string
			var c CostSum
			err := row.Scan(&day, &c.Currency, &c.Amount)
			if i, ok := by[day]; ok {
				list[i].Costs = append(list[i].Costs, c)
			}
			return err
		}))
}

// Recent returns the requests of a principal's last minute, as AddUsage was told.
func (s *Store) Recent(ctx context.Context, principal string) ([]time.Time, error) {
	const doing = "reading what was used"
	var text string
	err := s.read.QueryRowContext(ctx, "SELECT times FROM usage_recent WHERE principal = ?", principal).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var times []int64
	if err == nil {
		err = json.Unmarshal([]byte(text), &times)
	}
	out := make([]time.Time, len(times))
	for i, ms := range times {
		out[i] = time.UnixMilli(ms)
	}
	return out, wrap(ctx, doing, err)
}

// Held is what a principal's archives take on disk, in bytes, and when the
// oldest of them was made; zero: there is none.
func (s *Store) Held(ctx context.Context, principal string) (bytes int64, oldest time.Time, err error) {
	const doing = "summing up archives"
	if err := s.read.QueryRowContext(ctx, "SELECT coalesce(sum(stored_bytes), 0) FROM tool_result_archive WHERE principal = ?", principal).Scan(&bytes); err != nil {
		return 0, time.Time{}, wrap(ctx, doing, err)
	}
	var ms int64
	err = s.read.QueryRowContext(ctx, "SELECT created_at FROM tool_result_archive WHERE principal = ? AND pruned_at IS NULL ORDER BY created_at LIMIT 1", principal).Scan(&ms)
	if errors.Is(err, sql.ErrNoRows) {
		return bytes, time.Time{}, nil
	}
	return bytes, time.UnixMilli(ms), wrap(ctx, doing, err)
}

// MaxAge is how long texts are kept; 0: for ever.
func (s *Store) MaxAge() time.Duration { return max(s.cfg().MaxAge, 0) }
