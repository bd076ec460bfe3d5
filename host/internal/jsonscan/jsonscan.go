// Package jsonscan walks over JSON text without building values, so that a
// result of several megabytes is summarised in the time it takes to read it.
// It is made for text that looks like JSON; text that is not gives it nothing
// but fewer members.
package jsonscan

import (
	"encoding/json"
	"iter"
	"strings"
)

// Looks reports whether text is one JSON object or array from its first to
// its last character, as far as brackets and quotes tell.
func Looks(text string) bool {
	t := strings.TrimSpace(text)
	if len(t) < 2 {
		return false
	}
	next, last := skipSpace(t, 1), t[len(t)-1]
	if next == len(t) || skipValue(t, 0) != len(t) {
		return false
	}
	switch t[0] {
	case '{':
		return last == '}' && (t[next] == '"' || t[next] == '}')
	case '[':
		return last == ']' && strings.IndexByte(`{["-0123456789tfn]`, t[next]) >= 0
	}
	return false
}

// Members walks over the members of an object: key as plain text, value as it
// stands there.
func Members(object string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		s := object
		for i := skipSpace(s, 1); i < len(s) && s[i] == '"'; {
			end := skipString(s, i)
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

// skipString returns the index behind the string that begins at i.
func skipString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// skipValue returns the index behind the value that begins at i; i itself when
// there is none.
func skipValue(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = skipString(s, i)
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

// Unquote returns the text of a JSON string, or what stands there.
func Unquote(s string) string {
	var out string
	if strings.IndexByte(s, '\\') < 0 && len(s) >= 2 {
		return s[1 : len(s)-1]
	}
	if json.Unmarshal([]byte(s), &out) != nil {
		return strings.Trim(s, `"`)
	}
	return out
}
