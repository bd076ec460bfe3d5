package jsonscan

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxSimple bounds the nesting of what Simple reads.
const maxSimple = 16

// Simple reads an object as encoding/json does with UseNumber, in a fraction of
// the time, if nothing in it takes more than a look: no escapes, no exponents, no
// long numbers, no name twice, no deep nesting. ok is false for everything else and
// for everything that is wrong. tight says that encoding/json would write the
// value byte for byte so, web pages not thought of. The strings of the value
// are parts of text.
func Simple(text string) (object map[string]any, tight, ok bool) {
	r := simple{s: text, tight: true}
	r.space()
	v, ok := r.value(0)
	if !ok {
		return nil, false, false
	}
	r.space()
	object, ok = v.(map[string]any)
	return object, r.tight && ok, ok && r.i == len(r.s)
}

// simple is where Simple is in its text.
type simple struct {
	s     string
	i     int
	tight bool
}

// space goes over white space.
func (r *simple) space() {
	if next := skipSpace(r.s, r.i); next != r.i {
		r.i, r.tight = next, false
	}
}

// take goes over a byte, if it is the next one.
func (r *simple) take(c byte) bool {
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *simple) value(depth int) (any, bool) {
	if r.i == len(r.s) || depth > maxSimple {
		return nil, false
	}
	switch c := r.s[r.i]; {
	case c == '"':
		s, ok := r.text()
		return s, ok
	case c == '{':
		return r.object(depth)
	case c == '[':
		return r.list(depth)
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	return r.word()
}

func (r *simple) word() (any, bool) {
	switch rest := r.s[r.i:]; {
	case strings.HasPrefix(rest, "true"):
		r.i += len("true")
		return true, true
	case strings.HasPrefix(rest, "false"):
		r.i += len("false")
		return false, true
	case strings.HasPrefix(rest, "null"):
		r.i += len("null")
		return nil, true
	}
	return nil, false
}

// text reads a string whose text is exactly the bytes between its quotes.
func (r *simple) text() (string, bool) {
	begin := r.i + 1
	ascii := true
	for i := begin; i < len(r.s); i++ {
		switch c := r.s[i]; {
		case c == '"':
			s := r.s[begin:i]
			r.i = i + 1
			if !ascii {
				r.tight = r.tight && oneLine(s)
			}
			return s, ascii || utf8.ValidString(s)
		case c == '\\' || c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// maxDigits is how long a number may be that certainly fits a float.
const maxDigits = 40

// number reads digits with at most a sign and a fraction.
func (r *simple) number() (any, bool) {
	begin := r.i
	r.take('-')
	first := r.i
	whole := r.digits()
	if whole == 0 || whole > 1 && r.s[first] == '0' {
		return nil, false
	}
	if r.take('.') && r.digits() == 0 {
		return nil, false
	}
	if r.i < len(r.s) && (r.s[r.i] == 'e' || r.s[r.i] == 'E') || r.i-begin > maxDigits {
		return nil, false
	}
	return json.Number(r.s[begin:r.i]), true
}

func (r *simple) digits() (n int) {
	for r.i < len(r.s) && r.s[r.i] >= '0' && r.s[r.i] <= '9' {
		r.i++
		n++
	}
	return n
}

func (r *simple) object(depth int) (any, bool) {
	r.i++
	m, last := map[string]any{}, ""
	for r.space(); !r.take('}'); {
		if len(m) > 0 {
			if !r.take(',') {
				return nil, false
			}
			r.space()
		}
		if r.i == len(r.s) || r.s[r.i] != '"' {
			return nil, false
		}
		key, ok := r.text()
		if _, twice := m[key]; twice || !ok {
			return nil, false
		}
		r.tight = r.tight && (len(m) == 0 || last < key)
		last = key
		if r.space(); !r.take(':') {
			return nil, false
		}
		r.space()
		if m[key], ok = r.value(depth + 1); !ok {
			return nil, false
		}
		r.space()
	}
	return m, true
}

func (r *simple) list(depth int) (any, bool) {
	r.i++
	list := []any{}
	for r.space(); !r.take(']'); {
		if len(list) > 0 {
			if !r.take(',') {
				return nil, false
			}
			r.space()
		}
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		r.space()
	}
	return list, true
}

// oneLine reports whether a text is free of what some readers take for the end of
// a line beside control characters, and encoding/json writes as escapes.
func oneLine(text string) bool {
	return !strings.Contains(text, "\u2028") && !strings.Contains(text, "\u2029")
}
