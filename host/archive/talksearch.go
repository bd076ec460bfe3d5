package archive

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// The bounds of a SearchConversations.
const (
	// DefaultTalkTime is how long it looks when nobody says.
	DefaultTalkTime = 10 * time.Second
	maxWords        = 16
	maxWordBytes    = 1000 // far below what SQLite takes as a pattern
	hitsPerTalk     = 3
)

// Where the words of a search stand.
const (
	InTitle  = "title"
	InUser   = "question"
	InAnswer = "answer"
	InResult = "result"
)

// TalkOptions bound a SearchConversations. The zero value means the defaults.
type TalkOptions struct {
	// Limit is how many hits are returned. 0: DefaultHits; negative: all.
	Limit int
	// Time is how long is looked; what was found by then is returned. 0:
	// DefaultTalkTime; negative: as long as it takes.
	Time time.Duration
	// Locale is the language of a complaint about the query.
	Locale tool.Locale
}

// A TalkHit is one message, or the title, in which all words of a query stand.
type TalkHit struct {
	Conversation Conversation
	// Seq and Turn number the message; 0 in a title.
	Seq, Turn int
	// Where is InTitle, InUser, InAnswer or InResult.
	Where   string
	Created time.Time
	// Line counts the message's lines from 1; Snippet is that line, or at most 160
	// characters of it around a word.
	Line    int
	Snippet string
}

// TalkHits are what a SearchConversations found, the conversation used last
// first.
type TalkHits struct {
	Hits []TalkHit
	// Stopped says that older conversations were not looked at, because the hits
	// or the time ran out.
	Stopped bool
}

// SearchConversations looks for messages and titles of a principal in which
// every word of the query stands, in any case; a word is what stands between
// spaces, and stands for nothing but itself. At most three hits of each
// conversation are returned. A query without words, or with too many, is a
// *tool.Error with code bad_args.
//
// It reads through the messages: that takes about a second for each GiB. An
// index of trigrams would cost more than it saves, see RATIONALE.md.
func (s *Store) SearchConversations(ctx context.Context, principal, query string, o TalkOptions) (TalkHits, error) {
	const doing = "searching the conversations"
	words, err := wordsOf(query, language(o.Locale))
	if err != nil {
		return TalkHits{}, err
	}
	limit := o.Limit
	if limit == 0 {
		limit = DefaultHits
	}
	if o.Time == 0 {
		o.Time = DefaultTalkTime
	}
	outer := ctx
	if o.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Time)
		defer cancel()
	}
	f := talkFinder{limit: limit, words: words}
	err = s.eachTalk(ctx, principal, words, f.add)
	switch {
	case errors.Is(err, errEnough):
		f.out.Stopped = true
	case err != nil && outer.Err() == nil && ctx.Err() != nil: // our own time
		f.out.Stopped = true
	case err != nil:
		return TalkHits{}, wrap(outer, doing, err)
	}
	return f.out, nil
}

// errEnough ends a search that has found what it may.
var errEnough = errors.New("enough was found")

// eachTalk hands over what holds all words, conversation by conversation.
func (s *Store) eachTalk(ctx context.Context, principal string, words []string, f func(TalkHit, string) error) error {
	cond, args := like("c.title", words)
	inText, textArgs := like("m.content", words)
	args = append(append(append([]any{}, textArgs...), principal), args...)
	// A title stands in front of its messages, as number 0.
	return s.each(ctx, `SELECT c.id, c.title, c.profile, c.created_at, c.updated_at, coalesce(m.seq, 0), coalesce(m.turn, 0), coalesce(m.role, ''),
		coalesce(m.created_at, c.created_at), coalesce(m.content, c.title)
		FROM conversations c LEFT JOIN messages m ON m.conversation_id = c.id AND `+inText+`
		WHERE c.principal = ? AND (m.seq IS NOT NULL OR `+cond+`) ORDER BY c.updated_at DESC, c.created_at DESC, c.id, m.seq`,
		args, func(row scanner) error {
			var h TalkHit
			var role, text string
			var made, used, created int64
			if err := row.Scan(&h.Conversation.ID, &h.Conversation.Title, &h.Conversation.Profile, &made, &used, &h.Seq, &h.Turn, &role, &created, &text); err != nil {
				return err
			}
			h.Conversation.Principal = principal
			h.Conversation.Created, h.Conversation.Updated, h.Created = time.UnixMilli(made).UTC(), time.UnixMilli(used).UTC(), time.UnixMilli(created).UTC()
			h.Where = map[string]string{"": InTitle, "user": InUser, "assistant": InAnswer}[role]
			if h.Where == "" {
				h.Where = InResult
			}
			return f(h, text)
		})
}

// A talkFinder keeps what is worth telling.
type talkFinder struct {
	limit int
	words []string
	out   TalkHits
	last  string // the conversation of the hit before
	n     int    // its hits
}

func (f *talkFinder) add(h TalkHit, text string) error {
	if f.last != h.Conversation.ID {
		f.last, f.n = h.Conversation.ID, 0
		if f.limit > 0 && len(f.out.Hits) >= f.limit {
			return errEnough
		}
	}
	if f.n++; f.n > hitsPerTalk || f.limit > 0 && len(f.out.Hits) >= f.limit {
		return nil
	}
	h.Line, h.Snippet = 1, clip(oneLine(text), snippetChars)
	if best := bestLines(strings.ToLower(text), f.words); len(best) > 0 {
		h.Line = best[0].line
		for _, b := range best[1:] {
			if b.count > best[0].count {
				best[0], h.Line = b, b.line
			}
		}
		line, _, _ := strings.Cut(text[lineStart(text, h.Line):], "\n")
		h.Snippet = around(line, best[0].word)
	}
	f.out.Hits = append(f.out.Hits, h)
	return nil
}

// wordsOf returns the words of a query, in lower case, each once.
func wordsOf(query string, l language) ([]string, error) {
	words := split(strings.ReplaceAll(strings.ToValidUTF8(query, ""), "\x00", ""))
	switch {
	case len(words) == 0:
		return nil, &tool.Error{Code: tool.BadArgs, Msg: l.say("the query is empty", "查询为空"), Hint: l.say("name words to look for", "请给出要查找的词")}
	case len(words) > maxWords || len(query) > maxWordBytes:
		return nil, l.bad("the query is too long: at most %d words and %d bytes", "查询过长：最多 %d 个词、%d 字节", maxWords, maxWordBytes)
	}
	return words, nil
}

// like is the condition that all words stand in a column. SQLite's LIKE knows
// upper and lower case of ASCII alone: of other letters, the usual ways to write
// a word are tried.
func like(column string, words []string) (string, []any) {
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
			any = append(any, column+` LIKE ? ESCAPE '\'`)
			args = append(args, "%"+escape.Replace(form)+"%")
		}
		all = append(all, "("+strings.Join(any, " OR ")+")")
	}
	return strings.Join(all, " AND "), args
}

// titled writes a word with its first letter in upper case.
func titled(w string) string {
	r, size := utf8.DecodeRuneInString(w)
	return string(unicode.ToUpper(r)) + w[size:]
}
