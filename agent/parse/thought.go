package parse

import (
	"bytes"
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
			p.drafted = i
		}
		p.pos = i + 1
	}
	p.pos = len(b)
	return p.undecided(p.pos)
}
