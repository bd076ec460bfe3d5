package textcalls

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/parse"
)

// A piece is a part of an answer: one of its fields is set.
type piece struct {
	text, thought string
	call          *parse.Call
}

// A reader separates one reply into pieces.
type reader struct {
	set     *parse.Set
	reading parse.Reading
	oneCall bool

	parser  parse.Parser
	closed  bool
	own     strings.Builder   // the text as the model wrote it
	at      int               // in own: the end of what the events so far are
	loose   string            // the last text, if it was not found behind at
	thought int               // bytes of thought in the text
	calls   int               // that were returned
	behind  strings.Builder   // the text behind the last of them
	held    []held            // from the first bad or fenced call on
	from    int               // in own: where that begins
	bad     []parse.Malformed // once it is closed: the bad calls that are worth a correction
}

// held is a piece that waits. A fenced call waits for the end of the reply, since words
// behind it make it an example, and a bad one, which may be corrected then.
type held struct {
	piece  // of a fenced call: the call
	bad    *parse.Malformed
	fenced bool
}

func (h held) isCall() bool { return h.call != nil || h.bad != nil }

// feed takes text and returns what has become certain.
func (r *reader) feed(text string) []piece {
	if text == "" || r.closed {
		return nil
	}
	if r.parser == nil {
		r.parser = r.set.Read(r.reading)
	}
	// One character after the other: what is held back, and where, then does not depend on how
	// the stream is cut, and hardly any event has text from both sides of a tag.
	var out []piece
	for from := 0; from < len(text); {
		_, size := utf8.DecodeRuneInString(text[from:])
		c := text[from : from+size]
		r.own.WriteString(c)
		out = append(out, r.take(r.parser.Feed(c))...)
		from += size
	}
	return out
}

// close takes the end of the reply. truncated says that it was cut. Bad calls that are worth
// a correction are in bad then, and held back.
func (r *reader) close(truncated bool) []piece {
	if r.parser == nil || r.closed {
		return nil
	}
	out := r.take(r.parser.Close(truncated))
	r.closed = true
	if r.reading.StartInThought && !truncated && r.thought > 0 && r.thought == r.own.Len() {
		out = append(out, piece{text: r.own.String()}) // the thought never ended: the server had taken it out
	}
	example, runs := r.isExample(), !truncated && r.runs()
	for _, h := range r.held {
		if h.bad != nil && h.bad.Reason != parse.ReasonInText && !(h.fenced && example) {
			r.bad = append(r.bad, *h.bad)
		}
	}
	if truncated || len(r.bad) == 0 || runs {
		out = append(out, r.resolve(runs)...)
	}
	if text := r.behind.String(); strings.TrimSpace(text) != "" {
		if parse.SaysNext(strings.TrimSpace(text)) {
			out = append(out, piece{text: text})
		} else {
			out = append(out, piece{thought: text})
		}
	}
	r.behind.Reset()
	return out
}

// over reports whether the calls are made, and no further one can follow.
func (r *reader) over() bool {
	return r.calls > 0 && len(r.held) == 0 && !r.closed && r.parser.Over()
}

// isExample reports whether words follow the last call that is held.
func (r *reader) isExample() bool {
	for _, h := range slices.Backward(r.held) {
		if h.isCall() {
			return false
		}
		if strings.ContainsFunc(h.text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			return true
		}
	}
	return false
}

// runs reports whether calls that are held are made.
func (r *reader) runs() bool {
	return !r.isExample() && slices.ContainsFunc(r.held, func(h held) bool { return h.call != nil })
}

// release returns what was held back as text.
func (r *reader) release() []piece { return r.resolve(false) }

// resolve returns what was held back: piece by piece with fenced calls as calls if runs is
// set, else the text as the model wrote it.
func (r *reader) resolve(runs bool) []piece {
	waiting := r.held
	r.held, r.bad = nil, nil
	if len(waiting) == 0 {
		return nil
	}
	if !runs {
		if waiting[0].bad != nil && waiting[0].bad.Reason == parse.ReasonInThought { // it was passed on with the thought
			return nil
		}
		end := r.own.Len()
		if !r.closed { // a call follows
			end = r.at + closing(r.own.String()[r.at:], true)
		}
		text := r.own.String()[r.from:end]
		if r.calls == 0 {
			return []piece{{text: text}}
		}
		r.behind.WriteString(text)
		return nil
	}
	var out []piece
	for _, h := range waiting {
		switch {
		case h.call != nil:
			out = append(out, r.makeCall(*h.call)...)
		case h.bad != nil:
			out = append(append(out, r.between()...), piece{text: h.bad.Raw})
		case r.calls > 0 && h.text != "":
			r.behind.WriteString(h.text)
		default:
			out = append(out, h.piece)
		}
	}
	return out
}

func (r *reader) take(events []parse.Event) []piece {
	var out []piece
	for _, e := range events {
		switch e := e.(type) {
		case parse.Text:
			r.pass(e.Text)
			switch {
			case len(r.held) > 0:
				r.held = append(r.held, held{piece: piece{text: e.Text}})
			case r.calls > 0:
				r.behind.WriteString(e.Text)
			default:
				out = append(out, piece{text: e.Text})
			}
		case parse.Reasoning:
			r.pass(e.Text)
			r.thought += len(e.Text)
			if p := (piece{thought: e.Text}); len(r.held) > 0 {
				r.held = append(r.held, held{piece: p})
			} else {
				out = append(out, p)
			}
		case parse.Call:
			r.settle(e.Raw)
			if r.isFenced(e.Raw, e.Format) {
				r.hold(held{piece: piece{call: &e}, fenced: true}, e.Raw)
				continue
			}
			out = append(out, r.resolve(r.runs())...)
			r.pass(e.Raw)
			out = append(out, r.makeCall(e)...)
		case parse.Malformed:
			out = append(out, r.takeBad(e)...)
		}
	}
	return out
}

// makeCall returns the text between two calls, and the second.
func (r *reader) makeCall(c parse.Call) []piece {
	if r.oneCall && r.calls > 0 {
		return nil
	}
	r.calls++
	return append(r.between(), piece{call: &c})
}

// takeBad takes a bad call. Behind a call it is text.
func (r *reader) takeBad(m parse.Malformed) []piece {
	r.settle(m.Raw)
	if r.calls > 0 && len(r.held) == 0 {
		if !strings.Contains(r.own.String()[r.at:], m.Raw) { // it was passed on, with a thought or as text
			return nil
		}
		r.pass(m.Raw)
		return append(r.between(), piece{text: m.Raw})
	}
	r.hold(held{bad: &m, fenced: r.isFenced(m.Raw, m.Format)}, m.Raw)
	return nil
}

// hold holds a call back whose text is raw.
func (r *reader) hold(h held, raw string) {
	if own := r.own.String(); len(r.held) == 0 {
		if r.from = r.at; r.calls > 0 {
			r.from += closing(own[r.at:], false)
		}
		i := max(0, strings.Index(own[r.from:], raw))
		if n := strings.LastIndex(own[r.from:r.from+i], endOfThought); n >= 0 {
			r.from += n + len(endOfThought)
		}
	}
	r.pass(raw)
	r.held = append(r.held, h)
}

// isFenced reports whether a call whose text is raw is in a fence that may hold anything.
func (r *reader) isFenced(raw string, f parse.Format) bool {
	switch f {
	case parse.FormatFence:
		return false
	case parse.FormatFenceJSON, parse.FormatFenceCode:
		return true
	}
	n := len(r.held)
	inside := n > 0 && r.held[n-1].fenced // the fence of the call before it
	before, _, _ := strings.Cut(r.own.String()[r.at:], raw)
	return inside != ((strings.Count(before, "```")+strings.Count(before, "~~~"))%2 == 1)
}

// between returns the text between two calls.
func (r *reader) between() []piece {
	text := r.behind.String()
	r.behind.Reset()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []piece{{text: text}}
}

// pass moves on behind text. Where the model wrote something in its midst that is no text,
// such as a tag, settle does it.
func (r *reader) pass(text string) {
	r.loose = ""
	if i := strings.Index(r.own.String()[r.at:], text); i >= 0 {
		r.at += i + len(text)
	} else {
		r.loose = text
	}
}

// maxLoose is how much of the end of a text is looked for, in bytes.
const maxLoose = 64

// settle moves on behind the text that pass did not find. It is in front of raw, unless it
// holds it: a call in a sentence is told of behind the text.
func (r *reader) settle(raw string) {
	before := r.own.String()[r.at:]
	if !strings.Contains(r.loose, raw) {
		before, _, _ = strings.Cut(before, raw)
	}
	for n := min(len(r.loose), maxLoose); n > 0; n-- {
		if i := strings.LastIndex(before, r.loose[len(r.loose)-n:]); i >= 0 {
			r.at += i + n
			break
		}
	}
	r.loose = ""
}

const endOfThought = "</think>"

// closing returns the length of the closing marks at the beginning of s, fences among them
// if it is told so.
func closing(s string, fences bool) int {
	n := 0
	for {
		rest := strings.TrimLeft(s[n:], " \t\r\n")
		i := strings.IndexAny(rest, ">]\n")
		switch {
		case strings.HasPrefix(rest, "```") && fences:
			i = 2
		case i < 0:
			return n
		case !strings.HasPrefix(rest, "</") && !strings.HasPrefix(rest, "[/") && !strings.HasPrefix(rest, "<|") && !strings.HasPrefix(rest, "<｜"):
			return n
		}
		n = len(s) - len(rest) + i + 1
	}
}
