package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/tool"
)

// Totals are the sums of one conversation.
type Totals struct {
	Conversation
	Turns int
	// Calls counts the calls that could be parsed, Cut those of them whose results
	// were not shown whole.
	Calls, Cut int
	// Archives is the number of whole results and ArchiveBytes the bytes that they use
	// on disk, each text once.
	Archives     int
	ArchiveBytes int64
	// Models are the models that answered, the last one first.
	Models                                       []string
	Prompt, Completion, CachedPrompt, CacheWrite int64
	Costs                                        []Cost
}

// PageOptions select a part of a list.
type PageOptions struct {
	// Limit is the number of conversations. 0: DefaultConversations; negative: all.
	Limit int
	// After is the cursor that an earlier page returned; empty: begin with the newest.
	After string
	// ID is the beginning or the end of the id. Empty: any.
	ID string
}

// A cursor is the position of a conversation in the list.
type cursor struct {
	Updated int64  `json:"u"`
	Created int64  `json:"c"`
	ID      string `json:"i"`
}

func (c cursor) String() string {
	text, _ := json.Marshal(c) // never fails for these fields
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text string) (cursor, error) {
	var c cursor
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return c, tool.Errorf(tool.BadArgs, "use the value of next of the page before, unchanged", "the cursor is not valid")
	}
	return c, nil
}

// Page returns a principal's conversations with their totals, the one used last first.
// next is the cursor of the next page, empty if there is none. A conversation that is
// used between two pages moves to the front and is in no later page. An After that is
// not valid is a *tool.Error with code bad_args.
func (s *Store) Page(ctx context.Context, principal string, o PageOptions) (list []Totals, next string, err error) {
	const doing = "listing conversations"
	limit := cmp.Or(o.Limit, DefaultConversations)
	where, args := "principal = ? AND hidden = 0", []any{principal}
	if o.ID != "" {
		where += " AND (substr(id, 1, length(?)) = ? OR substr(id, length(id) + 1 - length(?)) = ?)"
		args = append(args, o.ID, o.ID, o.ID, o.ID)
	}
	if o.After != "" {
		c, err := parseCursor(o.After)
		if err != nil {
			return nil, "", err
		}
		where += " AND (updated_at < ? OR updated_at = ? AND (created_at < ? OR created_at = ? AND id > ?))"
		args = append(args, c.Updated, c.Updated, c.Created, c.Created, c.ID)
	}
	more := limit // one more than requested shows whether there are more
	if more > 0 {
		more++
	}
	found, err := s.conversations(ctx, doing, where+" ORDER BY updated_at DESC, created_at DESC, id LIMIT ?", append(args, sqlite.Limit(more))...)
	if err != nil {
		return nil, "", err
	}
	for _, c := range found {
		list = append(list, Totals{Conversation: c})
	}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
		last := list[limit-1]
		next = cursor{last.Updated.UnixMilli(), last.Created.UnixMilli(), last.ID}.String()
	}
	return list, next, wrap(ctx, doing, s.sum(ctx, list))
}

// Totals returns one conversation with its totals, or ErrNotFound.
func (s *Store) Totals(ctx context.Context, sc archive.Scope) (Totals, error) {
	c, err := s.Conversation(ctx, sc)
	if err != nil {
		return Totals{}, err
	}
	list := []Totals{{Conversation: c}}
	err = s.sum(ctx, list)
	return list[0], wrap(ctx, "counting what a conversation has", err)
}

// sum fills in the totals of conversations, which must be of one principal.
func (s *Store) sum(ctx context.Context, list []Totals) error {
	const piece = 500 // SQLite accepts some thousand parameters
	for len(list) > piece {
		if err := s.sum(ctx, list[:piece]); err != nil {
			return err
		}
		list = list[piece:]
	}
	if len(list) == 0 {
		return nil
	}
	byID := map[string]*Totals{}
	args := []any{list[0].Principal}
	for i := range list {
		byID[list[i].ID], args = &list[i], append(args, list[i].ID)
	}
	in := "conversation_id IN (?" + strings.Repeat(",?", len(list)-1) + ")"
	var id string
	var x Totals
	for _, part := range []struct {
		query string
		to    []any
		add   func(*Totals)
	}{
		{"SELECT conversation_id, count(*), count(*) FILTER (WHERE cut_by <> '') FROM tool_calls WHERE principal = ? AND " + in + " AND substr(code, 1, 10) <> 'malformed:' GROUP BY 1",
			[]any{&id, &x.Calls, &x.Cut}, func(c *Totals) { c.Calls, c.Cut = x.Calls, x.Cut }},
		{`SELECT conversation_id, sum(n), sum(stored_bytes) FROM (SELECT conversation_id, text_id, count(*) AS n FROM tool_result_archive
			WHERE principal = ? AND ` + in + " AND pruned_at IS NULL GROUP BY 1, 2) AS own JOIN result_texts ON id = text_id GROUP BY 1",
			[]any{&id, &x.Archives, &x.ArchiveBytes}, func(c *Totals) { c.Archives, c.ArchiveBytes = x.Archives, x.ArchiveBytes }},
	} {
		if err := s.db.Each(ctx, part.query, args, func(row sqlite.Row) error {
			if err := row.Scan(part.to...); err != nil {
				return err
			}
			part.add(byID[id])
			return nil
		}); err != nil {
			return err
		}
	}
	return s.sumTurns(ctx, in, args[1:], byID)
}

// sumTurns adds the usage of turns. Each row is one model and one currency.
func (s *Store) sumTurns(ctx context.Context, in string, ids []any, byID map[string]*Totals) error {
	return s.db.Each(ctx, `SELECT conversation_id, model, currency, count(DISTINCT turn), sum(prompt_tokens), sum(completion_tokens), sum(cached_prompt_tokens),
		sum(cache_write_tokens), sum(cost) FROM turns WHERE `+in+" GROUP BY 1, 2, 3 ORDER BY max(id) DESC", ids, func(row sqlite.Row) error {
		var id, model, currency string
		var turns int
		var n [4]int64
		var cost sql.NullFloat64
		if err := row.Scan(&id, &model, &currency, &turns, &n[0], &n[1], &n[2], &n[3], &cost); err != nil {
			return err
		}
		c := byID[id]
		c.Turns += turns
		c.Prompt, c.Completion, c.CachedPrompt, c.CacheWrite = c.Prompt+n[0], c.Completion+n[1], c.CachedPrompt+n[2], c.CacheWrite+n[3]
		if model != "" && !slices.Contains(c.Models, model) {
			c.Models = append(c.Models, model)
		}
		if cost.Valid {
			c.Costs = AddCost(c.Costs, Cost{cost.Float64, currency})
		}
		return nil
	})
}
