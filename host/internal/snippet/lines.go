package snippet

import (
	"strings"
	"unicode/utf8"
)

// Chars is the maximum length of a snippet in characters.
const Chars = 160

// LineStart returns the byte at which line n begins, counted from 1, or the length of
// the text.
func LineStart(text string, n int) int {
	at := 0
	for range n - 1 {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// SkipChars returns text without its first n characters.
func SkipChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[i:]
		}
		n--
	}
	return ""
}

// Words returns the words of a query in lower case, each once. Words are separated by
// white space.
func Words(query string) []string {
	var list []string
	seen := map[string]bool{}
	for _, w := range strings.Fields(strings.ToLower(query)) {
		if !seen[w] {
			seen[w] = true
			list = append(list, w)
		}
	}
	return list
}

// A Line is one line of a text that contains words of a query.
type Line struct {
	Number  int    // from 1
	Words   int    // how many of the words it contains
	Snippet string // the line, or at most Chars characters of it with a word
}

// Lines returns at most max lines of text, those with the most words, in their order.
// The words must be in lower case; of lines with equally many the first are returned.
func Lines(text string, words []string, max int) []Line {
	best := bestLines(strings.ToLower(text), words, max)
	out := make([]Line, len(best))
	for i, b := range best {
		line, _, _ := strings.Cut(text[LineStart(text, b.number):], "\n")
		out[i] = Line{b.number, b.count, around(line, b.word)}
	}
	return out
}

// A match is a line and the first word of the query on it.
type match struct {
	number, count int
	word          string
}

func bestLines(lower string, words []string, most int) []match {
	best := make([]match, 0, most+1)
	number := 0
	for line := range strings.Lines(lower) {
		number++
		m := match{number: number}
		for _, w := range words {
			if strings.Contains(line, w) {
				if m.count == 0 {
					m.word = w
				}
				m.count++
			}
		}
		if m.count == 0 {
			continue
		}
		if best = append(best, m); len(best) > most {
			worst := most // of equal lines the last is dropped
			for i := most - 1; i >= 0; i-- {
				if best[i].count < best[worst].count {
					worst = i
				}
			}
			best = append(best[:worst], best[worst+1:]...)
		}
	}
	return best
}

// around clips a line such that word stays visible.
func around(line, word string) string {
	line = strings.TrimSpace(line)
	if utf8.RuneCountInString(line) <= Chars {
		return line
	}
	at := strings.Index(strings.ToLower(line), word)
	if at < 0 {
		return Clip(line, Chars)
	}
	// Lower case may be longer or shorter than the line itself; the number of
	// characters is close enough.
	skip := utf8.RuneCountInString(strings.ToLower(line)[:at]) - Chars/4
	if skip <= 0 {
		return Clip(line, Chars)
	}
	rest := SkipChars(line, skip)
	start := boundary(line, len(line)-len(rest))
	return Clip("…"+line[start:], Chars)
}
