package limit

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirhost/weir/sdk/limit/internal/find"
	"github.com/weirhost/weir/sdk/limit/internal/kinds"
	"github.com/weirhost/weir/sdk/tool"
)

// CheckHighlights reports the first expression that is not valid RE2. Apply ignores
// such an expression.
func CheckHighlights(exprs []string) error {
	for _, e := range exprs {
		if _, err := regexp.Compile(e); err != nil {
			return notRE2(e, err)
		}
	}
	if len(exprs) > 1 && slices.Contains(exprs, tool.KeepLinesNone) {
		return &keepError{text: tool.Textf("keep has %q beside other expressions; write %q alone, or (none) for the text", tool.KeepLinesNone, tool.KeepLinesNone)}
	}
	return nil
}

// A keepError says what is wrong with expressions. Error returns it in English.
type keepError struct {
	text tool.Text
	err  error // of package regexp; nil: none
}

func (e *keepError) Error() string      { return e.text.String() }
func (e *keepError) Unwrap() error      { return e.err }
func (e *keepError) MsgText() tool.Text { return e.text }

// notRE2 returns the error of an expression, without the words that package regexp
// begins with.
func notRE2(expr string, err error) error {
	why := tool.Text{Format: err.Error()}
	if s, ok := errors.AsType[*syntax.Error](err); ok {
		why = tool.Text{Format: "%v: `%s`", Args: []any{tool.Text{Format: s.Code.String()}, s.Expr}}
	}
	return &keepError{tool.Textf("keep %q is not a regular expression: %s", expr, why), err}
}

// Highlights are the compiled expressions of Limits.Keep, for use in many cuts.
// Highlights is safe for concurrent use. Nil highlights select no lines.
type Highlights struct {
	exprs  []string
	set    *find.Set // of exprs; nil without any
	auto   bool      // weir's own patterns too
	stated bool      // declared, and not the default
	idle   atomic.Pointer[search]
}

// byDefault is what CompileHighlights returns for limits that state nothing.
var byDefault = sync.OnceValue(func() *Highlights { return &Highlights{auto: true} })

// CompileHighlights compiles expressions. It ignores an invalid one, as Apply
// does; CheckHighlights reports it. Nil exprs compile to the patterns of weir. It
// returns nil if there is nothing to select.
func CompileHighlights(exprs []string) *Highlights {
	if exprs == nil {
		return byDefault()
	}
	h := &Highlights{stated: true}
	for _, e := range exprs {
		switch e {
		case tool.KeepLinesAuto:
			h.auto = true
		case tool.KeepLinesNone:
			return nil
		default:
			h.exprs = append(h.exprs, e)
		}
	}
	h.set = find.NewSet(h.exprs)
	if h.set == nil && !h.auto {
		return nil
	}
	return h
}

// Apply is the function Apply with h in place of l.Keep.
func (h *Highlights) Apply(whole string, l tool.Limits, by By) tool.View {
	return apply(whole, nil, l, by, reserve{notice: tool.NoticeChars}, h)
}

// Fit is the function Fit with h in place of l.Keep.
func (h *Highlights) Fit(r tool.Result, l tool.Limits, by By) tool.View {
	if r.Load != nil {
		l.Strategy, h = tool.HeadOnly, nil
	}
	return apply(r.Whole(), r.Entries, l, by, reserveFor(r), h)
}

// A Pattern is one of weir's own patterns: what it is for, and its expression.
type Pattern struct {
	Name   string `json:"name"`
	Weight string `json:"weight"`
	Expr   string `json:"expr"`
}

// Patterns lists weir's own patterns, which Limits.Keep names "auto".
func Patterns() []Pattern {
	var out []Pattern
	for _, p := range kinds.All() {
		out = append(out, Pattern{p.Name, p.Weight.String(), p.Expr})
	}
	return out
}

// search is the state of one cut. Highlights reuses it, to save allocations.
type search struct {
	declared *find.Search
	auto     kinds.Search
	found    []find.Line
	units    []candidate
	order    []int
	same     map[string]int
	shapes   map[uint64]bool
	seen     []int
	counted  []int
	kept     []span
}

// begin returns the state for one cut under strategy s, or nil if no lines are
// kept. The caller returns it with end.
func (h *Highlights) begin(s tool.Strategy) *search {
	if h == nil || !h.stated && (s == tool.HeadOnly || s == tool.JSON) {
		return nil
	}
	g := h.idle.Swap(nil)
	if g == nil {
		g = &search{same: map[string]int{}, shapes: map[uint64]bool{}}
		if h.set != nil {
			g.declared = h.set.Begin()
		}
	}
	return g
}

// end keeps g for another cut. It drops what refers to the text.
func (h *Highlights) end(g *search) {
	if g != nil {
		clear(g.same)
		h.idle.Store(g)
	}
}

// find finds the lines of text to keep, in order. By counts the declared
// expressions first, and then weir's own.
func (h *Highlights) find(g *search, text string) {
	g.found = g.found[:0]
	if g.declared != nil {
		g.found = g.declared.Lines(text, g.found)
	}
	declared := len(g.found)
	if !h.auto {
		return
	}
	g.found = g.auto.Lines(text, g.found)
	for i := declared; i < len(g.found); i++ {
		g.found[i].By += len(h.exprs)
	}
	if declared > 0 {
		slices.SortStableFunc(g.found, func(a, b find.Line) int { return a.Start - b.Start })
		g.found = slices.CompactFunc(g.found, func(a, b find.Line) bool { return a.Start == b.Start })
	}
}

// weight returns how much the lines of by say. Declared ones say most.
func (h *Highlights) weight(by int) kinds.Weight {
	if by < len(h.exprs) {
		return kinds.Fault
	}
	return kinds.All()[by-len(h.exprs)].Weight
}

// name returns the declared expression, or the name of the pattern.
func (h *Highlights) name(by int) string {
	if by < len(h.exprs) {
		return h.exprs[by]
	}
	return kinds.All()[by-len(h.exprs)].Name
}

// maxGrep is the longest expression, in characters, that a notice names.
const maxGrep = 100

// grep returns an expression for the lines that each of by finds; or for as many
// of them, from the first on, as fit maxGrep characters.
func (h *Highlights) grep(by []int) string {
	var parts []string
	size := 0
	for _, b := range by {
		e := ""
		if b < len(h.exprs) {
			e = h.exprs[b]
		} else {
			e = kinds.All()[b-len(h.exprs)].Expr
		}
		if len(by) > 1 && strings.HasPrefix(e, "(?") && !strings.HasPrefix(e, "(?:") {
			e = "(?:" + e + ")" // its flags are for itself
		}
		if size += runes(e) + 1; size <= maxGrep+1 {
			parts = append(parts, e)
		}
	}
	return strings.Join(parts, "|")
}
