package parse

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
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
		tok, st := marker.At(p.t, b, i, p.final)
		switch {
		case st == lex.More:
			p.pos = i
			return p.undecided(i)
		case st == lex.No:
		case tok.Role == marker.RoleThinkEnd:
			p.flush(i)
			p.leaveThought(tok.End)
			return true
		case p.harmony && strings.HasPrefix(tok.Word, "|"):
			p.flush(i)
			p.leaveThought(i)
			if tok.Role == marker.RoleJunk || tok.Role == marker.RoleClose {
				p.leaveThought(tok.End)
			}
			return true
		case tok.Role == marker.RoleOpen || tok.Role == marker.RoleInvoke:
			if p.drafted < 0 || !p.special || !tok.Inner() {
				p.drafted, p.special = i, tok.Special()
			}
		}
		p.pos = i + 1
	}
	p.pos = len(b)
	return p.undecided(p.pos)
}

// keepThought returns how much of the text before cut may be forgotten inside a thought:
// not the calls at its end, and nothing if it may be the answer.
func (p *parser) keepThought(cut int) int {
	switch {
	case p.isAnswer(), p.opened >= 0 && len(p.buf)-p.opened < lex.MaxIndent:
		return min(cut, p.opened)
	default:
		p.opened = -1
	}
	if p.drafted >= 0 {
		return min(cut, p.drafted)
	}
	return cut
}

// isAnswer reports whether the thought begins with an empty line. That is how templates
// write a thought that is empty: if it never closes, only its closing tag is missing.
func (p *parser) isAnswer() bool {
	if p.opened < 0 {
		return false
	}
	b := p.buf[p.opened:]
	return bytes.Count(b[:lex.SkipBlank(b, 0)], []byte("\n")) > 1
}

// endThought handles a thought that was never closed. Special tokens that the reply ends
// with outrank it: the model has left it. An empty thought that was not closed is followed
// by the answer. Other calls do not run, and the model must hear of them.
func (p *parser) endThought() {
	if p.isAnswer() {
		for _, e := range p.reread(p.opened) {
			if _, text := e.(Text); !text {
				p.emit(e)
			}
		}
		return
	}
	if p.drafted < 0 {
		return
	}
	events := p.reread(p.drafted)
	runs := p.special && marker.EndsWithClose(p.t, p.buf[p.drafted:]) && !slices.ContainsFunc(events, isElse)
	for _, e := range events {
		c, ok := e.(Call)
		switch {
		case ok && runs:
			p.emit(c)
		case ok:
			p.emit(Malformed{Reason: ReasonInThought, Name: c.Name, Format: c.Format, Raw: c.Raw})
		}
	}
}

// reread reads the text from offset i on as a reply of its own.
func (p *parser) reread(i int) []Event {
	r := newParser(p.t, false)
	return Join(append(r.Feed(string(p.buf[i:])), r.Close(false)...))
}

// isElse reports whether an event is neither a call nor blank text.
func isElse(e Event) bool {
	t, text := e.(Text)
	_, call := e.(Call)
	return !call && !(text && strings.TrimSpace(t.Text) == "")
}
