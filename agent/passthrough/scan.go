package passthrough

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The functions of this file take JSON apart without reading what is in it: a request is often a
// megabyte of texts, which package encoding/json would read again at every level. The JSON must
// be valid; of other JSON they return anything.

// skip returns the index after the value, or the space, that begins at i.
func skip(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(b)
	}
	for i < len(b) && !strings.ContainsRune(",:]} \t\r\n", rune(b[i])) {
		i++
	}
	return i
}

func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		end := bytes.IndexByte(b[i:], '"')
		if end < 0 {
			break
		}
		i += end + 1
		slashes := 0
		for i-2-slashes >= 0 && b[i-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && strings.ContainsRune(" \t\r\n,:", rune(b[i])) {
		i++
	}
	return i
}

// inside calls f for each value in an array, or for each name and value in an object, until it
// returns false.
func inside(b json.RawMessage, open byte, f func(value json.RawMessage) bool) bool {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != open {
		return false
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] != '}' && b[i] != ']'; i = skipSpace(b, i) {
		from := i
		if i = skip(b, i); i == from || !f(b[from:i:i]) {
			break
		}
	}
	return true
}

// elements returns the values of an array; false: it is none.
func elements(b json.RawMessage) (out []json.RawMessage, ok bool) {
	ok = inside(b, '[', func(v json.RawMessage) bool {
		out = append(out, v)
		return true
	})
	return out, ok
}

// eachMember calls f for each member of an object until it returns false; false: it is none.
func eachMember(b json.RawMessage, f func(name string, value json.RawMessage) bool) bool {
	var name *string
	return inside(b, '{', func(v json.RawMessage) bool {
		if name == nil {
			name = new(string)
			return json.Unmarshal(v, name) == nil
		}
		goesOn := f(*name, v)
		name = nil
		return goesOn
	})
}

// memberOf returns the value of a member of an object; nil: it has none.
func memberOf(b json.RawMessage, name string) (value json.RawMessage) {
	eachMember(b, func(n string, v json.RawMessage) bool {
		if n == name {
			value = v
		}
		return value == nil
	})
	return value
}
