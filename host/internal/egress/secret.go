package egress

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// secret is a Secret that was checked.
type secret struct {
	name   string
	header string
	value  string // as it is sent
	rule   Rule
	traces *strings.Replacer // removes the value in the spellings it could come back in
}

// minScrub is the shortest value, in bytes, that is searched for in answers.
// A shorter one would tear holes into honest text and protects nothing.
const minScrub = 6

func (s Secret) parse() (secret, error) {
	bad := func(why string) (secret, error) { return secret{}, fmt.Errorf("secret %s: %s", s.Name, why) }
	rule, err := ParseRule(s.Host)
	if err != nil {
		return bad(err.Error())
	}
	if rule.Host == "*" {
		return bad("it must belong to a host, not to all of them")
	}
	if !validHeader(s.Header) || dropped[http.CanonicalHeaderKey(s.Header)] {
		return bad(fmt.Sprintf("%q is no header a secret can go into", s.Header))
	}
	if strings.ContainsAny(s.Value+s.Format, "\r\n\x00") {
		return bad("its value or format holds a line break")
	}
	format := s.Format
	if format == "" {
		format = "{}"
	}
	if !strings.Contains(format, "{}") {
		return bad("its format has no {} for the value")
	}
	p := secret{name: s.Name, header: http.CanonicalHeaderKey(s.Header), rule: rule}
	if s.Value != "" {
		p.value = strings.ReplaceAll(format, "{}", s.Value)
		p.traces = traces(s.Name, s.Value, p.value)
	}
	return p, nil
}

// traces builds the replacer that takes a value out of text: as it is, as it
// was sent, in base64, percent-encoded and as JSON writes it. Longer spellings
// go first, or a part of one would stay.
func traces(name string, values ...string) *strings.Replacer {
	var found []string
	for _, v := range values {
		if len(v) < minScrub {
			continue
		}
		quoted, _ := json.Marshal(v) // a string always encodes
		found = append(found, v, url.QueryEscape(v), url.PathEscape(v), string(quoted[1:len(quoted)-1]),
			base64.StdEncoding.EncodeToString([]byte(v)), base64.RawStdEncoding.EncodeToString([]byte(v)),
			base64.URLEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)))
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

// scrub removes every secret from text that goes back to a guest.
func (c *Client) scrub(s string) string {
	for _, sec := range c.secrets {
		if sec.traces != nil {
			s = sec.traces.Replace(s)
		}
	}
	return s
}

// inject adds the secrets of a hop's host. It replaces what the guest set, so
// that a guest cannot send a key of its own in place of the operator's.
func (c *Client) inject(h http.Header, t target) {
	for _, s := range c.secrets {
		if s.value != "" && s.rule.allows(t) {
			h.Set(s.header, s.value)
		}
	}
}
