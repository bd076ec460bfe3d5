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
func (gs *groups) wordPart() lex.Status {
	b, g := gs.in.buf, gs.g
	end, unsure := lex.NameRun(b, gs.in.pos, gs.in.final)
	if unsure {
		return lex.More
	}
	name := string(b[gs.in.pos:end])
	j := end
	for j < len(b) && j-end < 4 && lookahead.IsNameEnd(b, j, end) {
		j++
	}
	k := lex.SkipBlank(b, j)
	if k == len(b) && !gs.in.final {
		return lex.More
	}
	var next byte
	if k < len(b) {
		next = b[k]
	}
	declared := gs.in.tools.Find(name) != nil && !(gs.in.tools.AnyName && name == "print")
	if next == '(' && k-j <= 1 && (declared || (g.depth > 0 || g.fresh || g.fence || name == "print") && k == end) {
		if name == "print" && !declared {
			gs.in.pos = k
			return lex.Done
		}
		return gs.beginCall(end, k)
	}
	if g.typed {
		return gs.typedWord(name, j, k, next)
	}
	if g.fence {
		switch {
		case name == "import" || name == "from":
			g.comment = true
			return gs.skipLine()
		case name == "return" || name == "await":
			gs.in.pos = end
			return lex.Done
		case next == '=':
			gs.in.pos = k + 1
			return lex.Done
		}
	}
	switch {
	case next == '=' && g.depth > 0 && k == end:
		gs.in.pos = k + 1
		return lex.Done
	case next == ':' && k == end && gs.in.tools.Distinctive(name):
		gs.setName(name, k+1)
		return lex.Done
	case next == '{' && gs.in.tools.Distinctive(name):
		gs.setName(name, k)
		return lex.Done
	}
	return lex.No
}

func (gs *groups) setName(name string, to int) {
	gs.g.name, gs.g.nameAt, gs.in.pos = name, gs.in.pos, to
}

// typedWord handles a word after a marker: the name of a tool, or one of the
// words that are beside it.
func (gs *groups) typedWord(name string, j, k int, next byte) lex.Status {
	g := gs.g
	declared := gs.in.tools.Find(name) != nil
	if (!declared || gs.in.tools.AnyName) && !g.fresh {
		return lex.No
	}
	if next == '<' {
		tok, st := gs.in.token(k)
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
			gs.in.pos = k
			return lex.Done
		}
		gs.setName(name, k)
		return lex.Done
	case next == ':' || next == '=':
		if slices.Contains(payloadWords, name) {
			gs.in.pos = k + 1
			return lex.Done
		}
		if next == ':' && declared {
			gs.setName(name, k+1)
			return lex.Done
		}
	case slices.Contains(payloadWords, name) && g.format == marker.FormatHarmony:
		gs.in.pos = k
		return lex.Done
	}
	return lex.No
}
