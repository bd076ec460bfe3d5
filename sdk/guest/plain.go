package guest

import (
	"reflect"
	"strings"
	"unicode/utf8"
)

// Texts are read and written eight bytes at a time: a guest's code takes ten times
// as long for each byte as the host's.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// word is the first eight bytes of s.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// plain returns the number of leading bytes of s that are ASCII and need no escape
// in a JSON string.
func plain(s string) int {
	n := 0
	for ; len(s)-n >= 8; n += 8 {
		// Without one of the others no byte borrows from the next.
		if x := word(s[n:]); (x|(x-' '*ones)|((x^'"'*ones)-ones)|((x^'\\'*ones)-ones))&highs != 0 {
			break
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' && s[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// plainText reports whether a string's bytes are its text.
func plainText(s string) bool {
	n, high := 0, uint64(0)
	for ; len(s)-n >= 8; n += 8 {
		x := word(s[n:])
		if (x-' '*ones)&^x&highs != 0 {
			return false
		}
		high |= x & highs
	}
	for ; n < len(s); n++ {
		if s[n] < ' ' {
			return false
		}
		high |= uint64(s[n] & utf8.RuneSelf)
	}
	return high == 0 || utf8.ValidString(s)
}

// chinese reports whether s begins with a character of those that Chinese, Japanese
// and Korean are mostly written in, each of three bytes.
func chinese(s string) bool {
	return len(s) > 2 && s[0] >= 0xe3 && s[0] <= 0xec && s[1]&0xc0 == 0x80 && s[2]&0xc0 == 0x80
}

// jsonTag is what a field's tag says of JSON, and whether it does. Most tags are
// read here; the rest is for reflect.
func jsonTag(tag reflect.StructTag) (string, bool) {
	if rest, ok := strings.CutPrefix(string(tag), `json:"`); ok {
		if n := plain(rest); n < len(rest) && rest[n] == '"' {
			return rest[:n], true
		}
	}
	return tag.Lookup("json")
}
