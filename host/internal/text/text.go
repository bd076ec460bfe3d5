// Package text holds the small functions on strings that several packages of the
// host need: one line of a longer text, and a clipped text.
package text

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// maxBlank is how many bytes OneLine reads more than it needs, which may be white space or
// dropped: what a tool hands over has megabytes.
const maxBlank = 64 << 10

// OneLine returns s normalised (see limit.Normalise), with each run of white space
// as one space, clipped to at most chars characters. Of a text with very much white space
// it reads the beginning.
func OneLine(s string, chars int) string {
	var b strings.Builder
	most := utf8.UTFMax * (chars + 1) // bytes that hold more than chars characters
	if n := most + maxBlank; len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	for word := range strings.FieldsSeq(limit.Normalise([]byte(s))) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if b.WriteString(word[:min(len(word), most)]); b.Len() >= most {
			break
		}
	}
	return Clip(b.String(), chars)
}

// Clip returns at most n characters of s. The last one is an ellipsis if something
// is left out.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:max(n-1, 0)]) + "…"
	}
	return s
}

// JSON returns v as JSON on one line, with <, > and & as they are.
func JSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// Indent returns raw with two spaces for each level; unchanged if it is no JSON.
func Indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// Join returns the clauses as one sentence; the zero Text for none.
func Join(clauses []tool.Text) tool.Text {
	if len(clauses) == 0 {
		return tool.Text{}
	}
	out := clauses[0]
	for _, c := range clauses[1:] {
		out = tool.Textf("%s; %s", out, c)
	}
	return out
}

// List returns the items as an enumeration in the language l.
func List(l tool.Locale, items []string) string {
	if l == tool.Zh {
		return strings.Join(items, "、")
	}
	return strings.Join(items, ", ")
}

// ShellWord returns a path as one word of a shell command.
func ShellWord(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("'\"\\$`&;|<>()*?[]{}!#~", r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
