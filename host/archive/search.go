package archive

import (
	"cmp"
	"context"
	"strings"

	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	// DefaultSearchBytes is the amount of text that Search scans by default.
	DefaultSearchBytes = 64 << 20
	// DefaultHits is the number of lines that Search returns by default.
	DefaultHits = 20
	// hitsPerEntry bounds the lines of one archive.
	hitsPerEntry = 3
)

// SearchOptions bound a Search. The zero value selects the defaults.
type SearchOptions struct {
	// MaxBytes is the amount of text to scan, in bytes; the archive in which it is
	// reached is scanned to its end. 0: DefaultSearchBytes; negative: everything.
	MaxBytes int64
	// Limit is the number of hits. 0: DefaultHits; negative: all.
	Limit int
	// Everywhere searches every conversation of the principal.
	Everywhere bool
}

// A Hit is one line that contains words of a query.
type Hit struct {
	// Entry is the archive, without its text.
	Entry Entry
	// Line counts from 1. 0: the words are in the call, not in the result.
	Line int
	// Snippet is the line, or at most 160 characters of it with a word.
	Snippet string
}

// A SearchResult holds the hits of a Search, newest archive first.
type SearchResult struct {
	Hits     []Hit
	Archives int   // that were scanned
	Scanned  int64 // bytes of text
	// Stopped reports that Left older archives were not scanned, because MaxBytes or
	// Limit was reached.
	Stopped bool
	Left    int
}

// Search returns lines of the archives of a scope, newest first, that contain every
// word of the query in upper or lower case. Words are separated by spaces. It returns
// at most three lines of each archive, those with the most words. A query without
// words is a *tool.Error with code bad_args.
func (s *SQLite) Search(ctx context.Context, sc Scope, query string, o SearchOptions) (SearchResult, error) {
	const doing = "searching the archives"
	words := snippet.Words(query)
	if len(words) == 0 {
		return SearchResult{}, tool.Errorf(tool.BadArgs, `write for example {"query": "timeout retry"}`, "the query is empty")
	}
	maxBytes, limit := o.MaxBytes, o.Limit
	maxBytes = cmp.Or(maxBytes, DefaultSearchBytes)
	limit = cmp.Or(limit, DefaultHits)
	where, args := s.within(sc, o.Everywhere)
	now := s.now().UnixMilli()
	where += " AND pruned_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"
	args = append(args, now)
	rows, err := s.db.QueryContext(ctx, "SELECT "+entryColumns+", encoding, result_full"+withTexts+"WHERE "+where+
		" ORDER BY created_at DESC, uuid DESC", args...)
	if err != nil {
		return SearchResult{}, sqlite.Wrap(ctx, doing, err)
	}
	defer rows.Close()
	var r SearchResult
	for !r.Stopped && rows.Next() {
		t := textColumn{buffers: &s.buffers}
		e, err := s.scanEntry(rows, &t.encoding, &t)
		if err != nil {
			return r, sqlite.Wrap(ctx, doing, err)
		}
		if t.err != nil {
			return r, damaged(ctx, doing, t.err)
		}
		r.Archives++
		r.Scanned += int64(len(t.text))
		hits := hitsIn(e, t.text, words)
		if len(hits) > 0 && e.Later {
			e = s.described(ctx, e, t.text)
			for i := range hits {
				hits[i].Entry = e
			}
		}
		r.Hits = append(r.Hits, hits...)
		r.Stopped = maxBytes > 0 && r.Scanned >= maxBytes || limit > 0 && len(r.Hits) >= limit
	}
	if err := rows.Err(); err != nil {
		return r, sqlite.Wrap(ctx, doing, err)
	}
	if limit > 0 && len(r.Hits) > limit {
		r.Hits = r.Hits[:limit]
	}
	if r.Stopped {
		rows.Close()
		var total int
		if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM tool_result_archive WHERE "+where, args...).Scan(&total); err != nil {
			return r, sqlite.Wrap(ctx, doing, err)
		}
		r.Left = max(0, total-r.Archives)
		r.Stopped = r.Left > 0
	}
	return r, nil
}

// hitsIn returns the lines of one archive with the most words, in their order, if all
// words occur in the text or in its call.
func hitsIn(e Entry, text string, words []string) []Hit {
	lower := strings.ToLower(text)
	call := strings.ToLower(e.Tool + "\n" + e.Query)
	inText := words[:0:0]
	for _, w := range words {
		switch {
		case strings.Contains(lower, w):
			inText = append(inText, w)
		case !strings.Contains(call, w):
			return nil
		}
	}
	if len(inText) == 0 {
		return []Hit{{Entry: e, Snippet: snippet.Clip(e.Query, snippet.Chars)}}
	}
	var hits []Hit
	for _, l := range snippet.Lines(text, inText, hitsPerEntry) {
		hits = append(hits, Hit{Entry: e, Line: l.Number, Snippet: l.Snippet})
	}
	return hits
}
