package egress

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for _, row := range []struct {
		in   string
		want Rule
		text string // as it is written back
	}{
		{"api.example.com", Rule{"https", "api.example.com", 443}, "api.example.com"},
		{"API.Example.COM.", Rule{"https", "api.example.com", 443}, "api.example.com"},
		{"https://api.example.com/", Rule{"https", "api.example.com", 443}, "api.example.com"},
		{"http://api.example.com", Rule{"http", "api.example.com", 80}, "http://api.example.com"},
		{"api.example.com:8443", Rule{"https", "api.example.com", 8443}, "api.example.com:8443"},
		{"localhost:*", Rule{"https", "localhost", 0}, "localhost:*"},
		{"*.example.com", Rule{"https", "*.example.com", 443}, "*.example.com"},
		{"*", Rule{"https", "*", 443}, "*"},
		{"http://*:*", Rule{"http", "*", 0}, "http://*:*"},
		{"http://127.0.0.1:3000", Rule{"http", "127.0.0.1", 3000}, "http://127.0.0.1:3000"},
		{"[::1]:3000", Rule{"https", "::1", 3000}, "[::1]:3000"},
		{"::ffff:10.0.0.1", Rule{"https", "10.0.0.1", 443}, "10.0.0.1"}, // one spelling for one address
		{"xn--fiq228c.com", Rule{"https", "xn--fiq228c.com", 443}, "xn--fiq228c.com"},
	} {
		got, err := ParseRule(row.in)
		if err != nil || got != row.want || got.String() != row.text {
			t.Errorf("%s: %+v %s %v", row.in, got, got, err)
		}
		if again, err := ParseRule(got.String()); err != nil || again != got {
			t.Errorf("%s does not read back: %+v %v", got, again, err)
		}
	}
	for _, bad := range []string{
		"", "ftp://example.com", "file:///etc/passwd", "http://", "*example.com", "a.*.com", "**", "*.*", "*.", "example.com:0", "example.com:65536",
		"example.com:x", "example.com/path", "user@example.com", "a b.com", "中文.com", ".example.com", "a..b", "*.127.0.0.1", "[::1", "[::1]x", "fe80::1%eth0", strings.Repeat("a", 254),
	} {
		if r, err := ParseRule(bad); err == nil {
			t.Errorf("%q passes as %+v", bad, r)
		}
	}
}

func TestRuleAllows(t *testing.T) {
	for _, row := range []struct {
		rule, url string
		want      bool
	}{
		{"api.example.com", "https://api.example.com/x?y", true},
		{"api.example.com", "https://API.EXAMPLE.COM", true},
		{"api.example.com", "https://api.example.com./", true},
		{"api.example.com", "https://api.example.com:443/", true},
		{"api.example.com", "http://api.example.com/", false},
		{"api.example.com", "https://api.example.com:8443/", false},
		{"api.example.com", "https://example.com/", false},
		{"api.example.com", "https://x.api.example.com/", false},
		{"api.example.com", "https://api.example.com.evil.com/", false},
		{"*.example.com", "https://a.b.example.com/", true},
		{"*.example.com", "https://example.com/", false},
		{"*.example.com", "https://badexample.com/", false}, // no label border
		{"*.example.com", "https://.example.com/", false},
		{"*.0.0.2", "https://127.0.0.2/", false}, // an address has no labels
		{"*", "https://anything.at.all/", true},
		{"*", "http://anything.at.all/", false},
		{"http://*:*", "http://anything:81/", true},
		{"10.0.0.1", "https://[::ffff:10.0.0.1]/", true},
	} {
		r, err := ParseRule(row.rule)
		if err != nil && row.want {
			t.Fatal(err)
		}
		u, err := url.Parse(row.url)
		if err != nil {
			t.Fatal(err)
		}
		target, err := parseTarget(u)
		if got := err == nil && r.allows(target); got != row.want {
			t.Errorf("%s allows %s: %t", row.rule, row.url, got)
		}
	}
}

func TestTargetRefuses(t *testing.T) {
	for in, says := range map[string]string{
		"ftp://example.com/":            "only https and http",
		"file:///etc/passwd":            "only https and http",
		"//example.com/":                "only https and http",
		"https:///path":                 "the host is empty",
		"https://user:pw@example.com/":  "user name",
		"https://allowed.com@evil.com/": "user name",
		"https://example.com:99999/":    "port",
		"https://[fe80::1%25eth0]/":     "zone",
		"https://ex*mple.com/":          "*",
		"https://中文.com/":               "xn--",
		"https://a_b.com\u3002/":        "xn--",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseTarget(u); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestPublic(t *testing.T) {
	for _, s := range strings.Fields(`
		0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.254 169.254.0.1 169.254.169.254
		172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255
		198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
		:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1
		100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:a00:1:: 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1`) {
		if public(netip.MustParseAddr(s)) {
			t.Errorf("%s counts as public", s)
		}
	}
	for _, s := range strings.Fields(`1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 169.253.255.255
		169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
		::ffff:8.8.8.8 2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450::1`) {
		if !public(netip.MustParseAddr(s)) {
			t.Errorf("%s counts as private", s)
		}
	}
}
