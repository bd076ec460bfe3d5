package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
)

// A Rule allows requests to a host, or to a family of hosts, at one port of
// one scheme. The zero Rule allows nothing.
type Rule struct {
	Scheme string // "https" or "http"
	Host   string // a lower-case name or IP address, "*.suffix", or "*" for every host
	Port   int    // 1 to 65535; 0: every port
}

// ParseRule reads a rule: "api.example.com" means https on port 443;
// "http://…" means port 80; "host:8443" and "host:*" state the port. "*.example.com"
// allows every name below example.com but not example.com itself.
func ParseRule(s string) (Rule, error) {
	bad := func(why error) (Rule, error) {
		return Rule{}, msg.Errorf("host rule %q: %s; write for example \"api.example.com\", \"*.example.com:8443\" or \"http://localhost:3000\"", s, why)
	}
	r := Rule{Scheme: "https", Port: 443}
	rest := s
	if scheme, after, ok := strings.Cut(s, "://"); ok {
		if r.Scheme, rest = strings.ToLower(scheme), after; r.Scheme == "http" {
			r.Port = 80
		} else if r.Scheme != "https" {
			return bad(msg.Errorf("the scheme must be https or http"))
		}
	}
	host, port, err := splitPort(strings.TrimSuffix(rest, "/"))
	if err != nil {
		return bad(err)
	}
	switch n, err := strconv.Atoi(port); {
	case port == "":
	case port == "*":
		r.Port = 0
	case err != nil || n < 1 || n > 65535:
		return bad(msg.Errorf("the port must be 1 to 65535 or *"))
	default:
		r.Port = n
	}
	if r.Host, err = parsePattern(host); err != nil {
		return bad(err)
	}
	return r, nil
}

// splitPort separates an optional port. IPv6 addresses may be in brackets
// or, without a port, bare.
func splitPort(s string) (host, port string, err error) {
	if strings.HasPrefix(s, "[") {
		host, after, ok := strings.Cut(s[1:], "]")
		if !ok || after != "" && after[0] != ':' {
			return "", "", msg.Errorf("the brackets are not closed")
		}
		return host, strings.TrimPrefix(after, ":"), nil
	}
	if strings.Count(s, ":") > 1 {
		return s, "", nil
	}
	host, port, _ = strings.Cut(s, ":")
	return host, port, nil
}

// parsePattern checks and normalises the host of a rule.
func parsePattern(s string) (string, error) {
	if s == "*" {
		return s, nil
	}
	name, wild := strings.CutPrefix(s, "*.")
	name, err := cleanHost(name)
	if err != nil {
		return "", err
	}
	if strings.Contains(name, "*") {
		return "", msg.Errorf("a * is valid only alone or before the first dot")
	}
	if wild {
		if _, err := netip.ParseAddr(name); err == nil {
			return "", msg.Errorf("an IP address has no names below it")
		}
		return "*." + name, nil
	}
	return name, nil
}

// cleanHost brings a host into the one form that rules are compared in. It
// refuses what different programs read differently.
func cleanHost(h string) (string, error) {
	h = strings.ToLower(strings.TrimSuffix(h, "."))
	if h == "" {
		return "", msg.Errorf("the host is empty")
	}
	if addr, err := netip.ParseAddr(h); err == nil {
		if addr.Zone() != "" {
			return "", msg.Errorf("an IPv6 zone is not allowed")
		}
		return addr.Unmap().String(), nil
	}
	if len(h) > 253 {
		return "", msg.Errorf("the host is longer than 253 characters")
	}
	for _, c := range h {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune(".-_*", c) {
			return "", msg.Errorf("the host contains %q; write an international name in its xn-- form", c)
		}
	}
	labels := strings.Split(h, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.Trim(l, "-") != l {
			return "", msg.Errorf("a part of the host is empty, longer than 63 characters, or has a hyphen at its border")
		}
	}
	if numeric(labels[len(labels)-1]) {
		return "", msg.Errorf("the host looks like an IP address and is none; write it as 127.0.0.1 or [::1] is written")
	}
	return h, nil
}

// numeric reports whether a name that ends in this label is an address to
// browsers and to the C library: 2130706433, 0x7f.1 and 0177.0.0.1 are
// 127.0.0.1 there. No domain ends so.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// matchHost reports whether a cleaned host falls under a pattern. A suffix
// ends at a label border: "*.example.com" is not "badexample.com". An address
// has no labels, so no suffix matches one.
func matchHost(pattern, host string) bool {
	if pattern == "*" {
		return true
	}
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		_, err := netip.ParseAddr(host)
		return err != nil && strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	return pattern == host && host != ""
}

// String writes the rule as ParseRule reads it, in its shortest form.
func (r Rule) String() string {
	host := r.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if r.Scheme == "http" {
		host = "http://" + host
	}
	switch {
	case r.Port == 0:
		return host + ":*"
	case r.Scheme == "https" && r.Port == 443, r.Scheme == "http" && r.Port == 80:
		return host
	}
	return host + ":" + strconv.Itoa(r.Port)
}

// hostport writes the target as a URL has it, in the one form that was checked.
func (t target) hostport() string {
	host := t.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.port == 443 && t.scheme == "https" || t.port == 80 && t.scheme == "http" {
		return host
	}
	return host + ":" + strconv.Itoa(t.port)
}

// allows reports whether the rule covers a target.
func (r Rule) allows(t target) bool {
	return r.Scheme == t.scheme && (r.Port == 0 || r.Port == t.port) && matchHost(r.Host, t.host)
}

// A target is the part of a URL that rules speak about.
type target struct {
	scheme, host string
	port         int
}

// parseTarget reads the target of a URL. The errors are sentences for a model.
func parseTarget(u *url.URL) (target, error) {
	t := target{scheme: strings.ToLower(u.Scheme)}
	switch t.scheme {
	case "https":
		t.port = 443
	case "http":
		t.port = 80
	default:
		return t, msg.Errorf("only https and http addresses can be requested")
	}
	if u.User != nil {
		return t, msg.Errorf("an address must not carry a user name or password")
	}
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return t, msg.Errorf("the port of the address is not valid")
		}
		t.port = n
	}
	var err error
	if t.host, err = cleanHost(u.Hostname()); err != nil {
		return t, err
	}
	if strings.Contains(t.host, "*") {
		return t, msg.Errorf("the host contains a *")
	}
	return t, nil
}
