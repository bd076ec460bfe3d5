package egress

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
)

// secret is a Secret that was checked.
type secret struct {
	header string
	value  string // as it is sent
	rule   Rule
	traces *strings.Replacer // removes the value in the spellings it could come back in
}

func (s Secret) parse() (secret, error) {
	bad := func(why error) (secret, error) { return secret{}, msg.Errorf("secret %s: %s", s.Name, why) }
	rule, err := ParseRule(s.Host)
	if err != nil {
		return bad(err)
	}
	if rule.Host == "*" {
		return bad(msg.Errorf("it must belong to a host, not to all of them"))
	}
	if !validHeader(s.Header) || dropped[http.CanonicalHeaderKey(s.Header)] {
		return bad(msg.Errorf("%q is not a header that can carry a secret", s.Header))
	}
	if strings.ContainsAny(s.Value+s.Format, "\r\n\x00") {
		return bad(msg.Errorf("its value or format holds a line break"))
	}
	format := cmp.Or(s.Format, "{}")
	if !strings.Contains(format, "{}") {
		return bad(msg.Errorf("its format has no {} for the value"))
	}
	p := secret{header: http.CanonicalHeaderKey(s.Header), rule: rule}
	if s.Value != "" {
		p.value = strings.ReplaceAll(format, "{}", s.Value)
		p.traces = traces(s.Name, s.Value, p.value)
	}
	return p, nil
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

// inject adds the secrets of a hop's host, and reports whether there was one.
// It replaces what the guest set, so that a guest cannot send a key of its own
// in place of the operator's.
func (c *Client) inject(h http.Header, t target) bool {
	keyed := false
	for _, s := range c.secrets {
		if s.value != "" && s.rule.allows(t) {
			h.Set(s.header, s.value)
			keyed = true
		}
	}
	return keyed
}
