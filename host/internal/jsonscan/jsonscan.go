// Package jsonscan walks over JSON text without building values, so that a
// result of several megabytes is summarised in the time it takes to read it.
// It is made for text that looks like JSON; text that is not gives it nothing
// but fewer members.
package jsonscan

import (
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"
)

// Looks reports whether text is one JSON object or array from its first to
// its last character, as far as brackets and quotes tell.
func Looks(text string) bool {
	t := strings.TrimSpace(text)
	if len(t) < 2 {
		return false
	}
	next, last, begins := skipSpace(t, 1), t[len(t)-1], ""
	switch {
	case t[0] == '{' && last == '}':
		begins = `"}`
	case t[0] == '[' && last == ']':
		begins = `{["-0123456789tfn]`
	}
	return next < len(t) && strings.IndexByte(begins, t[next]) >= 0 && skipValue(t, 0) == len(t)
}

// Members iterates over the members of an object: the key as plain text, the value
// as written.
func Members(object string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		s := object
		for i := skipSpace(s, 1); i < len(s) && s[i] == '"'; {
			end := StringEnd(s, i)
			key := Unquote(s[i:end])
			i = skipSpace(s, end)
			if i == len(s) || s[i] != ':' {
				return
			}
			i = skipSpace(s, i+1)
			end = skipValue(s, i)
			if end == i || !yield(key, s[i:end]) {
				return
			}
			i = skipSpace(s, end)
			if i == len(s) || s[i] != ',' {
				return
			}
			i = skipSpace(s, i+1)
		}
	}
}

// Items walks over the items of an array.
func Items(array string) iter.Seq[string] {
	return func(yield func(value string) bool) {
		s := array
		for i := skipSpace(s, 1); i < len(s) && s[i] != ']'; {
			end := skipValue(s, i)
			if end == i || !yield(s[i:end]) {
				return
			}
			i = skipSpace(s, end)
			if i == len(s) || s[i] != ',' {
				return
			}
			i = skipSpace(s, i+1)
		}
	}
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// StringEnd returns the index after the string that begins at i.
func StringEnd(s string, i int) int {
	for i++; i < len(s); {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			break
		}
		before := s[i : i+n]
		i += n + 1
		if slashes := len(before) - len(strings.TrimRight(before, `\`)); slashes%2 == 0 {
			return i
		}
	}
	return len(s)
}

// Long iterates over the strings of at least n bytes that are values, not names of
// members, and whose bytes are their text: valid UTF-8 without escapes and control
// characters. begin is the index of the first byte, end that of the closing quote.
func Long(s string, n int) iter.Seq2[int, int] {
	return func(yield func(begin, end int) bool) {
		for i := 0; ; {
			quote := strings.IndexByte(s[i:], '"')
			if quote < 0 {
				return
			}
			begin := i + quote + 1
			i = StringEnd(s, begin-1)
			end := i - 1
			if end-begin < n || s[end] != '"' || !plain(s[begin:end]) {
				continue
			}
			if next := skipSpace(s, i); next < len(s) && s[next] == ':' {
				continue
			}
			if !yield(begin, end) {
				return
			}
		}
	}
}

// plain reports whether a string's content is its text.
func plain(s string) bool {
	if strings.IndexByte(s, '\\') >= 0 || !utf8.ValidString(s) {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' {
			return false
		}
	}
	return true
}

// skipValue returns the index after the value that begins at i, or i if there is
// none.
func skipValue(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = StringEnd(s, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return len(s)
}

// Unquote returns the text of a JSON string, or s itself if it is none.
func Unquote(s string) string {
	if strings.IndexByte(s, '\\') < 0 && len(s) >= 2 {
		return s[1 : len(s)-1]
	}
	var out string // which the decoder has allocated: not for others
	if json.Unmarshal([]byte(s), &out) != nil {
		return strings.Trim(s, `"`)
	}
	return out
}
