package value

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str decodes the string literal sp and moves past it. A literal without a
// closing quote that ends an item loses the brackets that belong to the item.
func (v *Reader) str(sp Span, rawString bool) Node {
	lit := v.Text[sp.lo:sp.hi]
	v.i = sp.hi
	for _, tok := range stringTokens {
		if strings.HasPrefix(lit, tok[0]) {
			v.Repaired = true
			return Node{Kind: String, Value: strings.TrimSuffix(lit[len(tok[0]):], tok[1])}
		}
	}
	q := lit[:1]
	v.Repaired = v.Repaired || q != `"`
	body := lit[1:]
	switch {
	case len(lit) >= 6 && strings.HasPrefix(lit, q+q+q) && strings.HasSuffix(lit, q+q+q):
		body = lit[3 : len(lit)-3]
		v.Repaired = true
	case len(body) > 0 && strings.HasSuffix(body, q):
		body = body[:len(body)-1]
	default:
		v.Repaired = true
	}
	if rawString || strings.IndexByte(body, '\\') < 0 {
		return Node{Kind: String, Value: body}
	}
	return Node{Kind: String, Value: v.unescape(body)}
}

var simpleEscapes = map[byte]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '0': 0, '/': '/', '\\': '\\', '"': '"', '\'': '\'', '_': '_',
}

// unescape undoes the escapes of JSON and Python, and Markdown's of the
// underscore. Any other backslash is content: \d in an expression, C:\path.
func (v *Reader) unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			b = append(b, c)
			i++
			continue
		}
		e := s[i+1]
		i += 2
		if to, ok := simpleEscapes[e]; ok {
			v.Repaired = v.Repaired || e == '\'' || e == '_' || e == '0'
			b = append(b, to)
			continue
		}
		switch {
		case e == '\n':
		case e == 'u' && hexAt(s, i, 4) >= 0:
			r := rune(hexAt(s, i, 4))
			i += 4
			if utf16.IsSurrogate(r) && strings.HasPrefix(s[i:], `\u`) && hexAt(s, i+2, 4) >= 0 {
				if pair := utf16.DecodeRune(r, rune(hexAt(s, i+2, 4))); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			b = utf8.AppendRune(b, r)
		case e == 'x' && hexAt(s, i, 2) >= 0:
			b = utf8.AppendRune(b, rune(hexAt(s, i, 2)))
			i += 2
			v.Repaired = true
		default:
			b = append(b, '\\', e)
			v.Repaired = true
		}
	}
	return string(b)
}

func hexAt(s string, i, n int) int64 {
	if i+n > len(s) {
		return -1
	}
	x, err := strconv.ParseUint(s[i:i+n], 16, 32)
	if err != nil {
		return -1
	}
	return int64(x)
}
