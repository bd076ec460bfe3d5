package limit

import (
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// Render returns the text of a result for a model, in language l. The text has
// these parts, if they apply: the error; the host's note; the reference to an identical earlier
// result; the shown text, neutralised, with the notice at its first gap and a
// short marker at each further gap; the tool's claim of more.
//
// The text stays within the limit of the view that Fit returned. For a view of
// Apply this holds only if the result has no error, claim or load.
func Render(r tool.Result, l tool.Locale) string { return render(r, l, Neutralise) }

// RenderExact is Render that changes nothing in the shown text: for a reader that gets the same
// text elsewhere as it is, and would take a changed character for the text's own.
func RenderExact(r tool.Result, l tool.Locale) string {
	return render(r, l, func(s string) string { return s })
}

func render(r tool.Result, l tool.Locale, show func(string) string) string {
	w := words(l)
	if r.Repeat && r.Ref != nil {
		return w.repeat(r)
	}
	failure, claim, room := w.around(r)
	if failure == "" && claim == "" && !r.Shown.Cut() { // the usual case
		return show(r.Shown.Text)
	}
	p := page{show: show}
	p.own(failure)
	if r.Shown.Summarized {
		p.text(r.Shown.Text)
		p.note(w.notice(r, room))
	} else {
		p.pieces(r, w, room)
	}
	p.own(claim)
	return p.b.String()
}

// around returns the lines before and after the text, and the room left for the
// notice, separators included.
func (w words) around(r tool.Result) (failure, claim string, room int) {
	failure, claim, room = w.head(r), w.claim(r, r.Shown.Cut()), r.Shown.Room
	if room <= 0 {
		return failure, claim, tool.NoticeChars
	}
	if added(failure, claim)+1 > room {
		claim = ""
	}
	failure = clip(failure, room-2)
	return failure, claim, room - added(failure, claim)
}

// added returns the characters of the lines, each with a newline.
func added(lines ...string) (chars int) {
	for _, s := range lines {
		if s != "" {
			chars += runes(s) + 1
		}
	}
	return chars
}

// reserveFor returns the size of what Render adds to r, in the longer language.
func reserveFor(r tool.Result) reserve {
	res := reserve{notice: tool.NoticeChars}
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		w := words(l)
		failure, claim := w.head(r), w.claim(r, true) // the longer one
		res.chars = max(res.chars, added(failure, claim))
		if r.Load != nil {
			res.notice = max(res.notice, runes(w.load(r, r.Load.Chars, r.Load.Chars))+2)
		}
	}
	if r.Err != nil {
		res.lines++
	}
	if r.Note != "" {
		res.lines++
	}
	if r.Ref != nil && r.Ref.Again {
		res.lines++
	}
	if r.More != nil {
		res.lines++
	}
	return res
}

// A page collects the rendered text. It puts each notice on its own line.
type page struct {
	b       strings.Builder
	show    func(string) string // what is shown of the tool's text
	newline bool                // the last write was a line of weir's
	any     bool
	ended   bool // the last byte is a newline
}

// text writes a part of the tool's text.
func (p *page) text(s string) {
	if s == "" {
		return
	}
	if p.newline {
		p.b.WriteByte('\n')
	}
	p.b.WriteString(p.show(s))
	p.any, p.newline, p.ended = true, false, s[len(s)-1] == '\n'
}

// own writes a line of weir's, unless it is empty.
func (p *page) own(line string) {
	if line == "" {
		return
	}
	if p.any && !p.ended {
		p.b.WriteByte('\n')
	}
	p.b.WriteString(line)
	p.any, p.newline, p.ended = true, true, false
}

// note writes a notice or a marker. The sliver gets no line of its own.
func (p *page) note(s string) {
	if s != sliver {
		p.own(s)
		return
	}
	p.b.WriteString(s)
	p.any, p.newline, p.ended = true, false, false
}

// pieces writes the shown text with the notice and the markers at its gaps, and
// the counts of identical lines.
func (p *page) pieces(r tool.Result, w words, room int) {
	v := r.Shown
	pos, kept := 0, v.Kept
	to := func(at int) {
		for ; len(kept) > 0 && kept[0].At < at && kept[0].End <= at; kept = kept[1:] {
			if k := kept[0]; k.Times > 1 && pos <= k.End {
				end := k.End + len(v.Text[k.End:at]) - len(strings.TrimPrefix(v.Text[k.End:at], "\n"))
				p.text(v.Text[pos:end])
				pos = end
				p.own(times(k.Times))
			}
		}
		p.text(v.Text[pos:at])
		pos = at
	}
	for i, g := range v.Gaps {
		to(g.At)
		switch {
		case i == 0:
			p.note(w.notice(r, room))
		case v.Terse:
			p.own(sliver)
		default:
			p.own(w.marker(g))
		}
	}
	to(len(v.Text))
}

// clip returns at most n characters of s. If s is longer, the last one is an
// ellipsis.
func clip(s string, n int) string {
	if runes(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	end, _ := clusterAt(s, forward(s, n-1))
	return s[:end] + sliver
}

// Line returns a one-line report of r for a log or a terminal: tool, characters of the
// whole, characters that a model reads of it, the limit that decided, the archive id.
//
//	grep_search 214,332 → 7,981 characters (the tool's limit of 8,000) 📎 …a7k2
//
// It shows the end of the id, because ids begin with the time and so their
// beginnings are the same for weeks.
func Line(r tool.Result) string {
	read := 0
	if r.Shown.Cut() || r.Shown.Summarized {
		read = runes(Render(r, tool.En))
	}
	return LineOf(r, read)
}

// LineOf is Line for a result of which a model reads so many characters, notice included.
func LineOf(r tool.Result, read int) string {
	var b strings.Builder
	b.WriteString(r.Tool)
	if r.Err != nil {
		b.WriteString(" ✗ " + string(r.Err.Code))
	}
	v := r.Shown
	if r.Err == nil || v.TotalChars > 0 {
		b.WriteString(" " + thousands(v.TotalChars))
		switch {
		case r.Repeat:
			b.WriteString(" → 0 characters (identical, shown above)")
		case v.Summarized:
			b.WriteString(" → " + thousands(read) + " characters (summary)")
		case v.Cut():
			b.WriteString(" → " + thousands(read) + " characters")
			if v.By != tool.LayerNone {
				b.WriteString(" (" + Name(v.By, v.Limit, v.Unit, tool.En) + ")")
			}
		default:
			b.WriteString(" characters")
		}
	}
	if r.Ref != nil {
		b.WriteString(" 📎 " + sliver + r.Ref.UUID[max(0, len(r.Ref.UUID)-4):])
	}
	if r.Unkept {
		b.WriteString(" ✗ not kept")
	}
	if r.Incomplete {
		b.WriteString(" ✗ only the first " + tool.Bytes(tool.MaxWhole).String())
	}
	return b.String()
}
