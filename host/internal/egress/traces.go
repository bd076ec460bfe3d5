package egress

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// minScrub is the shortest value, in bytes, that is searched for in answers.
// A shorter one would tear holes into honest text and protects nothing.
const minScrub = 6

// traces builds the replacer that takes a value out of text: as it is, as it
// was sent, and as the usual encodings write it. Longer spellings go first, or
// a part of one would stay.
func traces(name string, values ...string) *strings.Replacer {
	var found []string
	for _, v := range values {
		if len(v) >= minScrub {
			found = append(found, spelled(v)...)
			found = append(found, inBase64(v, base64.RawStdEncoding)...)
			found = append(found, inBase64(v, base64.RawURLEncoding)...)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(found))
	for _, f := range slices.Compact(found) {
		pairs = append(pairs, f, "["+name+"]")
	}
	return strings.NewReplacer(pairs...)
}

// spelled returns the encodings of a value that do not depend on the text around
// it.
func spelled(v string) []string {
	h := hex.EncodeToString([]byte(v))
	query, path := url.QueryEscape(v), url.PathEscape(v)
	out := []string{
		v, reversed(v), h, strings.ToUpper(h), html.EscapeString(v),
		query, path, lowerEscapes(query), lowerEscapes(path), allEscaped(v, "%%%02x"), allEscaped(v, "%%%02X"),
		quotedJSON(v, true), quotedJSON(v, false), inner(strconv.Quote(v)), inner(strconv.QuoteToASCII(v)),
	}
	for _, w := range writers() {
		out = append(out, w.Replace(v), w.Replace(html.EscapeString(v)), w.Replace(quotedJSON(v, false)), w.Replace(inner(strconv.QuoteToASCII(v))))
	}
	return out
}

// writers returns what writers of JSON and HTML escape beyond need.
func writers() []*strings.Replacer {
	return []*strings.Replacer{
		strings.NewReplacer("/", `\/`), // PHP
		strings.NewReplacer("+", `\u002B`, "&", `\u0026`, "<", `\u003C`, ">", `\u003E`, "'", `\u0027`, `"`, `\u0022`, "`", `\u0060`), // .NET
		strings.NewReplacer("+", "&#43;"), // html/template
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"),                                             // Python
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;"),                                             // PHP
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;"),                                              // .NET
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;"),                                                            // without the apostrophe
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "/", "&#x2F;", "`", "&#x60;", "=", "&#x3D;"), // mustache
	}
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func allEscaped(v, format string) string {
	var b strings.Builder
	for i := range len(v) {
		fmt.Fprintf(&b, format, v[i])
	}
	return b.String()
}

// lowerEscapes writes %2B as %2b.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// quotedJSON returns a value as it is written in a JSON string. Encoders disagree
// about <, > and &.
func quotedJSON(v string, markup bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(markup)
	if err := e.Encode(v); err != nil {
		return v // a string always encodes
	}
	return inner(strings.TrimSpace(b.String()))
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// inBase64 lists what a value looks like within a longer text in base64: it
// may begin at each of three places of a group. The characters that it shares
// with its neighbours are not part of that.
func inBase64(v string, e *base64.Encoding) []string {
	var found []string
	for before := range 3 {
		s := e.EncodeToString([]byte("\x00\x00"[:before] + v))
		s = s[[]int{0, 2, 3}[before]:]
		if (before+len(v))%3 != 0 {
			s = s[:len(s)-1]
		}
		found = append(found, s)
	}
	return found
}
