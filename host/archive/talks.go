package archive

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A TurnSums is what one turn took.
type TurnSums struct {
	Turn     int
	Model    string // by the operator's name
	Reason   string // why it ended
	Duration time.Duration
	// Tokens as the provider counts them; CachedPrompt and CacheWrite are parts
	// of Prompt.
	Prompt, Completion, CachedPrompt, CacheWrite int
	// Cost in Currency; nil: unknown.
	Cost     *float64
	Currency string
}

// ConversationSums are the sums of one conversation. What the store keeps of
// turns before it counted them is nothing: they are in no sum but Messages.
type ConversationSums struct {
	Conversation
	Turns int
	// Calls are those of tools that could be read; Cut is how many of their
	// results were not shown whole.
	Calls, Cut int
	// Archives are the results that are kept whole and ArchiveBytes what they
	// take on disk.
	Archives     int
	ArchiveBytes int64
	// Models are those that answered, the last one first.
	Models                                       []string
	Prompt, Completion, CachedPrompt, CacheWrite int64
	Costs                                        []CostSum
}

// A CostSum is an amount of one currency.
type CostSum struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// PageOptions choose a part of a list.
type PageOptions struct {
	// Limit is how many are returned. 0: DefaultConversations; negative: all.
	Limit int
	// After is what an earlier page returned as next; empty: from the newest on.
	After string
	// Locale is the language of the complaint about an After that cannot be read.
	Locale tool.Locale
}

// cursor is the place of a conversation in the list.
type cursor struct {
	Updated int64  `json:"u"`
	Created int64  `json:"c"`
	ID      string `json:"i"`
}

func (c cursor) String() string {
	text, _ := json.Marshal(c) // plain data
	return base64.RawURLEncoding.EncodeToString(text)
}

func readCursor(text string, l language) (cursor, error) {
	var c cursor
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return c, &tool.Error{Code: tool.BadArgs, Msg: l.say("the cursor cannot be read", "游标无法读取"),
			Hint: l.say("give back exactly what the page before named as next", "请原样使用上一页给出的 next")}
	}
	return c, nil
}

// ConversationPage lists a principal's conversations with their sums, the one
// used last first. next goes on behind the last; empty: there are no more. A
// conversation that is used while somebody turns pages moves to the front, and
// comes in none of the later ones. An After that cannot be read is a *tool.Error
// with code bad_args.
func (s *Store) ConversationPage(ctx context.Context, principal string, o PageOptions) (list []ConversationSums, next string, err error) {
	const doing = "listing conversations"
	limit := o.Limit
	if limit == 0 {
		limit = DefaultConversations
	}
	where, args := "principal = ?", []any{principal}
	if o.After != "" {
		c, err := readCursor(o.After, language(o.Locale))
		if err != nil {
			return nil, "", err
		}
		where += " AND (updated_at < ? OR updated_at = ? AND (created_at < ? OR created_at = ? AND id > ?))"
		args = append(args, c.Updated, c.Updated, c.Created, c.Created, c.ID)
	}
	more := limit // one more than wanted says whether there are more
	if more > 0 {
		more++
	}
	found, err := s.conversations(ctx, doing, where+" ORDER BY updated_at DESC, created_at DESC, id LIMIT ?", append(args, more)...)
	if err != nil {
		return nil, "", err
	}
	for _, c := range found {
		list = append(list, ConversationSums{Conversation: c})
	}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
		last := list[limit-1]
		next = cursor{last.Updated.UnixMilli(), last.Created.UnixMilli(), last.ID}.String()
	}
	return list, next, wrap(ctx, doing, s.sum(ctx, list))
}

// Sums returns one conversation with its sums, or ErrNotFound.
func (s *Store) Sums(ctx context.Context, sc Scope) (ConversationSums, error) {
	c, err := s.Conversation(ctx, sc)
	if err != nil {
		return ConversationSums{}, err
	}
	list := []ConversationSums{{Conversation: c}}
	err = s.sum(ctx, list)
	return list[0], wrap(ctx, "summing up a conversation", err)
}

// sum fills in the sums of one principal's conversations.
func (s *Store) sum(ctx context.Context, list []ConversationSums) error {
	const piece = 500 // SQLite takes some thousand parameters
	for len(list) > piece {
		if err := s.sum(ctx, list[:piece]); err != nil {
			return err
		}
		list = list[piece:]
	}
	if len(list) == 0 {
		return nil
	}
	by := map[string]*ConversationSums{}
	args := []any{list[0].Principal}
	for i := range list {
		by[list[i].ID], args = &list[i], append(args, list[i].ID)
	}
	in := "conversation_id IN (?" + strings.Repeat(",?", len(list)-1) + ")"
	var id string
	var x ConversationSums
	for _, part := range []struct {
		query string
		to    []any
		add   func(*ConversationSums)
	}{
		{"SELECT conversation_id, count(*), sum(cut_by <> '') FROM tool_calls WHERE principal = ? AND " + in + " AND substr(code, 1, 10) <> 'malformed:' GROUP BY 1",
			[]any{&id, &x.Calls, &x.Cut}, func(c *ConversationSums) { c.Calls, c.Cut = x.Calls, x.Cut }},
		{"SELECT conversation_id, count(*), sum(stored_bytes) FROM tool_result_archive WHERE principal = ? AND " + in + " AND pruned_at IS NULL GROUP BY 1",
			[]any{&id, &x.Archives, &x.ArchiveBytes}, func(c *ConversationSums) { c.Archives, c.ArchiveBytes = x.Archives, x.ArchiveBytes }},
	} {
		if err := s.each(ctx, part.query, args, func(row scanner) error {
			if err := row.Scan(part.to...); err != nil {
				return err
			}
			part.add(by[id])
			return nil
		}); err != nil {
			return err
		}
	}
	return s.sumTurns(ctx, in, args[1:], by)
}

// sumTurns adds what turns took. Each row is one model and one currency.
func (s *Store) sumTurns(ctx context.Context, in string, ids []any, by map[string]*ConversationSums) error {
	return s.each(ctx, `SELECT conversation_id, model, currency, count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_prompt_tokens),
		sum(cache_write_tokens), sum(cost) FROM turns WHERE `+in+" GROUP BY 1, 2, 3 ORDER BY max(id) DESC", ids, func(row scanner) error {
		var id, model, currency string
		var turns int
		var n [4]int64
		var cost sql.NullFloat64
		if err := row.Scan(&id, &model, &currency, &turns, &n[0], &n[1], &n[2], &n[3], &cost); err != nil {
			return err
		}
		c := by[id]
		c.Turns += turns
		c.Prompt, c.Completion, c.CachedPrompt, c.CacheWrite = c.Prompt+n[0], c.Completion+n[1], c.CachedPrompt+n[2], c.CacheWrite+n[3]
		if model != "" && !slices.Contains(c.Models, model) {
			c.Models = append(c.Models, model)
		}
		if cost.Valid {
			c.Costs = addCost(c.Costs, CostSum{cost.Float64, currency})
		}
		return nil
	})
}

// each runs a query and hands every row to f.
func (s *Store) each(ctx context.Context, query string, args []any, f func(scanner) error) error {
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func addCost(list []CostSum, c CostSum) []CostSum {
	for i := range list {
		if list[i].Currency == c.Currency {
			list[i].Amount += c.Amount
			return list
		}
	}
	return append(list, c)
}
