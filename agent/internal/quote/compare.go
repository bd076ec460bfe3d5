package quote

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// original replaces the lookalikes that Neutralise and the agent write, entities of HTML,
// quotation marks of print and the blanks and line ends of other alphabets.
func original(text string) string {
	for range 2 { // a page about HTML has them twice
		if !strings.Contains(text, "&") {
			break
		}
		text = html.UnescapeString(text)
	}
	text = visible(text)
	if isASCII(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
		case r >= '！' && r <= '～':
			return r - '！' + '!'
		case r == '‹':
			return '<'
		case strings.ContainsRune("“”„‟″", r):
			return '"'
		case strings.ContainsRune(singleQuotes, r):
			return '\''
		case r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, text)
}

const singleQuotes = "‘’‚‛′"

// visible removes the characters that a person does not see and a model does not repeat:
// colours of a terminal too.
func visible(text string) string {
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, colours().ReplaceAllString(text, ""))
}

var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;:?]*[A-Za-z]`) })

func unseen(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f || r == '\n' || r == '\t' || r == '\r':
		return false
	case r < ' ' || r == 0x7f:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// plain returns a text as a model could repeat it: without lookalikes; without escapes of
// JSON, if it has them; its strings of JSON, each alone; and its lines, where HTML ends them.
// names reports whether a text names a tool. If none of them does, plain returns nil.
func plain(text string, names func(string) bool) (out []string) {
	if !isPlain(text) {
		text = original(text)
	}
	switch named := names(text); {
	case named:
		out = append(out, text)
		if hasTags(text) {
			out = append(out, tags().ReplaceAllString(text, "\n"))
		}
	case !strings.Contains(text, `\`) || !names(unescaped(text)):
		return nil
	}
	if strings.Contains(text, `\\`) {
		out = append(out, once().Replace(text))
	}
	from := []string{text}
	for depth := 0; len(from) > 0; depth++ {
		var next []string
		for _, text := range from {
			if plainer := unescaped(text); plainer != text {
				out = append(out, plainer)
			}
			if depth < maxEscapes {
				each, all := jsonStrings(text, names)
				if next = append(next, each...); all != "" {
					out = append(out, all)
				}
			}
		}
		out, from = append(out, next...), next
	}
	return out
}

// once removes escapes that are not escaped themselves.
var once = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`)
})

// isPlain reports whether a text has no lookalikes, entities and characters that are not seen.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= 0x7f || c == '&' {
			return false
		}
	}
	return true
}

// maxEscapes is how often a text may be within another one as a string of JSON.
const maxEscapes = 3

// unescaped returns a text without escapes of JSON, however often they are escaped.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		c, n := escaped(text[i:])
		b.WriteByte(c)
		i += n - 1
	}
	return b.String()
}

// jsonStrings returns the values of the strings of JSON in a text that name a tool, and those of
// all strings below each other, where a call may have its lines in several.
func jsonStrings(text string, names func(string) bool) (each []string, all string) {
	var b strings.Builder
	values := 0
	for {
		i := strings.IndexByte(text, '"')
		if i < 0 {
			break
		}
		text = text[i:]
		end := stringEnd(text)
		var value string
		if end > 0 && json.Unmarshal([]byte(text[:end]), &value) == nil {
			value = original(value)
			b.WriteString(value + "\n")
			values++
			if names(value) {
				each = append(each, value)
			}
		}
		switch {
		case end == 0: // all that follow it on the line are escaped
			if end = strings.IndexByte(text, '\n'); end < 0 {
				end = len(text)
			}
		case !strings.Contains(text[:end], `\`): // its end may be the start of one
			end--
		}
		text = text[end:]
	}
	if len(each) > 0 && values > 1 {
		all = b.String()
	}
	return each, all
}

// stringEnd returns the length of the string of JSON that a text starts with; 0: there is none on
// its line.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return 0
		}
	}
	return 0
}

func hasTags(text string) bool {
	for _, tag := range []string{"<br", "</p", "</li", "</td", "</div", "</pre", "</code", "</span"} {
		if strings.Contains(text, tag) {
			return true
		}
	}
	return false
}

// tags are those of HTML that are around lines or within them.
var tags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)</?(?:br|p|li|ul|ol|td|th|tr|div|pre|code|span|blockquote)\b[^<>]{0,200}>`)
})

// escaped reads the escape at the start of s and returns its character and its length.
// Backslashes may be doubled, as in JSON within JSON.
func escaped(s string) (c byte, n int) {
	for n < len(s) && s[n] == '\\' {
		n++
	}
	if n == len(s) {
		return '\\', n
	}
	switch s[n] {
	case 'n', 'r':
		return '\n', n + 1
	case 't':
		return '\t', n + 1
	case '"', '\'', '/', '`':
		return s[n], n + 1
	case 'u':
		if len(s) >= n+5 && s[n+1] == '0' && s[n+2] == '0' && isHex(s[n+3]) && isHex(s[n+4]) {
			return hex(s[n+3])<<4 | hex(s[n+4]), n + 5
		}
	}
	return '\\', n
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func hex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// compare writes a text so that two copies of it are equal: without lookalikes, escapes,
// white space, and what is in front of quoted lines: numbers, and the signs of mails,
// lists, comments and differences.
func compare(text string) string {
	text = original(text)
	b := make([]byte, 0, len(text))
	start := true // of a line
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			var n int
			c, n = escaped(text[i:])
			i += n - 1
			if c == '\\' {
				continue
			}
		}
		switch {
		case c == '\n':
			start = true
		case c == ' ' || c == '\t' || c == '\r':
		default:
			if start && strings.IndexByte(">+-|*#/%;", c) >= 0 {
				continue
			}
			if start {
				if n := lineNumber(text[i:]); n > 0 {
					i += n - 1
					continue
				}
			}
			start = false
			b = append(b, c)
		}
	}
	return string(b)
}

// lineNumber returns the length of the line number at the start of s, as grep, cat and
// editors write it; 0: there is none.
func lineNumber(s string) int {
	n := 0
	for n < len(s) && n < 8 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 {
		return 0
	}
	for _, end := range []string{":", "|", "→", "\t", " |", " :", "-"} {
		if strings.HasPrefix(s[n:], end) {
			return n + len(end)
		}
	}
	return 0
}

// fold keeps the letters and digits of a name, in lower case: models spell names with
// other signs between them.
func fold(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			b = append(b, c|0x20)
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80:
			b = append(b, c)
		}
	}
	return string(b)
}

// withoutEnd returns the text of a call without what only ends it: quotation marks,
// brackets, code fences and closing tags. What is no more than a name keeps its end.
func withoutEnd(text string) string {
	const ends = "\"'`)]};,"
	for end := len(text); ; {
		short := strings.TrimRight(text[:end], ends)
		if open := closingMark(text[:end]); open >= 0 {
			short = text[:open]
		}
		if len(short) == end {
			return short
		}
		if onlyName(short) {
			return text[:end]
		}
		end = len(short)
	}
}

// closingMark returns where the closing tag or special token at the end of a text begins;
// -1: there is none.
func closingMark(text string) int {
	const longest = 64
	for _, mark := range []struct{ open, close string }{{"</", ">"}, {"<|", "|>"}, {"[/", "]"}} {
		if !strings.HasSuffix(text, mark.close) {
			continue
		}
		from := max(0, len(text)-longest)
		if i := strings.LastIndex(text[from:], mark.open); i >= 0 {
			return from + i
		}
	}
	return -1
}

// onlyName reports whether a text is a name with no sign but an opening bracket.
func onlyName(text string) bool {
	const longest = 256
	return len(text) <= longest && !strings.ContainsAny(strings.TrimSuffix(text, "("), "\"'{}[](<>=:,|")
}

// lines returns the lines of a text as compare writes each, without those that are empty.
func lines(text string) (out []string) {
	for line := range strings.Lines(original(text)) {
		if line = compare(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// holdsLines reports whether lines of foreign, one after the other, hold the lines of a
// call: whatever is in front of each or after it, such as the name of a file, the time of a
// log or the frame of a table.
func holdsLines(foreign, call []string) bool {
	longest := 0
	for i := range call {
		if len(call[i]) > len(call[longest]) {
			longest = i
		}
	}
	places := 0
	for at := longest; at+len(call)-longest <= len(foreign); at++ {
		if !strings.Contains(foreign[at], call[longest]) {
			continue
		}
		if places++; places > maxPlaces {
			return true
		}
		same := 0
		for same < len(call) && strings.Contains(foreign[at-longest+same], call[same]) {
			same++
		}
		if same == len(call) {
			return true
		}
	}
	return false
}
