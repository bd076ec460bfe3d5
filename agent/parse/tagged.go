package parse

import (
	"bytes"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
)

// scanTagged finds the marker that ends tagged arguments. Without one they do
// not run: the last argument could have gone on. An opening marker inside a value
// is content if the value's own end comes next; else it ends the arguments.
func (it *item) scanTagged(in *input, name string) lex.Status {
	b := in.buf
	for {
		i := it.open + it.sc.Pos
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 && in.final && !in.truncated && it.inner > 0 {
			it.sc.Pos = it.inner
			return lex.Done
		}
		if n < 0 {
			it.sc.Pos = len(b) - it.open
			if in.final {
				return lex.Cut
			}
			return lex.More
		}
		i += n
		it.sc.Pos = i - it.open
		tok, st := in.token(i)
		switch {
		case st == lex.More:
			return lex.More
		case st == lex.No:
		case tok.Role == marker.RoleClose && (it.closer == "" || tok.Word == it.closer || !strings.HasPrefix(tok.Word, "/")) && !in.isKey(name, tok.Word):
			if tok.Word == "/function" || tok.Word == "/invoke" || tok.Word == "|/invoke" || tok.Word == it.closer {
				it.sc.Pos, it.closed = tok.End-it.open, true
			}
			if it.inner > 0 {
				it.sc.Pos, it.closed = it.inner, false
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

// scanString finds the end of a string in a list that is no call, or where trails says
// that it need not be read on.
func (it *item) scanString(in *input, trails func(int) bool) lex.Status {
	b := in.buf[it.open:]
	for it.sc.Pos = max(1, it.sc.Pos); it.sc.Pos < len(b); it.sc.Pos++ {
		if trails(it.open + it.sc.Pos) {
			return lex.Done
		}
		switch b[it.sc.Pos] {
		case '\n':
			return lex.Done
		case b[0]:
			if it.sc.Pos+1 == len(b) && !in.final {
				return lex.More
			}
			if it.sc.Pos+1 == len(b) || lex.IsEnd(b[it.sc.Pos+1]) || lex.IsSpace(b[it.sc.Pos+1]) {
				it.sc.Pos++
				return lex.Done
			}
		}
	}
	if in.final {
		return lex.Done
	}
	return lex.More
}

// scanLine finds the end of an input that is plain text.
func (it *item) scanLine(in *input) lex.Status {
	b := in.buf[it.open:]
	n := bytes.IndexByte(b[it.sc.Pos:], '\n')
	if n < 0 {
		it.sc.Pos = len(b)
		if !in.final {
			return lex.More
		}
		if in.truncated || len(b) == 0 {
			return lex.Cut
		}
		return lex.Done
	}
	it.sc.Pos += n
	return lex.Done
}
