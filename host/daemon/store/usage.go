package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// A DayUsage is what a principal used on one day in all conversations, deleted ones
// included.
type DayUsage struct {
	// Day is written as 2026-01-02.
	Day string
	// Requests counts the requests that began, Refused those that a quota refused.
	Requests, Refused int64
	// Tokens as providers count them.
	Prompt, Completion int64
	Costs              []Cost
}

// A Cost is an amount in one currency.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// AddCost returns list with c added to the amount of its currency. It may modify the
// elements of list.
func AddCost(list []Cost, c Cost) []Cost {
	for i := range list {
		if list[i].Currency == c.Currency {
			list[i].Amount += c.Amount
			return list
		}
	}
	return append(list, c)
}

// An Increment is to be added to the usage of a principal.
type Increment struct {
	Principal string
	DayUsage
	// Recent are the times of the requests of the last minute; they replace the
	// stored ones. Nil: those stay.
	Recent []time.Time
}

// AddUsage adds to the usage of principals, all of it or nothing.
func (s *Store) AddUsage(ctx context.Context, list []Increment) error {
	if len(list) == 0 {
		return nil
	}
	return wrap(ctx, "saving the usage", s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		for _, i := range list {
			if err := s.increment(b, i); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (s *Store) increment(b *sqlite.Batch, i Increment) error {
	if i.Day != "" {
		if err := b.Run(s.addDay, i.Principal, i.Day, i.Requests, i.Refused, i.Prompt, i.Completion); err != nil {
			return err
		}
	}
	for _, c := range i.Costs {
		if err := b.Run(s.addCost, i.Principal, i.Day, c.Currency, c.Amount); err != nil {
			return err
		}
	}
	if i.Recent == nil {
		return nil
	}
	times := make([]int64, len(i.Recent))
	for n, t := range i.Recent {
		times[n] = t.UnixMilli()
	}
	text, err := json.Marshal(times)
	if err != nil {
		return err
	}
	return b.Run(s.setRecent, i.Principal, string(text))
}

// Usage returns the usage of a principal from a day on, newest day first. Days without
// usage are left out.
func (s *Store) Usage(ctx context.Context, principal, from string) ([]DayUsage, error) {
	const doing = "reading the usage"
	var list []DayUsage
	byDay := map[string]int{}
	if err := s.db.Each(ctx, `SELECT day, requests, refused, prompt_tokens, completion_tokens FROM usage_days
		WHERE principal = ? AND day >= ? ORDER BY day DESC`, []any{principal, from}, func(row sqlite.Row) error {
		var d DayUsage
		err := row.Scan(&d.Day, &d.Requests, &d.Refused, &d.Prompt, &d.Completion)
		byDay[d.Day] = len(list)
		list = append(list, d)
		return err
	}); err != nil {
		return nil, wrap(ctx, doing, err)
	}
	return list, wrap(ctx, doing, s.db.Each(ctx, "SELECT day, currency, amount FROM usage_costs WHERE principal = ? AND day >= ? ORDER BY day, currency",
		[]any{principal, from}, func(row sqlite.Row) error {
			var day string
			var c Cost
			err := row.Scan(&day, &c.Currency, &c.Amount)
			if i, ok := byDay[day]; ok {
				list[i].Costs = append(list[i].Costs, c)
			}
			return err
		}))
}

// Recent returns the times of the requests of a principal's last minute, as AddUsage
// stored them.
func (s *Store) Recent(ctx context.Context, principal string) ([]time.Time, error) {
	var text string
	err := s.db.QueryRowContext(ctx, "SELECT times FROM usage_recent WHERE principal = ?", principal).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap(ctx, "reading the usage", err)
	}
	return timesOf(text)
}

// timesOf reads times as they are stored.
func timesOf(text string) ([]time.Time, error) {
	var times []int64
	err := json.Unmarshal([]byte(text), &times)
	out := make([]time.Time, len(times))
	for i, ms := range times {
		out[i] = time.UnixMilli(ms)
	}
	return out, err
}

// ArchiveUsage returns the bytes that the results of a principal use on disk, and when
// retention removes the oldest text; the zero time if it removes none.
func (s *Store) ArchiveUsage(ctx context.Context, principal string) (bytes int64, freeAt time.Time, err error) {
	return s.results.Usage(ctx, principal)
}
