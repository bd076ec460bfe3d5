package parse

import "slices"

// payloadWords stand inside markers beside the name and mean nothing.
var payloadWords = []string{"function", "json", "call", "assistant", "commentary", "python", "with", "arguments"}

// wordPart handles a word between two calls: usually the next call's name.
func (p *parser) wordPart() status {
	b, g := p.buf, p.g
	end, unsure := nameRun(b, p.pos, p.final)
	if unsure {
		return more
	}
	name := string(b[p.pos:end])
	j := end
	for j < len(b) && j-end < 4 && isNameEnd(b, j, end) {
		j++
	}
	k := skipBlank(b, j)
	if k == len(b) && !p.final {
		return more
	}
	var next byte
	if k < len(b) {
		next = b[k]
	}
	declared := p.t.find(name) != nil && !(p.t.any && name == "print")
	if next == '(' && k-j <= 1 && (declared || (g.depth > 0 || g.fresh || g.fence || name == "print") && k == end) {
		if name == "print" && !declared {
			p.pos = k
			return done
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
			return done
		case next == '=':
			p.pos = k + 1
			return done
		}
	}
	switch {
	case next == '=' && g.depth > 0 && k == end:
		p.pos = k + 1
		return done
	case next == ':' && k == end && p.t.speaks(name):
		p.setName(name, k+1)
		return done
	case next == '{' && p.t.speaks(name):
		p.setName(name, k)
		return done
	}
	return no
}

func (p *parser) setName(name string, to int) {
	p.g.name, p.g.nameAt, p.pos = name, p.pos, to
}

// typedWord handles a word behind a marker: the name of a tool, or one of the
// words that stand beside it.
func (p *parser) typedWord(name string, j, k int, next byte) status {
	g := p.g
	declared := p.t.find(name) != nil
	if (!declared || p.t.any) && !g.fresh {
		return no
	}
	if next == '<' {
		tok, st := p.t.tokenAt(p.buf, k, p.final)
		if st == more {
			return more
		}
		if st == no || tok.role != roleSep && tok.role != roleParam && !(tok.role == roleClose && declared) && !(tok.role == roleJunk && g.format == FormatHarmony) {
			return no
		}
	}
	switch {
	case next == '{' || next == '<' || next == '[' && k == j && g.format == FormatMistral || next == '`' && k > j:
		if slices.Contains(payloadWords, name) && !declared && next != '[' {
			p.pos = k
			return done
		}
		p.setName(name, k)
		return done
	case next == ':' || next == '=':
		if slices.Contains(payloadWords, name) {
			p.pos = k + 1
			return done
		}
		if next == ':' && declared {
			p.setName(name, k+1)
			return done
		}
	case slices.Contains(payloadWords, name) && g.format == FormatHarmony:
		p.pos = k
		return done
	}
	return no
}

// isNameEnd reports whether b[j] may stand between a name, which ends at end,
// and its arguments: its quotes, or the bracket of a quoted name.
func isNameEnd(b []byte, j, end int) bool {
	c := b[j]
	return isQuote(c) || c == '`' || c == '*' || c == ']' && j > end
}
