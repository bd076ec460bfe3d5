package archive

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

const (
	// DefaultSearchBytes is how much text a Search scans when nobody says.
	DefaultSearchBytes = 64 << 20
	// DefaultHits is how many lines it returns.
	DefaultHits = 20
	// hitsPerEntry leaves room for other archives than the newest.
	hitsPerEntry = 3
	snippetChars = 160
)

// SearchOptions bound a Search. The zero value means the defaults.
type SearchOptions struct {
	// MaxBytes is how much text is scanned, in bytes; the archive in which it
	// runs out is still finished. 0: DefaultSearchBytes; negative: everything.
	MaxBytes int64
	// Limit is how many hits are returned. 0: DefaultHits; negative: all.
	Limit int
	// Everywhere searches every conversation of the principal.
	Everywhere bool
	// Locale is the language of the complaint about a query without words.
	Locale tool.Locale
}

// A Hit is one line in which words of a query stand.
type Hit struct {
	// Entry is the archive, without its text.
	Entry Entry
	// Line counts from 1. 0: the words stand in the call, not in the result.
	Line int
	// Snippet is the line, or at most 160 characters of it around a word.
	Snippet string
}

// A SearchResult is what a Search found, the newest archive first.
type SearchResult struct {
	Hits     []Hit
	Archives int   // how many were scanned
	Scanned  int64 // bytes of text
	// Stopped says that Left older archives were not looked at, because the
	// bytes or the hits ran out.
	Stopped bool
	Left    int
}

// Search scans the archives of a scope, the newest first, for those in which
// every word of the query stands, in any case; a word is what stands between
// spaces. Up to three lines of each are returned, those with the most words. A
// query without words is a *tool.Error with code bad_args.
func (s *Store) Search(ctx context.Context, sc Scope, query string, o SearchOptions) (SearchResult, error) {
	const doing = "searching the archives"
	words := split(query)
	if l := language(o.Locale); len(words) == 0 {
		return SearchResult{}, &tool.Error{
			Code: tool.BadArgs, Msg: l.say("the query is empty", "查询为空"),
			Hint: l.say(`write for example {"query": "timeout retry"}`, `例如 {"query": "超时 重试"}`),
		}
	}
	maxBytes, limit := o.MaxBytes, o.Limit
	if maxBytes == 0 {
		maxBytes = DefaultSearchBytes
	}
	if limit == 0 {
		limit = DefaultHits
	}
	where, args := s.within(sc, o.Everywhere)
	now := s.now().UnixMilli()
	where += " AND pruned_at IS NULL AND coalesce(expires_at > ?, 1)"
	args = append(args, now)
	rows, err := s.read.QueryContext(ctx, "SELECT "+entryColumns+", encoding, result_full FROM tool_result_archive WHERE "+where+
		" ORDER BY created_at DESC, uuid DESC", args...)
	if err != nil {
		return SearchResult{}, wrap(ctx, doing, err)
	}
	defer rows.Close()
	var r SearchResult
	for !r.Stopped && rows.Next() {
		t := text{dec: s.dec, spare: &s.spare}
		e, err := s.scanEntry(rows, &t.encoding, &t)
		if err != nil {
			return r, wrap(ctx, doing, err)
		}
		if t.err != nil {
			return r, fmt.Errorf("%s: %w: %w", doing, ErrDamaged, t.err)
		}
		r.Archives++
		r.Scanned += int64(len(t.str))
		r.Hits = append(r.Hits, hitsIn(e, t.str, words)...)
		r.Stopped = maxBytes > 0 && r.Scanned >= maxBytes || limit > 0 && len(r.Hits) >= limit
	}
	if err := rows.Err(); err != nil {
		return r, wrap(ctx, doing, err)
	}
	if limit > 0 && len(r.Hits) > limit {
		r.Hits = r.Hits[:limit]
	}
	if r.Stopped {
		rows.Close()
		var total int
		if err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM tool_result_archive WHERE "+where, args...).Scan(&total); err != nil {
			return r, wrap(ctx, doing, err)
		}
		r.Left = max(0, total-r.Archives)
		r.Stopped = r.Left > 0
	}
	return r, nil
}

// hitsIn returns the lines of one archive with the most words, in their order,
// when all words stand in the text or in the call that made it.
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
		return []Hit{{Entry: e, Snippet: clip(e.Query, snippetChars)}}
	}
	var hits []Hit
	for _, b := range bestLines(lower, inText) {
		line := text[lineStart(text, b.line):]
		line, _, _ = strings.Cut(line, "\n")
		hits = append(hits, Hit{Entry: e, Line: b.line, Snippet: around(line, b.word)})
	}
	return hits
}

// A wordLine is a line and the first word of a query on it.
type wordLine struct {
	line, count int
	word        string
}

// bestLines returns at most hitsPerEntry lines, those with the most words,
// sorted by number.
func bestLines(lower string, words []string) []wordLine {
	best := make([]wordLine, 0, hitsPerEntry+1)
	number := 0
	for line := range strings.Lines(lower) {
		number++
		b := wordLine{line: number}
		for _, w := range words {
			if strings.Contains(line, w) {
				if b.count == 0 {
					b.word = w
				}
				b.count++
			}
		}
		if b.count == 0 {
			continue
		}
		if best = append(best, b); len(best) > hitsPerEntry {
			worst := hitsPerEntry // of equals the last goes
			for i := hitsPerEntry - 1; i >= 0; i-- {
				if best[i].count < best[worst].count {
					worst = i
				}
			}
			best = append(best[:worst], best[worst+1:]...)
		}
	}
	return best
}

// around clips a line so that word stays in sight.
func around(line, word string) string {
	line = strings.TrimSpace(line)
	if utf8.RuneCountInString(line) <= snippetChars {
		return line
	}
	at := strings.Index(strings.ToLower(line), word)
	if at < 0 {
		return clip(line, snippetChars)
	}
	// Lower case may be longer or shorter than the line itself; the count of
	// characters is near enough.
	skip := utf8.RuneCountInString(strings.ToLower(line)[:at]) - snippetChars/4
	if skip <= 0 {
		return clip(line, snippetChars)
	}
	rest := skipChars(line, skip)
	start := boundary(line, len(line)-len(rest))
	return clip("…"+line[start:], snippetChars)
}
