package archive

import (
	"context"
	"strings"
)

// DefaultListed is how many entries a List returns when nobody says.
const DefaultListed = 50

// A Filter narrows a List. The zero Filter means the newest DefaultListed
// entries of the scope.
type Filter struct {
	// Tool is the exact name of a tool. Empty: any.
	Tool string
	// Query stands somewhere in the call's arguments or in the summary, in any
	// case of ASCII letters. Empty: any.
	Query string
	// Limit is how many entries are returned. 0: DefaultListed; negative: all.
	Limit int
	// Offset leaves out the newest entries. 0 or negative: none.
	Offset int
	// Everywhere lists every conversation of the principal.
	Everywhere bool
}

// List lists the entries of a scope, the newest first, without their texts.
// Pruned ones are among them. An unknown scope has none.
func (s *Store) List(ctx context.Context, sc Scope, f Filter) ([]Entry, error) {
	const doing = "listing archives"
	where, args := s.within(sc, f.Everywhere)
	if f.Tool != "" {
		where, args = where+" AND tool_name = ?", append(args, f.Tool)
	}
	if f.Query != "" {
		where += " AND instr(lower(query_summary || char(10) || tool_input || char(10) || result_summary), lower(?)) > 0"
		args = append(args, f.Query)
	}
	limit := f.Limit
	if limit == 0 {
		limit = DefaultListed
	}
	rows, err := s.read.QueryContext(ctx, "SELECT "+entryColumns+" FROM tool_result_archive WHERE "+where+
		" ORDER BY created_at DESC, uuid DESC LIMIT ? OFFSET ?", append(args, limit, max(f.Offset, 0))...)
	if err != nil {
		return nil, wrap(ctx, doing, err)
	}
	defer rows.Close()
	var list []Entry
	for rows.Next() {
		e, err := s.scanEntry(rows)
		if err != nil {
			return nil, wrap(ctx, doing, err)
		}
		list = append(list, e)
	}
	return list, wrap(ctx, doing, rows.Err())
}

// within is the condition that keeps every query inside of a scope.
func (s *Store) within(sc Scope, everywhere bool) (string, []any) {
	if everywhere || s.cfg().UserScope || sc.Everywhere {
		return "principal = ?", []any{sc.Principal}
	}
	return "conversation_id = ? AND principal = ?", []any{sc.Conversation, sc.Principal}
}

// split returns the words of a search, in lower case, each once.
func split(query string) []string {
	var list []string
	seen := map[string]bool{}
	for _, w := range strings.Fields(strings.ToLower(query)) {
		if !seen[w] {
			seen[w] = true
			list = append(list, w)
		}
	}
	return list
}
