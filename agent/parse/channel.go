package parse

import (
	"bytes"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// openHeader enters what a channel's header announces: a call, a thought, or
// text.
func (p *parser) openHeader(tok marker.Token, i int) lex.Status {
	to, thought, end, st := marker.Header(p.buf, tok.End, p.final)
	switch {
	case st == lex.More:
		return lex.More
	case st == lex.No:
		return lex.No
	case to != "":
		if !p.mayCall(i) || !p.beginGroup(i, end, marker.FormatHarmony) {
			return lex.No
		}
		p.g.name = to
	case thought && !p.mentions:
		p.enterThought(i, end, true)
	default:
		p.flush(i)
		p.drop(end)
		p.mode, p.pos = inLine, end
	}
	return lex.Done
}

// headerPart handles a further channel between two calls.
func (p *parser) headerPart(tok marker.Token) lex.Status {
	to, _, end, st := marker.Header(p.buf, tok.End, p.final)
	if st == lex.Done && to == "" {
		return lex.No
	}
	if st == lex.Done {
		p.g.name, p.g.nameAt = to, p.pos
		p.closed(end)
	}
	return st
}

// openRecipient enters a channel whose special tokens are lost:
// commentary to=functions.name json{…}.
func (p *parser) openRecipient(i int) lex.Status {
	b := p.buf[i:min(len(p.buf), i+marker.MaxHeader)]
	final := p.final || len(b) == marker.MaxHeader
	at := bytes.Index(b, []byte("to="))
	if at < 0 {
		return lex.Unless(final)
	}
	end, unsure := lex.NameRun(b, at+3, final)
	if unsure {
		return lex.More
	}
	name := string(b[at+3 : end])
	if p.t.Find(name) == nil {
		return lex.No
	}
	open := bytes.IndexByte(b[end:], '{')
	if open < 0 {
		return lex.Unless(final)
	}
	if !p.mayCall(i) || !p.beginGroup(i, i+end+open, marker.FormatHarmony) {
		return lex.No
	}
	p.g.name = name
	return lex.Done
}
