package approvals

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/limit"
)

// FormatArgs formats arguments for a person: indented, with visible control characters,
// and at most 8,000 characters long.
func FormatArgs(args json.RawMessage) string {
	s, _ := shorten(indent(args))
	return s
}

// indent indents JSON and makes its control characters visible. It loses nothing; text
// that is not JSON stays unindented.
func indent(args json.RawMessage) string {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return limit.Visible(string(args))
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(v) != nil {
		return limit.Visible(string(args))
	}
	return limit.Visible(strings.TrimSuffix(out.String(), "\n"))
}

// shownArgs bounds the characters of shortened arguments. Three quarters of them are the
// beginning, the rest is the end: a middle hides less from a person.
const shownArgs = 8000

// shorten leaves out the middle of a long text and returns how many characters it left
// out.
func shorten(s string) (string, int) {
	n := utf8.RuneCountInString(s)
	if n <= shownArgs {
		return s, 0
	}
	r := []rune(s)
	const head = shownArgs * 3 / 4
	out := n - shownArgs
	return string(r[:head]) + "\n[…]\n" + string(r[n-(shownArgs-head):]), out
}
