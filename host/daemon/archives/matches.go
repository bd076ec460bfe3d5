package archives

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/params"
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

// alone runs work on a text of n bytes.
func (a *Archives) alone(n int, work func()) {
	if n >= largeText {
		a.large.Lock()
		defer a.large.Unlock()
	}
	work()
}

// matches finds all hits in one archived result.
func (a *Archives) matches(w http.ResponseWriter, r *http.Request) error {
	expr, err := expression(r)
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
	page, err := a.whole(r, r.PathValue("uuid"))
	if err != nil {
		return err
	}
	s := textSearch{expr: expr, skip: skip, most: min(most, mostMatches)}
	a.alone(len(page.Text), func() { err = s.run(r.Context(), page.Text) })
	if err != nil {
		return nil // the client has disconnected
	}
	out := api.TextMatches{Matches: s.found, Total: s.total, More: s.more, Lines: page.Entry.Lines}
	if next := skip + len(s.found); next < s.total {
		out.Next = next
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

// expression returns what a request searches for.
func expression(r *http.Request) (*regexp.Regexp, error) {
	q := r.URL.Query().Get("q")
	isExpr, err := params.Bool(r, "regex", false)
	if err != nil {
		return nil, err
	}
	exact, err := params.Bool(r, "case", false)
	switch {
	case err != nil:
		return nil, err
	case q == "":
		return nil, api.Problemf(http.StatusBadRequest, "bad_query", "add q=TEXT", "nothing to search for is given")
	case utf8.RuneCountInString(q) > mostQuery:
		return nil, api.Problemf(http.StatusBadRequest, "bad_query", "search for less", "q is longer than %d characters", mostQuery)
	}
	if !isExpr {
		q = regexp.QuoteMeta(q)
	}
	if !exact {
		q = "(?i)" + q
	}
	expr, err := regexp.Compile(q)
	if err != nil {
		return nil, api.Problemf(http.StatusBadRequest, "bad_query", "write an RE2 expression, or leave regex out to find the text itself", "%q is not a regular expression", api.Clip(r.URL.Query().Get("q"), 80))
	}
	return expr, nil
}

// A textSearch finds the hits of an expression, line by line.
type textSearch struct {
	expr       *regexp.Regexp
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
	all := s.expr.FindAllStringIndex(line, mostCounted-s.total+1)
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
