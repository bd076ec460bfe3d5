package archive

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/exprcost"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/tool"
)

const countLoadSQL = `UPDATE tool_result_archive SET load_count = load_count + 1, last_loaded_at = ?
	WHERE uuid = ? AND principal = ? AND (conversation_id = ? OR ?)`

// A Page is a selected part of an archived text.
type Page struct {
	Entry Entry // without Full
	// Text is everything selected, from Part.Offset on; the caller cuts it.
	Text string
	// Chars is the length of everything selected, in characters, before Offset.
	Chars int
	// Matches is the number of lines that match a Grep; 0 for other selections.
	Matches int
}

// Peek returns a part of an archived text for people. Its errors are those of Get,
// and a *tool.Error with code bad_args for a part that does not exist. It counts no
// load: the counts show what models had to load again.
func (s *SQLite) Peek(ctx context.Context, sc Scope, uuid string, p Part) (Page, error) {
	e, err := s.Get(ctx, sc, uuid)
	full := e.Full
	e.Full = ""
	if err != nil {
		return Page{Entry: e}, err
	}
	leave, err := s.mayGrep(ctx, len(full), p.Grep)
	if err != nil {
		return Page{}, err
	}
	defer leave()
	page, bad := selectPart(full, p)
	if bad != nil {
		return Page{}, bad
	}
	page.Entry = e
	return page, nil
}

// mayGrep waits until an expression may be searched for in a text of n bytes. The error is
// that of ctx, or a *tool.Error for one that costs too much.
func (s *SQLite) mayGrep(ctx context.Context, n int, expr string) (leave func(), err error) {
	cost := n * exprcost.Steps(expr)
	if cost > exprcost.Most {
		return nil, tool.Errorf(tool.BadArgs, "write a shorter one, or select lines without it", "the expression is too large for a text of %d bytes", n)
	}
	return s.greps.Enter(ctx, cost)
}

// Read is Peek for a model: it counts a load if it succeeds. If the load cannot be
// counted, because the disk is full, Read still returns the part.
func (s *SQLite) Read(ctx context.Context, sc Scope, uuid string, p Part) (Page, error) {
	page, err := s.Peek(ctx, sc, uuid, p)
	if err != nil {
		return page, err
	}
	now := sqlite.Truncate(s.now())
	if err := s.db.Commit(ctx, 0, func(b *sqlite.Batch) error {
		return b.Run(s.countLoad, now.UnixMilli(), uuid, sc.Principal, sc.Conversation, s.cfg().UserScope || sc.Everywhere)
	}); err != nil {
		s.log.Warn("a load was not counted", "uuid", uuid, "error", err)
	} else {
		page.Entry.Loads, page.Entry.LastLoad = page.Entry.Loads+1, now
	}
	return page, nil
}

// selectPart selects from text. The selection is a contiguous part of the text, byte
// for byte, except in three cases: grep adds line numbers (12: for a match, 11- for
// context) and -- between groups, head with tail adds -- between the two, and a
// pointer to a JSON string selects the text of the string.
func selectPart(text string, p Part) (Page, *tool.Error) {
	if err := p.check(); err != nil {
		return Page{}, err
	}
	var page Page
	var err *tool.Error
	switch {
	case p.First != 0 || p.Last != 0:
		text, err = selectLines(text, max(p.First, 1), p.Last)
	case p.Grep != "":
		text, page.Matches, err = grep(text, p.Grep, p.Context)
	case p.Pointer != "":
		text, err = selectPointer(text, p.Pointer)
	}
	if err != nil {
		return Page{}, err
	}
	text = ends(text, p.Head, p.Tail)
	page.Chars = utf8.RuneCountInString(text)
	if p.Offset > page.Chars {
		return Page{}, tool.Errorf(tool.BadArgs, "give a smaller offset",
			"the selected part has %d characters; offset %d is after its end", page.Chars, p.Offset)
	}
	page.Text = snippet.SkipChars(text, p.Offset)
	return page, nil
}

// selectLines returns the lines first to last with their line ends. last 0: to the end.
func selectLines(text string, first, last int) (string, *tool.Error) {
	start := snippet.LineStart(text, first)
	if start == len(text) && (first > 1 || text == "") {
		total := countLines(text)
		return "", tool.NewError(tool.BadArgs, tool.Textf("the result has %d lines; line %d does not exist", total, first),
			tool.Textf("ask for lines up to %d", total))
	}
	if last == 0 {
		return text[start:], nil
	}
	return text[start : start+snippet.LineStart(text[start:], last-first+2)], nil
}

// grep returns the matching lines with their numbers and with context lines.
func grep(text, expr string, context int) (string, int, *tool.Error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return "", 0, tool.Errorf(tool.BadArgs, `write an RE2 expression; escape . ( [ * + ? with \; (?i) ignores case`,
			"grep is not a valid expression: %v", msg.Of(err))
	}
	lines := splitLines(text)
	var hits []int
	for i, line := range lines {
		if re.MatchString(line) {
			hits = append(hits, i)
		}
	}
	var b strings.Builder
	written := 0 // the number of lines that were considered
	for k, hit := range hits {
		from, to := max(hit-min(context, hit), written), min(hit+min(context, len(lines)), len(lines)-1)
		if k+1 < len(hits) {
			to = min(to, hits[k+1]-1) // the next match is written in its own turn
		}
		if written > 0 && from > written {
			b.WriteString("--\n")
		}
		for i := from; i <= to; i++ {
			b.WriteString(strconv.Itoa(i + 1))
			if i == hit {
				b.WriteByte(':')
			} else {
				b.WriteByte('-')
			}
			b.WriteString(lines[i])
			b.WriteByte('\n')
		}
		written = to + 1
	}
	return b.String(), len(hits), nil
}

// splitLines returns the lines without their ends.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// ends returns the first head and the last tail lines. If both are 0, it returns text.
func ends(text string, head, tail int) string {
	if head == 0 && tail == 0 {
		return text
	}
	total := countLines(text)
	if head >= total || tail >= total-head {
		return text
	}
	first, last := text[:snippet.LineStart(text, head+1)], text[snippet.LineStart(text, total-tail+1):]
	switch {
	case tail == 0:
		return first
	case head == 0:
		return last
	}
	return first + "--\n" + last
}

// countLines returns the number of newlines, plus one for a last line without one.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
