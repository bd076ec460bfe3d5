package parse

import (
	"slices"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/lookahead"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// payloadWords are inside markers beside the name and mean nothing.
var payloadWords = []string{"function", "json", "call", "assistant", "commentary", "python", "with", "arguments"}

// wordPart handles a word between two calls: usually the next call's name.
func (p *parser) wordPart() lex.Status {
	b, g := p.buf, p.g
	end, unsure := lex.NameRun(b, p.pos, p.final)
	if unsure {
		return lex.More
	}
	name := string(b[p.pos:end])
	j := end
	for j < len(b) && j-end < 4 && lookahead.IsNameEnd(b, j, end) {
		j++
	}
	k := lex.SkipBlank(b, j)
	if k == len(b) && !p.final {
		return lex.More
	}
	var next byte
	if k < len(b) {
		next = b[k]
	}
	declared := p.t.Find(name) != nil && !(p.t.AnyName && name == "print")
	if next == '(' && k-j <= 1 && (declared || (g.depth > 0 || g.fresh || g.fence || name == "print") && k == end) {
		if name == "print" && !declared {
			p.pos = k
			return lex.Done
		}
		return p.beginCall(end, k)
	}
	if g.typed {
		return p.typedWord(name, j, k, next)
	}
	if g.fence {
		switch {
		case name == "import" || name == "from":
			g.comment = true
			return p.skipLine()
		case name == "return" || name == "await":
			p.pos = end
			return lex.Done
		case next == '=':
			p.pos = k + 1
			return lex.Done
		}
	}
	switch {
	case next == '=' && g.depth > 0 && k == end:
		p.pos = k + 1
		return lex.Done
	case next == ':' && k == end && p.t.Distinctive(name):
		p.setName(name, k+1)
		return lex.Done
	case next == '{' && p.t.Distinctive(name):
		p.setName(name, k)
		return lex.Done
	}
	return lex.No
}

func (p *parser) setName(name string, to int) {
	p.g.name, p.g.nameAt, p.pos = name, p.pos, to
}

// typedWord handles a word after a marker: the name of a tool, or one of the
// words that are beside it.
func (p *parser) typedWord(name string, j, k int, next byte) lex.Status {
	g := p.g
	declared := p.t.Find(name) != nil
	if (!declared || p.t.AnyName) && !g.fresh {
		return lex.No
	}
	if next == '<' {
		tok, st := marker.At(p.t, p.buf, k, p.final)
		if st == lex.More {
			return lex.More
		}
		if st == lex.No || tok.Role != marker.RoleSep && tok.Role != marker.RoleParam && !(tok.Role == marker.RoleClose && declared) && !(tok.Role == marker.RoleJunk && g.format == marker.FormatHarmony) {
			return lex.No
		}
	}
	switch {
	case next == '{' || next == '<' || next == '[' && k == j && g.format == marker.FormatMistral || next == '`' && k > j:
		if slices.Contains(payloadWords, name) && !declared && next != '[' {
			p.pos = k
			return lex.Done
		}
		p.setName(name, k)
		return lex.Done
	case next == ':' || next == '=':
		if slices.Contains(payloadWords, name) {
			p.pos = k + 1
			return lex.Done
		}
		if next == ':' && declared {
			p.setName(name, k+1)
			return lex.Done
		}
	case slices.Contains(payloadWords, name) && g.format == marker.FormatHarmony:
		p.pos = k
		return lex.Done
	}
	return lex.No
}
