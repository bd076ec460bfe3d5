package archives

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/internal/exprcost"
)

// The bounds of a search in one text: hits of one answer, characters of what is searched
// for and of the text around a hit.
const (
	usualMatches = 1_000
	mostMatches  = 10_000
	mostQuery    = 1_000
	aroundChars  = 240
	mostCounted  = 100_000 // hits in all
)

// largeText is the length in bytes from which work on one text excludes work on another.
const largeText = 1 << 20

// alone waits until a request may work on a text of n bytes, in so many steps of an
// expression. The caller must call done. The error is that of ctx.
func (a *Archives) alone(ctx context.Context, n, steps int) (done func(), err error) {
	if n >= largeText {
		steps = max(steps, exprcost.Light+1)
	}
	return a.large.Enter(ctx, steps)
}

// matches finds all hits in one archived result.
func (a *Archives) matches(w http.ResponseWriter, r *http.Request) error {
	q, err := queryOf(r)
	if err != nil {
		return err
	}
	most, err := params.Int(r, "limit", usualMatches)
	if err != nil {
		return err
	}
	skip, err := params.Int(r, "offset", 0)
	if err != nil {
		return err
	}
	page, done, err := a.whole(r, r.PathValue("uuid"), q.steps)
	if err != nil {
		return err
	}
	defer done()
	if q.expr != nil && q.steps*len(page.Text) > exprcost.Most {
		return api.Problemf(http.StatusBadRequest, "bad_query", "write a shorter one, or leave regex out to find the text itself", "the expression is too large for a text of %d bytes", len(page.Text))
	}
	s := textSearch{query: q, skip: skip, most: min(most, mostMatches)}
	if s.run(r.Context(), page.Text) != nil {
		return nil // the client has disconnected
	}
	out := api.TextMatches{Matches: s.found, Total: s.total, More: s.more, Lines: page.Entry.Lines}
	if next := skip + len(s.found); next < s.total {
		out.Next = next
	}
	return httpjson.Answer(w, out)
}

// A query is what a request searches for: an expression with its number of instructions,
// or else a text, folded unless case matters.
type query struct {
	expr  *regexp.Regexp
	steps int
	text  string
	exact bool
}

func queryOf(r *http.Request) (q query, err error) {
	q.text = r.URL.Query().Get("q")
	isExpr, err := params.Bool(r, "regex", false)
	if err != nil {
		return q, err
	}
	q.exact, err = params.Bool(r, "case", false)
	switch {
	case err != nil:
		return q, err
	case q.text == "":
		return q, api.Problemf(http.StatusBadRequest, "bad_query", "add q=TEXT", "nothing to search for is given")
	case utf8.RuneCountInString(q.text) > mostQuery:
		return q, api.Problemf(http.StatusBadRequest, "bad_query", "search for less", "q is longer than %d characters", mostQuery)
	case !isExpr && !q.exact:
		q.text = folded(q.text)
	}
	if !isExpr {
		return q, nil
	}
	expr := q.text
	if !q.exact {
		expr = "(?i)" + expr
	}
	if q.expr, err = regexp.Compile(expr); err != nil {
		return q, api.Problemf(http.StatusBadRequest, "bad_query", "write an RE2 expression, or leave regex out to find the text itself", "%q is not a regular expression", api.Clip(q.text, 80))
	}
	q.steps = exprcost.Steps(expr)
	return q, nil
}

// folded returns a text in lower case, in as many bytes: letters whose lower case has
// another length stay as they are.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if l := unicode.ToLower(r); utf8.RuneLen(l) == utf8.RuneLen(r) {
			return l
		}
		return r
	}, s)
}

// find returns up to n hits in a line, as pairs of bytes.
func (q query) find(line string, n int) (hits [][]int) {
	if q.expr != nil {
		return q.expr.FindAllStringIndex(line, n)
	}
	if !q.exact {
		line = folded(line)
	}
	for at := 0; len(hits) < n; {
		i := strings.Index(line[at:], q.text)
		if i < 0 {
			break
		}
		hits = append(hits, []int{at + i, at + i + len(q.text)})
		at += i + len(q.text)
	}
	return hits
}

// A textSearch finds the hits of a query, line by line.
type textSearch struct {
	query
	skip, most int // hits of the answer
	total      int
	more       bool // there are more than mostCounted
	found      []api.TextMatch
}

func (s *textSearch) run(ctx context.Context, text string) error {
	s.found = []api.TextMatch{}
	for n := 1; text != "" && !s.more; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, rest, _ := strings.Cut(text, "\n")
		s.line(n, line)
		text = rest
	}
	return ctx.Err()
}

// line adds the hits of one line. A hit without characters counts only where the line has
// no other, once.
func (s *textSearch) line(n int, line string) {
	pos := place{line: line}
	all := s.find(line, mostCounted-s.total+1)
	before := s.total
	for i, at := range all {
		if at[0] == at[1] && (i < len(all)-1 || s.total > before) {
			continue
		}
		if s.more = s.total == mostCounted; s.more {
			return
		}
		s.total++
		if s.total <= s.skip || len(s.found) >= s.most {
			continue
		}
		m := api.TextMatch{Line: n, From: pos.chars(at[0])}
		m.To = m.From + utf8.RuneCountInString(line[at[0]:at[1]])
		m.Text, m.TextFrom = around(line, at[0], m.From)
		s.found = append(s.found, m)
	}
}

// A place counts the characters of a line up to a byte that moves forward.
type place struct {
	line        string
	byte, count int
}

func (p *place) chars(at int) int {
	p.count += utf8.RuneCountInString(p.line[p.byte:at])
	p.byte = at
	return p.count
}

// around returns the part of a line that begins a little before byte at, which is
// character n.
func around(line string, at, n int) (text string, from int) {
	start, from := at, n
	for from > 0 && n-from < aroundChars/4 {
		_, size := utf8.DecodeLastRuneInString(line[:start])
		start, from = start-size, from-1
	}
	end, shown := start, 0
	for end < len(line) && shown < aroundChars {
		_, size := utf8.DecodeRuneInString(line[end:])
		end, shown = end+size, shown+1
	}
	return line[start:end], from
}
