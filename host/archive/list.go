package archive

import (
	"cmp"
	"context"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// DefaultListed is the number of entries that List returns by default.
const DefaultListed = 50

// A Filter selects entries of a List. The zero Filter selects the newest
// DefaultListed entries of the scope.
type Filter struct {
	// Tool is the exact name of a tool. Empty: any.
	Tool string
	// Query occurs in the arguments of the call or in the summary, whatever the case
	// of ASCII letters. Empty: any.
	Query string
	// Thread is the thread of the caller's that the result belongs to. Empty: any.
	Thread string
	// ID is the beginning or the end of the id. Empty: any.
	ID string
	// Limit is the number of entries. 0: DefaultListed; negative: all.
	Limit int
	// Offset is the number of newest entries to leave out. 0 or negative: none.
	Offset int
	// Everywhere lists every conversation of the principal.
	Everywhere bool
}

// List returns the entries of a scope, newest first, without their texts. It includes
// pruned ones. An unknown scope has none.
func (s *SQLite) List(ctx context.Context, sc Scope, f Filter) ([]Entry, error) {
	const doing = "listing archives"
	where, args := s.within(sc, f.Everywhere)
	if f.Tool != "" {
		where, args = where+" AND tool_name = ?", append(args, f.Tool)
	}
	if f.Query != "" {
		if err := s.describeAll(ctx, where, args); err != nil {
			return nil, sqlite.Wrap(ctx, doing, err)
		}
		where += " AND " + s.db.Contains("query_summary || '\n' || tool_input || '\n' || coalesce(result_summary, '')")
		args = append(args, f.Query)
	}
	if f.Thread != "" {
		where, args = where+" AND thread_id = ?", append(args, f.Thread)
	}
	if f.ID != "" {
		where += " AND (substr(uuid, 1, length(?)) = ? OR substr(uuid, length(uuid) + 1 - length(?)) = ?)"
		args = append(args, f.ID, f.ID, f.ID, f.ID)
	}
	limit := cmp.Or(f.Limit, DefaultListed)
	list, err := sqlite.List(ctx, s.db, "SELECT "+entryColumns+" FROM tool_result_archive WHERE "+where+
		" ORDER BY created_at DESC, uuid DESC LIMIT ? OFFSET ?", append(args, sqlite.Limit(limit), max(f.Offset, 0)),
		func(row sqlite.Row) (Entry, error) { return s.scanEntry(row) })
	if err != nil {
		return nil, sqlite.Wrap(ctx, doing, err)
	}
	for i := range list {
		if list[i], err = s.withDescription(ctx, list[i]); err != nil {
			return nil, sqlite.Wrap(ctx, doing, err)
		}
	}
	return list, nil
}

// within returns the condition that restricts a query to a scope.
func (s *SQLite) within(sc Scope, everywhere bool) (string, []any) {
	if !sc.Alone && (everywhere || s.cfg().UserScope || sc.Everywhere) {
		return "principal = ?", []any{sc.Principal}
	}
	return "conversation_id = ? AND principal = ?", []any{sc.Conversation, sc.Principal}
}
