package parse

import (
	"bytes"
	"strings"
)

// thoughtStep passes a thought on, up to the marker that ends it.
func (p *parser) thoughtStep() bool {
	b := p.buf
	for p.pos < len(b) {
		i := bytes.IndexAny(b[p.pos:], "<[")
		if i < 0 {
			break
		}
		i += p.pos
		tok, st := p.t.tokenAt(b, i, p.final)
		switch {
		case st == more:
			p.pos = i
			return p.undecided(i)
		case st == no:
		case tok.role == roleThinkEnd:
			p.flush(i)
			p.leaveThought(tok.end)
			return true
		case p.harmony && strings.HasPrefix(tok.word, "|"):
			p.flush(i)
			p.leaveThought(i)
			if tok.role == roleJunk || tok.role == roleClose {
				p.leaveThought(tok.end)
			}
			return true
		case tok.role == roleOpen || tok.role == roleInvoke:
			p.drafted = i
		}
		p.pos = i + 1
	}
	p.pos = len(b)
	return p.undecided(p.pos)
}

// maxHeader bounds a channel's header, in bytes.
const maxHeader = 200

// header reads a channel's header, which ends with <|message|>: who is spoken
// to, and whether it is a thought.
func (p *parser) header(from int) (to string, thought bool, end int, st status) {
	b := p.buf[from:min(len(p.buf), from+maxHeader)]
	n := bytes.Index(b, []byte("<|message|>"))
	if n < 0 {
		return "", false, from, unless(p.final || len(b) == maxHeader)
	}
	head := strings.ToLower(string(b[:n]))
	if i := strings.Index(head, "to="); i >= 0 {
		to = string(b[i+3 : n])
		if j := strings.IndexAny(to, " <\n"); j >= 0 {
			to = to[:j]
		}
	}
	return to, strings.Contains(head, "analysis"), from + n + len("<|message|>"), done
}

// openHeader enters what a channel's header announces: a call, a thought, or
// text.
func (p *parser) openHeader(tok token, i int) status {
	to, thought, end, st := p.header(tok.end)
	switch {
	case st == more:
		return more
	case st == no:
		return no
	case to != "":
		if !p.mayCall() || !p.beginGroup(i, end, FormatHarmony) {
			return no
		}
		p.g.name = to
	case thought:
		p.enterThought(i, end, true)
	default:
		p.flush(i)
		p.drop(end)
		p.mode, p.pos = inLine, end
	}
	return done
}

// headerPart handles a further channel between two calls.
func (p *parser) headerPart(tok token) status {
	to, _, end, st := p.header(tok.end)
	if st == done && to == "" {
		return no
	}
	if st == done {
		p.g.name, p.g.nameAt = to, p.pos
		p.closed(end)
	}
	return st
}

// openRecipient enters a channel whose special tokens are lost:
// commentary to=functions.name json{…}.
func (p *parser) openRecipient(i int) status {
	b := p.buf[i:min(len(p.buf), i+maxHeader)]
	final := p.final || len(b) == maxHeader
	at := bytes.Index(b, []byte("to="))
	if at < 0 {
		return unless(final)
	}
	end, unsure := nameRun(b, at+3, final)
	if unsure {
		return more
	}
	name := string(b[at+3 : end])
	if p.t.find(name) == nil {
		return no
	}
	open := bytes.IndexByte(b[end:], '{')
	if open < 0 {
		return unless(final)
	}
	if !p.mayCall() || !p.beginGroup(i, i+end+open, FormatHarmony) {
		return no
	}
	p.g.name = name
	return done
}
