package limit

import (
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// Render puts a result into the words that a model reads, in language l: its
// error, if it failed; that it is identical to an earlier one, if it is; the shown text, neutralised, with the notice at the
// first gap and a short marker at each further one; the tool's claim of more.
//
// It stays inside the limit under which Fit made the view; under which Apply
// made it, too, where the result has no error, claim or load.
func Render(r tool.Result, l tool.Locale) string {
	w := words(l)
	if r.Repeat && r.Ref != nil {
		return w.repeat(r)
	}
	failure, claim, room := w.around(r)
	if failure == "" && claim == "" && !r.Shown.Cut() { // as most are
		return Neutralise(r.Shown.Text)
	}
	var p page
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

// around returns what Render writes in front of and behind the text, and the
// room that this leaves for the notice, its separators included.
func (w words) around(r tool.Result) (failure, claim string, room int) {
	failure, claim, room = w.head(r), w.claim(r), r.Shown.Room
	if room <= 0 {
		return failure, claim, tool.NoticeChars
	}
	if added(failure, claim)+1 > room {
		claim = ""
	}
	failure = clip(failure, room-2)
	return failure, claim, room - added(failure, claim)
}

// added counts the characters that lines take, with a newline for each.
func added(lines ...string) (chars int) {
	for _, s := range lines {
		if s != "" {
			chars += runes(s) + 1
		}
	}
	return chars
}

// reserveFor says what Render adds to r, in whichever language it is longer.
func reserveFor(r tool.Result) reserve {
	res := reserve{notice: tool.NoticeChars}
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		w := words(l)
		failure, claim := w.head(r), w.claim(r)
		res.chars = max(res.chars, added(failure, claim))
		if r.Load != nil {
			res.notice = max(res.notice, runes(w.load(r, r.Load.Chars, r.Load.Chars))+2)
		}
	}
	if r.Err != nil {
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

// A page is what is being rendered. Lines of our own stand on lines of their own.
type page struct {
	b       strings.Builder
	newline bool // a line of our own was written last
	any     bool
	ended   bool // the last byte is a newline
}

// text writes a piece of the tool's text.
func (p *page) text(s string) {
	if s == "" {
		return
	}
	if p.newline {
		p.b.WriteByte('\n')
	}
	p.b.WriteString(Neutralise(s))
	p.any, p.newline, p.ended = true, false, s[len(s)-1] == '\n'
}

// own writes a line of ours, if it is not empty.
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

// note writes a notice or a marker. The smallest has no line of its own.
func (p *page) note(s string) {
	if s != sliver {
		p.own(s)
		return
	}
	p.b.WriteString(s)
	p.any, p.newline, p.ended = true, false, false
}

// pieces writes the shown text with the notice and the markers at its gaps.
func (p *page) pieces(r tool.Result, w words, room int) {
	pos := 0
	for i, g := range r.Shown.Gaps {
		p.text(r.Shown.Text[pos:g.At])
		pos = g.At
		note := w.marker(g)
		if i == 0 {
			note = w.notice(r, room)
		}
		p.note(note)
	}
	p.text(r.Shown.Text[pos:])
}

// clip returns the first n characters of s, the last of them an ellipsis if
// there were more.
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

// Line is the one-line report of r for a log or a terminal: tool, characters
// of the whole, characters shown, the limit that decided, the archive.
//
//	grep_search 214,332 → 7,760 (tool limit) 📎 …a7k2
//
// Of the id the end is shown: ids begin with the time, so that their beginnings
// are alike for weeks.
func Line(r tool.Result) string {
	var b strings.Builder
	b.WriteString(r.Tool)
	if r.Err != nil {
		b.WriteString(" ✗ " + string(r.Err.Code))
	}
	v := r.Shown
	if r.Err == nil || v.TotalChars > 0 {
		b.WriteString(" " + thousands(v.TotalChars))
	}
	switch {
	case r.Repeat:
		b.WriteString(" → 0 (identical, stands above)")
	case v.Summarized:
		b.WriteString(" → " + thousands(runes(v.Text)) + " (summary)")
	case v.Cut():
		b.WriteString(" → " + thousands(runes(v.Text)))
		if v.By != tool.LayerNone {
			b.WriteString(" (" + string(v.By) + " limit)")
		}
	}
	if r.Ref != nil {
		b.WriteString(" 📎 " + sliver + r.Ref.UUID[max(0, len(r.Ref.UUID)-4):])
	}
	if r.Unkept {
		b.WriteString(" ✗ not kept")
	}
	return b.String()
}
