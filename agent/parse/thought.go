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

// reportDraft handles calls at the end of a thought that was never closed. Special
// tokens that the reply ends with outrank the thought: the model has left it. Other
// calls do not run, and the model must hear of them.
func (p *parser) reportDraft() {
	draft := newParser(p.t, false)
	events := Join(append(draft.Feed(string(p.buf[p.drafted:])), draft.Close(false)...))
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

// isElse reports whether an event is neither a call nor blank text.
func isElse(e Event) bool {
	t, text := e.(Text)
	_, call := e.(Call)
	return !call && !(text && strings.TrimSpace(t.Text) == "")
}
