package parse

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
)

// scanTagged finds the marker that ends tagged arguments. Without one they do
// not run: the last argument could have gone on. An opening marker inside a value
// is content if the value's own end comes next; else it ends the arguments.
func (p *parser) scanTagged(it *item) lex.Status {
	b := p.buf
	for {
		i := it.open + it.sc.Pos
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 && p.final && !p.truncated && it.inner > 0 {
			it.sc.Pos = it.inner
			return lex.Done
		}
		if n < 0 {
			it.sc.Pos = len(b) - it.open
			if p.final {
				return lex.Cut
			}
			return lex.More
		}
		i += n
		it.sc.Pos = i - it.open
		tok, st := marker.At(p.t, b, i, p.final)
		switch {
		case st == lex.More:
			return lex.More
		case st == lex.No:
		case tok.Role == marker.RoleClose && (it.closer == "" || tok.Word == it.closer || !strings.HasPrefix(tok.Word, "/")) && !p.isOwnKey(tok.Word):
			if tok.Word == "/function" || tok.Word == "/invoke" || tok.Word == "|/invoke" || tok.Word == it.closer {
				it.sc.Pos = tok.End - it.open
			}
			if it.inner > 0 {
				it.sc.Pos = it.inner
			}
			return lex.Done
		case tok.Role == marker.RoleParam:
			opens := !strings.Contains(tok.Word, "/")
			if opens && it.inner > 0 {
				it.sc.Pos = it.inner
				return lex.Done
			}
			it.value, it.inner = opens && (tok.Name != "" || strings.HasSuffix(tok.Word, "arg_value")), 0
		case tok.Role == marker.RoleOpen && it.closer == "" && tok.Format != marker.FormatTags, tok.Role == marker.RoleJunk && it.format == marker.FormatGLM:
			if !it.value {
				return lex.Done
			}
			if it.inner == 0 {
				it.inner = it.sc.Pos
			}
		}
		it.sc.Pos++
	}
}

// isOwnKey reports whether a closing word is that of a parameter of the tool
// that is being called.
func (p *parser) isOwnKey(word string) bool {
	info := p.t.Find(p.g.name)
	if info == nil {
		return false
	}
	_, own := info.Params.Prop(strings.TrimPrefix(word, "/"))
	return own
}

// scanString finds the end of a string in a list that is no call.
func (p *parser) scanString(it *item) lex.Status {
	b := p.buf[it.open:]
	for it.sc.Pos = max(1, it.sc.Pos); it.sc.Pos < len(b); it.sc.Pos++ {
		if p.trails(it.open + it.sc.Pos) {
			return lex.Done
		}
		switch b[it.sc.Pos] {
		case '\n':
			return lex.Done
		case b[0]:
			if it.sc.Pos+1 == len(b) && !p.final {
				return lex.More
			}
			if it.sc.Pos+1 == len(b) || lex.IsEnd(b[it.sc.Pos+1]) || lex.IsSpace(b[it.sc.Pos+1]) {
				it.sc.Pos++
				return lex.Done
			}
		}
	}
	if p.final {
		return lex.Done
	}
	return lex.More
}

// plainTag handles the tags that spell out the parts of a call after a
// marker: <name>…</name> and <arguments>…</arguments>.
func (p *parser) plainTag() lex.Status {
	b := p.buf[p.pos:min(len(p.buf), p.pos+lex.MaxName)]
	final := p.final || len(b) == lex.MaxName
	closing := bytes.IndexByte(b, '>')
	if closing < 0 {
		return lex.Unless(final)
	}
	word := strings.TrimPrefix(string(b[1:closing]), "/")
	if b[1] != '/' && !p.g.fresh {
		return lex.No
	}
	switch {
	case word == "invoke": // its name is in a tag of its own
		p.closed(p.pos + closing + 1)
		return lex.Done
	case slices.Contains(toolset.ArgsKeys, word):
		if b[1] != '/' && p.g.name != "" {
			k := lex.SkipBlank(p.buf, p.pos+closing+1)
			if k == len(p.buf) && !p.final {
				return lex.More
			}
			if k < len(p.buf) && p.buf[k] == '<' {
				return p.beginItem(itemTagged, p.g.nameAt, k)
			}
		}
		p.closed(p.pos + closing + 1)
		return lex.Done
	case b[1] != '/' && slices.Contains(toolset.NameKeys, word):
		end := bytes.IndexByte(b[closing:], '<')
		if end < 0 {
			return lex.Unless(final)
		}
		p.g.name, p.g.nameAt = strings.TrimSpace(string(b[closing+1:closing+end])), p.pos
		p.pos += closing + end
		return lex.Done
	case slices.Contains(toolset.NameKeys, word):
		p.closed(p.pos + closing + 1)
		return lex.Done
	}
	return lex.No
}
