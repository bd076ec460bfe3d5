package parse

import (
	"bytes"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// maxHeader bounds a channel's header, in bytes.
const maxHeader = 200

// header reads a channel's header, which ends with <|message|>: who is spoken
// to, and whether it is a thought.
func (p *parser) header(from int) (to string, thought bool, end int, st lex.Status) {
	b := p.buf[from:min(len(p.buf), from+maxHeader)]
	n := bytes.Index(b, []byte("<|message|>"))
	if n < 0 {
		return "", false, from, lex.Unless(p.final || len(b) == maxHeader)
	}
	head := strings.ToLower(string(b[:n]))
	if i := strings.Index(head, "to="); i >= 0 {
		to = string(b[i+3 : n])
		if j := strings.IndexAny(to, " <\n"); j >= 0 {
			to = to[:j]
		}
	}
	return to, strings.Contains(head, "analysis"), from + n + len("<|message|>"), lex.Done
}

// openHeader enters what a channel's header announces: a call, a thought, or
// text.
func (p *parser) openHeader(tok marker.Token, i int) lex.Status {
	to, thought, end, st := p.header(tok.End)
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
	to, _, end, st := p.header(tok.End)
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
	b := p.buf[i:min(len(p.buf), i+maxHeader)]
	final := p.final || len(b) == maxHeader
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
