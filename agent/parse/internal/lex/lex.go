// Package lex has the smallest parts of the recogniser: classes of bytes, the
// spelling of tool names, and readers of one line's bullets, labels and fences.
// Its readers are incremental: they return More if the text so far does not
// decide.
package lex

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Status says how far an incremental reader has come.
type Status int

const (
	More Status = iota // the text so far does not decide
	Done               // complete
	Cut                // ended by a closing marker or the end of the reply, brackets still open
	No                 // not what it looked like
)

// IsWord reports whether c is part of a word, in any script.
func IsWord(c byte) bool { return IsLetter(c) || c >= 0x80 }

// MaxName bounds how much of a reply is looked at as one name, in bytes.
const MaxName = 160

// Namespaces are the prefixes that models put before a tool's own name.
var Namespaces = []string{"functions.", "function.", "tools.", "tool.", "default_api.", "api.", "tool_code."}

// abstentions are the names by which models say that they call nothing.
var abstentions = []string{"no_function", "no_tool", "no_call", "none", "null", "n/a", "no_function_call", "final answer", "final_answer"}

// Fold maps the spellings of one name to one string: case, and the
// separators that models exchange. Backslashes are Markdown's.
func Fold(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] != '\\' {
			b = append(b, FoldByte(s[i]))
		}
	}
	return string(b)
}

// FoldByte is Fold of one byte that is no backslash.
func FoldByte(c byte) byte {
	switch {
	case c == '.' || c == '-' || c == '/':
		return '_'
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	}
	return c
}

// IsNameByte reports whether c can be part of a tool's name as models spell it.
func IsNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-' || c == '\\'
}

// IsLetter reports whether c is an ASCII letter or an underscore.
func IsLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsSpace reports whether c is white space, line ends included.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// IsQuote reports whether c is a single or double quotation mark.
func IsQuote(c byte) bool { return c == '"' || c == '\'' }

// CleanName removes what is never part of a name: quoting, emphasis, escapes,
// a namespace and a counter.
func CleanName(s string) string {
	s = strings.Trim(s, " \t\r\n\"'`*")
	if strings.Contains(s, `\`) {
		s = strings.ReplaceAll(s, `\`, "")
	}
	if i := strings.LastIndexByte(s, ':'); i > 0 && i+1 < len(s) && strings.Trim(s[i+1:], "0123456789") == "" {
		s = s[:i]
	}
	return s
}

// StripNamespace removes a prefix such as functions. from a name.
func StripNamespace(s string) string {
	for _, ns := range Namespaces {
		if len(s) > len(ns) && strings.EqualFold(s[:len(ns)], ns) {
			return s[len(ns):]
		}
	}
	return s
}

// WithoutRepeat drops a first part that is written twice: a.a.b is a.b.
func WithoutRepeat(s string) string {
	head, rest, ok := strings.Cut(s, ".")
	if ok && strings.HasPrefix(rest, head+".") {
		return rest
	}
	return s
}

// IsPlainName reports whether s has only the bytes of a name.
func IsPlainName(s string) bool {
	if s == "" || !IsLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if !IsNameByte(s[i]) {
			return false
		}
	}
	return true
}

// IsAbstention reports whether a name means that no tool is called.
func IsAbstention(name string) bool {
	return slices.Contains(abstentions, strings.ToLower(CleanName(name)))
}

// NameRun reads the bytes of a name at b[i] and returns its end; more says
// that the name may go on in what has not come yet.
func NameRun(b []byte, i int, final bool) (end int, more bool) {
	j := i
	for j < len(b) && j-i < MaxName && IsNameByte(b[j]) {
		j++
	}
	if j == len(b) {
		return j, !final && j-i < MaxName
	}
	if b[j] == ':' && j > i { // a counter, as in functions.get_weather:0
		k := j + 1
		for k < len(b) && k-j < 6 && IsDigit(b[k]) {
			k++
		}
		if k == len(b) && !final {
			return j, true
		}
		if k > j+1 && (k == len(b) || !IsNameByte(b[k])) {
			return k, false
		}
	}
	return j, false
}

// SkipSpace returns the first offset from i on that is not white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// MaxIndent bounds what may be before a call on its line, in bytes.
const MaxIndent = 64

// maxTicks bounds a run of backticks; what is longer is several runs.
const maxTicks = 32

// TickRun counts the backticks at i. open says that the run may go on.
func TickRun(b []byte, i int) (n int, open bool) {
	for i+n < len(b) && n < maxTicks && b[i+n] == '`' {
		n++
	}
	return n, i+n == len(b) && n < maxTicks
}

// SkipBlank is SkipSpace over at most MaxIndent bytes.
func SkipBlank(b []byte, i int) int {
	for n := 0; i < len(b) && n < MaxIndent && IsSpace(b[i]); n++ {
		i++
	}
	return i
}

// IsBlank reports whether c is a space or a tab.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// Unless answers a look ahead that ran out of text: undecided unless there is
// no more to come.
func Unless(limit bool) Status {
	if limit {
		return No
	}
	return More
}

// IsEnd reports whether c ends a value; 0 is the end of the text.
func IsEnd(c byte) bool { return c == 0 || c == ',' || c == '}' || c == ']' || c == ')' || c == ';' }

// UnescapeMarkdown takes the backslash from escaped underscores.
func UnescapeMarkdown(s string) string {
	if !strings.Contains(s, `\_`) {
		return s
	}
	return strings.ReplaceAll(s, `\_`, "_")
}

// Clip cuts s to n characters and marks the cut.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 1 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
