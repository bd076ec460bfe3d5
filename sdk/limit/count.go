package limit

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Count returns the characters (code points) and lines of s. A last line without
// a newline counts; the empty text has no lines. A byte that is not UTF-8 counts
// as one character.
func Count(s string) (chars, lines int) {
	return runes(s), lineCount(s)
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// highBits marks the bytes of a word that are not ASCII.
const highBits = 0x8080808080808080

// runes counts code points like utf8.RuneCountInString, several times as fast.
// It counts eight bytes at a time while they are ASCII, as most output of tools is.
func runes(s string) int {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	n, i := 0, 0
	for i < len(b) {
		start := i
		for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&highBits == 0 {
			i += 8
		}
		n += i - start
		for end := min(i+64, len(b)); i < end; n++ {
			c := b[i]
			switch {
			case c < utf8.RuneSelf:
				i++
			case c > 0xe0 && c < 0xed && i+2 < len(b) && b[i+1]&b[i+2]&0xc0 == 0x80 && (b[i+1]|b[i+2])&0x40 == 0:
				i += 3 // CJK and most other scripts
			default:
				i += step(s, i)
			}
		}
	}
	return n
}

// step returns the length in bytes of the code point at s[i:].
func step(s string, i int) int {
	if s[i] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	return size
}

// forward returns the byte offset after the first n code points of s, at most
// len(s).
func forward(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		i += step(s, i)
	}
	return i
}

// backward returns the byte offset before the last n code points of s, at least 0.
func backward(s string, n int) int {
	if n >= len(s) {
		return 0
	}
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		i -= stepBack(s, i)
	}
	return i
}

// stepBack returns the length in bytes of the code point that ends at s[:i].
func stepBack(s string, i int) int {
	if s[i-1] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeLastRuneInString(s[:i])
	return size
}

// firstLines returns the byte offset after the first n lines of s.
func firstLines(s string, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		j := strings.IndexByte(s[i:], '\n')
		if j < 0 {
			return len(s)
		}
		i += j + 1
	}
	return i
}

// lastLines returns the byte offset before the last n lines of s.
func lastLines(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		// Skip the newline that ends the line.
		i = strings.LastIndexByte(s[:i-1], '\n') + 1
	}
	return i
}

// digits returns the number of decimal digits of n, which must not be negative.
func digits(n int) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}
