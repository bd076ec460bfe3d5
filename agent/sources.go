package agent

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// The bounds of sources: how many one turn numbers, how many are shown under an answer that
// cites none, the characters of a title, and the bytes of an address.
const (
	maxSources   = 100
	maxUncited   = 10
	maxTitle     = 200
	maxAddress   = 1999 // a host cuts longer ones
	maxName      = 60   // characters of a title that is named to the model
	maxCitations = 1000 // in one answer
)

// A Source is a page of the web that a result of a turn comes from.
type Source struct {
	// N is its number, from 1: the model cites it as [N]. The sources of a turn are numbered
	// in the order in which the model reads them, and an address has one number.
	N     int    `json:"n"`
	Title string `json:"title"` // empty: the tool gave none
	URL   string `json:"url"`   // http or https
}

// A Citation is a place in an answer that names a source: the characters from Start on, up
// to the one at End.
type Citation struct {
	Source     Source
	Start, End int
}

// sources are those of one turn.
type sources struct {
	read bool // those of the messages before are in the list
	list []Source
	at   map[string]int // address → index in list
}

// sourcesOf numbers the sources that the model reads with a result, in the order in which
// they are shown, and returns the line that tells it the numbers; empty: there are none.
func (r *run) sourcesOf(o *outcome) (out []Source, line string) {
	res := o.result
	if res.Err != nil || res.Repeat || isLoad(res) && !r.hasSources(res.Load.UUID) {
		return nil, ""
	}
	from, how := shownSources(res.Shown.Text, res.Sources)
	for _, s := range from {
		if n, ok := r.number(s); ok {
			out = append(out, n)
		}
	}
	if r.cfg.Format != nil { // a mark would not be JSON
		return out, ""
	}
	return out, citeLine(out, how, r.locale)
}

// hasSources reports whether an archived result is one whose tool named sources. Those
// of another result were only found in its text.
func (r *run) hasSources(uuid string) bool {
	for _, m := range r.msgs {
		for _, e := range m.Results {
			if e.Ref != nil && e.Ref.UUID == uuid && len(e.Sources) > 0 {
				return true
			}
		}
	}
	return false
}

// number gives a source its number in the turn; false: the turn has too many.
func (r *run) number(s tool.Source) (Source, bool) {
	all := r.allSources()
	if i, ok := all.at[s.URL]; ok {
		return all.list[i], true
	}
	if len(all.list) == maxSources {
		return Source{}, false
	}
	return all.add(Source{N: len(all.list) + 1, Title: s.Title, URL: s.URL}), true
}

func (s *sources) add(one Source) Source {
	if s.at == nil {
		s.at = map[string]int{}
	}
	s.at[one.URL] = len(s.list)
	s.list = append(s.list, one)
	return one
}

// allSources returns the sources of the turn. Those before a pause are in its messages.
func (r *run) allSources() *sources {
	s := &r.sources
	if s.read {
		return s
	}
	s.read = true
	for _, m := range r.msgs {
		for _, e := range m.Results {
			for _, one := range e.Sources {
				if _, ok := s.at[one.URL]; m.Turn == r.turn && !ok {
					s.add(one)
				}
			}
		}
	}
	return s
}

// sourcesFor returns the sources of an answer: those that it cites, or else the first of those
// that the model has read in the turn.
func (r *run) sourcesFor(answer string) []Source {
	all := r.allSources().list
	if len(all) == 0 || strings.TrimSpace(answer) == "" {
		return nil
	}
	var out []Source
	for _, c := range Citations(answer, all) {
		out = append(out, c.Source)
	}
	if out == nil {
		return slices.Clone(all[:min(len(all), maxUncited)])
	}
	slices.SortFunc(out, func(a, b Source) int { return cmp.Compare(a.N, b.N) })
	return slices.Compact(out)
}

// answered returns the sources of the turn's answer.
func (r *run) answered() []Source {
	if r.ending.reason == ReasonToolCalls {
		return nil // it is not the answer yet
	}
	return r.sourcesFor(r.ending.answer)
}

// showing says which of a result's sources its text shows.
type showing int

const (
	showsNone showing = iota
	showsSome
	showsFirst // and none after one that is left out
)

// shownSources returns those of a result's sources that its text shows, in the order of the
// text. The only source of a result is shown by all of it. If the text shows none, the first
// ones are returned.
func shownSources(text string, all []tool.Source) (out []tool.Source, how showing) {
	type place struct {
		tool.Source
		at int
	}
	var places []place
	seen := map[string]bool{}
	for _, s := range all {
		address := s.URL
		if s.URL = webAddress(address); s.URL == "" || seen[s.URL] {
			continue
		}
		seen[s.URL] = true
		s.Title = clipped(prompt.OneLine(s.Title), maxTitle)
		if places = append(places, place{s, addressIn(text, address)}); len(places) == maxSources {
			break
		}
	}
	in := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return p.at < 0 })
	slices.SortStableFunc(in, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	switch {
	case len(places) == 1:
		how = showsFirst
	case len(in) == 0:
		places = places[:min(len(places), maxUncited)]
	default:
		if how = showsSome; slices.Equal(in, places[:len(in)]) {
			how = showsFirst
		}
		places = in
	}
	for _, p := range places {
		out = append(out, p.Source)
	}
	return out, how
}

// webAddress returns an address of the web without a user and a password; "": it is none, or
// one that could deceive a reader.
func webAddress(s string) string {
	hidden := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
	if len(s) > maxAddress || !utf8.ValidString(s) || strings.ContainsFunc(s, hidden) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return ""
	}
	if u.User != nil {
		u.User = nil
		return u.String()
	}
	return s
}

// addressIn returns where a text has an address and not only the beginning of a longer one;
// -1: nowhere.
func addressIn(text, address string) int {
	for at := 0; ; {
		i := strings.Index(text[at:], address)
		if i < 0 {
			return -1
		}
		at += i
		rest := strings.TrimLeft(text[at+len(address):], ".,;:!?)]*_")
		if next, _ := utf8.DecodeRuneInString(rest); !strings.ContainsRune("/%&=#~+-@$", next) && (next >= utf8.RuneSelf || !unicode.IsLetter(next) && !unicode.IsDigit(next)) {
			return at
		}
		at += len(address)
	}
}

// citeLine tells the model how the sources of a result are cited: by their numbers alone if the
// text shows them, because a reader counts them there. Numbers in the text itself are right
// only of the first sources of the turn, where none is left out before them.
func citeLine(all []Source, how showing, l tool.Locale) string {
	w := prompt.For(l)
	switch {
	case len(all) == 0:
		return ""
	case how == showsNone:
		names := make([]string, len(all))
		for i, s := range all {
			names[i] = mark(s.N) + " " + prompt.Clean(clipped(cmp.Or(s.Title, s.URL), maxName))
		}
		return fmt.Sprintf(w.CiteNamed, strings.Join(names, w.Hints))
	case len(all) == 1:
		return fmt.Sprintf(w.CiteOne, mark(all[0].N))
	case how == showsFirst && spans(all, w) == spans(numbered(len(all)), w):
		return fmt.Sprintf(w.CiteAll, spans(all, w))
	}
	return fmt.Sprintf(w.CiteOther, spans(all, w))
}

// numbered returns sources from 1 to n.
func numbered(n int) []Source {
	out := make([]Source, n)
	for i := range out {
		out[i].N = i + 1
	}
	return out
}

func mark(n int) string { return "[" + strconv.Itoa(n) + "]" }

// spans writes numbers that follow each other as the first and the last.
func spans(all []Source, w *prompt.Texts) string {
	var out []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1].N == all[j].N+1 {
			j++
		}
		switch j - i {
		case 0:
			out = append(out, mark(all[i].N))
		case 1:
			out = append(out, mark(all[i].N), mark(all[j].N))
		default:
			out = append(out, mark(all[i].N)+w.To+mark(all[j].N))
		}
		i = j + 1
	}
	return strings.Join(out, w.Names)
}

func clipped(s string, chars int) string {
	if r := []rune(s); len(r) > chars {
		return string(r[:chars-1]) + "…"
	}
	return s
}

// citing are the expressions that find marks in an answer.
var citing = sync.OnceValue(func() (e struct{ code, mark, number *regexp.Regexp }) {
	e.code = regexp.MustCompile("(?ms)^[ \t]*(?:```.*?(?:^[ \t]*```+[ \t]*$|\\z)|~~~.*?(?:^[ \t]*~~~+[ \t]*$|\\z))|`[^`\n]+`")
	e.mark = regexp.MustCompile(`[\[【][ ]?\d{1,3}(?:[ ]?[-–,，、][ ]?\d{1,3})*[ ]?[\]】]`)
	e.number = regexp.MustCompile(`(\d+)(?:[ ]?[-–][ ]?(\d+))?`)
	return e
})

// Citations returns the marks of an answer that name one of all, such as [1], [2, 3], [1-3]
// and 【4】, in their order, at most 1,000; a mark of several sources is several citations. Marks
// in code are none.
func Citations(answer string, all []Source) []Citation {
	if len(all) == 0 || !strings.ContainsAny(answer, "[【") {
		return nil
	}
	by := make(map[int]Source, len(all))
	for _, s := range all {
		by[s.N] = s
	}
	e := citing()
	prose := e.code.ReplaceAllStringFunc(answer, func(code string) string { return strings.Repeat(" ", len(code)) })
	var out []Citation
	chars, at := 0, 0
	for _, m := range e.mark.FindAllStringIndex(prose, -1) {
		chars += utf8.RuneCountInString(answer[at:m[0]])
		at = m[0]
		end := chars + utf8.RuneCountInString(answer[m[0]:m[1]])
		for _, n := range e.number.FindAllStringSubmatch(answer[m[0]:m[1]], -1) {
			first, _ := strconv.Atoi(n[1]) // three digits
			last := first
			if n[2] != "" {
				last, _ = strconv.Atoi(n[2])
			}
			for ; first <= last; first++ {
				if s, ok := by[first]; ok && len(out) < maxCitations {
					out = append(out, Citation{s, chars, end})
				}
			}
		}
	}
	return out
}
