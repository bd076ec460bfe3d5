package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/tool"
)

// The bounds of a Search.
const (
	// DefaultSearchTime is the time that Search takes at most by default.
	DefaultSearchTime   = 10 * time.Second
	maxWords            = 16
	maxQueryBytes       = 1000 // far below the longest pattern of SQLite
	hitsPerConversation = 3
)

// The places in which a Search finds words.
const (
	InTitle  = "title"
	InUser   = "question"
	InAnswer = "answer"
	InResult = "result"
)

// SearchOptions bound a Search. The zero value selects the defaults.
type SearchOptions struct {
	// Limit is the number of hits. 0: archive.DefaultHits; negative: all.
	Limit int
	// Time bounds the search; the hits until then are returned. 0: DefaultSearchTime;
	// negative: no bound.
	Time time.Duration
}

// A Hit is one message, or the title, that contains all words of a query.
type Hit struct {
	Conversation Conversation
	// Seq and Turn number the message; 0 in a title.
	Seq, Turn int
	// Where is InTitle, InUser, InAnswer or InResult.
	Where   string
	Created time.Time
	// Line counts the message's lines from 1. Snippet is that line, or at most 160
	// characters of it with a word.
	Line    int
	Snippet string
}

// A SearchResult holds the hits of a Search, those of the conversation used last first.
type SearchResult struct {
	Hits []Hit
	// Stopped reports that older conversations were not searched, because Limit or Time
	// was reached.
	Stopped bool
}

// Search returns messages and titles of a principal that contain every word of the
// query in upper or lower case. Words are separated by spaces and have no wildcards. It
// returns at most three hits of each conversation. A query without words, or with too
// many, is a *tool.Error with code bad_args.
//
// It reads all messages, which takes about a second for each GiB. An index of trigrams
// would cost more than it saves, see RATIONALE.md.
func (s *Store) Search(ctx context.Context, principal, query string, o SearchOptions) (SearchResult, error) {
	const doing = "searching the conversations"
	words, err := wordsOf(query)
	if err != nil {
		return SearchResult{}, err
	}
	limit := cmp.Or(o.Limit, archive.DefaultHits)
	o.Time = cmp.Or(o.Time, DefaultSearchTime)
	outer := ctx
	if o.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Time)
		defer cancel()
	}
	c := collector{limit: limit, words: words}
	err = s.eachMatch(ctx, principal, words, c.add)
	switch {
	case errors.Is(err, errEnough):
		c.out.Stopped = true
	case err != nil && outer.Err() == nil && ctx.Err() != nil: // o.Time is over
		c.out.Stopped = true
	case err != nil:
		return SearchResult{}, wrap(outer, doing, err)
	}
	return c.out, nil
}

// errEnough ends a search that has reached its limit.
var errEnough = errors.New("the search has reached its limit")

// eachMatch calls f for each title and message that contains all words, and its text.
func (s *Store) eachMatch(ctx context.Context, principal string, words []string, f func(Hit, string) error) error {
	cond, args := like("c.title "+s.db.Like(), words)
	inText, textArgs := like("m.content "+s.db.Like(), words)
	passed, _ := like("x.content "+s.db.Like(), words)
	const same = "FROM passed_texts x WHERE x.principal = c.principal AND x.digest = m.digest"
	args = slices.Concat(textArgs, textArgs, []any{principal}, args)
	// A title comes before its messages, with number 0.
	return s.db.Each(ctx, `SELECT c.id, c.title, c.profile, c.created_at, c.updated_at, coalesce(m.seq, 0), coalesce(m.turn, 0), coalesce(m.role, ''),
		coalesce(m.created_at, c.created_at), CASE WHEN m.digest <> '' THEN coalesce((SELECT x.content `+same+`), '') ELSE coalesce(m.content, c.title) END
		FROM conversations c LEFT JOIN messages m ON m.conversation_id = c.id AND (`+inText+` OR m.digest <> '' AND EXISTS (SELECT 1 `+same+" AND "+passed+`))
		WHERE c.principal = ? AND c.hidden = 0 AND (m.seq IS NOT NULL OR `+cond+`) ORDER BY c.updated_at DESC, c.created_at DESC, c.id, m.seq`,
		args, func(row sqlite.Row) error {
			var h Hit
			var role, text string
			var made, used, created int64
			if err := row.Scan(&h.Conversation.ID, &h.Conversation.Title, &h.Conversation.Profile, &made, &used, &h.Seq, &h.Turn, &role, &created, &text); err != nil {
				return err
			}
			h.Conversation.Principal = principal
			h.Conversation.Created, h.Conversation.Updated, h.Created = time.UnixMilli(made).UTC(), time.UnixMilli(used).UTC(), time.UnixMilli(created).UTC()
			h.Where = cmp.Or(map[string]string{"": InTitle, "user": InUser, "assistant": InAnswer}[role], InResult)
			return f(h, text)
		})
}

// A collector selects the hits that a search returns.
type collector struct {
	limit int
	words []string
	out   SearchResult
	last  string // the conversation of the previous hit
	n     int    // the number of its hits
}

func (c *collector) add(h Hit, text string) error {
	if c.last != h.Conversation.ID {
		c.last, c.n = h.Conversation.ID, 0
		if c.limit > 0 && len(c.out.Hits) >= c.limit {
			return errEnough
		}
	}
	if c.n++; c.n > hitsPerConversation || c.limit > 0 && len(c.out.Hits) >= c.limit {
		return nil
	}
	h.Line, h.Snippet = 1, snippet.Clip(snippet.OneLine(text), snippet.Chars)
	best := 0
	for _, l := range snippet.Lines(text, c.words, hitsPerConversation) {
		if l.Words > best {
			best, h.Line, h.Snippet = l.Words, l.Number, l.Snippet
		}
	}
	c.out.Hits = append(c.out.Hits, h)
	return nil
}

// wordsOf returns the words of a query in lower case, each once.
func wordsOf(query string) ([]string, error) {
	words := snippet.Words(strings.ReplaceAll(strings.ToValidUTF8(query, ""), "\x00", ""))
	switch {
	case len(words) == 0:
		return nil, tool.Errorf(tool.BadArgs, "name words to look for", "the query is empty")
	case len(words) > maxWords || len(query) > maxQueryBytes:
		return nil, tool.Errorf(tool.BadArgs, "name fewer words", "the query is too long: at most %d words and %d bytes", maxWords, maxQueryBytes)
	}
	return words, nil
}

// like returns the condition that a column contains all words. Its operator ignores
// the case of ASCII letters only; for other letters the condition lists the usual ways
// to write a word.
func like(columnLike string, words []string) (string, []any) {
	var all []string
	var args []any
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	for _, w := range words {
		forms := []string{w}
		for _, form := range []string{strings.ToUpper(w), titled(w)} {
			if form != w && strings.ContainsFunc(w, func(r rune) bool { return r >= utf8.RuneSelf }) {
				forms = append(forms, form)
			}
		}
		var any []string
		for _, form := range forms {
			any = append(any, columnLike+` ? ESCAPE '\'`)
			args = append(args, "%"+escape.Replace(form)+"%")
		}
		all = append(all, "("+strings.Join(any, " OR ")+")")
	}
	return strings.Join(all, " AND "), args
}

// titled returns a word with its first letter in upper case.
func titled(w string) string {
	r, size := utf8.DecodeRuneInString(w)
	return string(unicode.ToUpper(r)) + w[size:]
}
