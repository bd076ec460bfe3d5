package parse

import (
	"bytes"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// openHeader enters what a channel's header announces: a call, a thought, or
// text.
func (l *lines) openHeader(tok marker.Token, i int) lex.Status {
	to, thought, end, st := marker.Header(l.in.buf, tok.End, l.in.final)
	switch {
	case st == lex.More:
		return lex.More
	case st == lex.No:
		return lex.No
	case to != "":
		if !l.around.mayCall(i) || !l.begin(i, end, marker.FormatHarmony) {
			return lex.No
		}
		l.calls.nameCall(to)
	case thought && !l.in.mentions:
		l.thought.enter(i, end, true)
	default:
		l.around.flush(i)
		l.out.drop(end)
		l.in.goOn(inLine, end)
	}
	return lex.Done
}

// openRecipient enters a channel whose special tokens are lost:
// commentary to=functions.name json{…}.
func (l *lines) openRecipient(i int) lex.Status {
	b := l.in.buf[i:min(len(l.in.buf), i+marker.MaxHeader)]
	final := l.in.final || len(b) == marker.MaxHeader
	at := bytes.Index(b, []byte("to="))
	if at < 0 {
		return lex.Unless(final)
	}
	end, unsure := lex.NameRun(b, at+3, final)
	if unsure {
		return lex.More
	}
	name := string(b[at+3 : end])
	if l.in.tools.Find(name) == nil {
		return lex.No
	}
	open := bytes.IndexByte(b[end:], '{')
	if open < 0 {
		return lex.Unless(final)
	}
	if !l.around.mayCall(i) || !l.begin(i, i+end+open, marker.FormatHarmony) {
		return lex.No
	}
	l.calls.nameCall(name)
	return lex.Done
}
