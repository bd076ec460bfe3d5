package parse

import (
	"bytes"
	"slices"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// openCode enters a fence, or code inside a line.
func (p *parser) openCode(i int, atLine bool) lex.Status {
	b := p.buf
	n, open := lex.TickRun(b, i)
	if open && !p.final {
		return lex.More
	}
	if n >= 3 {
		return p.openFence(i, n, atLine)
	}
	if n == 1 && (atLine || i > 0 && p.mode == inText && lex.IsSpace(p.buf[i-1])) {
		if st := p.openBare(i, atLine); st != lex.No {
			return st
		}
	}
	return lex.No
}

// openFence enters a fence: a group if what is in it may be a call, else a
// quotation.
func (p *parser) openFence(i, n int, atLine bool) lex.Status {
	body, info, st := lex.FenceInfo(p.buf, i+n, p.final)
	if st == lex.More {
		return lex.More
	}
	if st == lex.Done && atLine || st == lex.Done && slices.Contains(lex.CallFences, info) {
		switch p.payloadAt(body, info) {
		case lex.More:
			return lex.More
		case lex.Done:
			if slices.Contains(lex.CallFences, info) {
				if p.mayCall(i) && p.beginMarked(i, i, marker.FormatFence) {
					return lex.Done
				}
			} else if p.beginGroup(i, i, marker.FormatFence) {
				return lex.Done
			}
		}
	}
	if !atLine || p.mentions {
		return lex.No
	}
	p.mode, p.ticks, p.pos, p.midLine = inFence, n, i+n, true
	p.start = false
	return lex.Done
}

// payloadAt reports whether the body of a fence may be a call.
func (p *parser) payloadAt(i int, info string) lex.Status {
	b := p.buf
	k := i
	for k < len(b) && k-i < 4*lex.MaxIndent && lex.IsSpace(b[k]) {
		k++
	}
	if k == len(b) {
		if p.final {
			return lex.No
		}
		return lex.More
	}
	if b[k] == '[' {
		if tok, st := marker.At(p.t, b, k, p.final); st == lex.More || st == lex.Done && tok.Role == marker.RoleOpen {
			return st
		}
	}
	if b[k] == '<' {
		if end, st := marker.Wrapper(b, k, p.final); st == lex.Done {
			st, _ = p.probe(true).At(lex.SkipBlank(b, end))
			return st
		} else if st == lex.More {
			return st
		}
		tok, st := marker.At(p.t, b, k, p.final)
		if st == lex.Done && tok.Role != marker.RoleOpen && tok.Role != marker.RoleInvoke {
			return lex.No
		}
		return st
	}
	if slices.Contains(lex.CallFences, info) && b[k] == '{' {
		return lex.Done
	}
	if st, _ := p.probe(true).At(k); st != lex.No {
		return st
	}
	return p.probe(true).Script(k)
}

// tickPart handles backticks: code marks around a call, or a fence.
func (p *parser) tickPart() lex.Status {
	b, g := p.buf, p.g
	n, open := lex.TickRun(b, p.pos)
	if open && !p.final {
		return lex.More
	}
	if n < 3 {
		p.closed(p.pos + n)
		return lex.Done
	}
	if g.fence {
		g.fence = false
		g.eol = true
		p.closed(p.pos + n)
		if g.typed {
			return lex.Done
		}
		p.confirmLine()
		return lex.Done
	}
	body, info, st := lex.FenceInfo(b, p.pos+n, p.final)
	if st == lex.More {
		return lex.More
	}
	if st == lex.Done && g.ended && !g.fresh { // data
		return lex.No
	}
	if st == lex.No {
		if g.calls > 0 { // a fence's end whose beginning is missing
			p.closed(p.pos + n)
			return lex.Done
		}
		return lex.No
	}
	if g.calls > 0 && g.name == "" {
		switch st := p.payloadAt(body, info); st {
		case lex.More:
			return st
		case lex.No:
			p.closed(p.pos + n)
			return lex.Done
		}
	}
	p.block++
	g.fence, g.fenced, g.eol = true, true, true
	p.pos = body
	return lex.Done
}

// codeStep skips code in a line: it is a quotation.
func (p *parser) codeStep() bool {
	b := p.buf
	for p.pos < len(b) {
		i := bytes.IndexAny(b[p.pos:], "`\n")
		if i < 0 {
			p.pos = len(b)
			break
		}
		i += p.pos
		if b[i] == '\n' {
			p.mode, p.pos = inText, i
			return true
		}
		n, open := lex.TickRun(b, i)
		if open && !p.final {
			p.pos = i
			return p.undecided(i)
		}
		p.pos = i + n
		if n == p.ticks {
			p.mode = inText
			return true
		}
	}
	return p.undecided(len(b))
}

// fenceStep skips the lines of a fence that holds no call, up to its end.
func (p *parser) fenceStep() bool {
	b := p.buf
	p.doc = true
	for p.pos < len(b) {
		if p.midLine {
			i := bytes.IndexByte(b[p.pos:], '\n')
			if i < 0 {
				p.pos = len(b)
				break
			}
			p.pos += i + 1
			p.midLine = false
			continue
		}
		i := p.pos
		for i < len(b) && i-p.pos < lex.MaxIndent && (b[i] == ' ' || b[i] == '\t') {
			i++
		}
		n, open := lex.TickRun(b, i)
		if open && i-p.pos < lex.MaxIndent && !p.final {
			return p.undecided(p.pos)
		}
		if n >= p.ticks {
			p.mode, p.pos = inText, i+n
			return true
		}
		p.pos = i
		p.midLine = true
	}
	return p.undecided(len(b))
}
