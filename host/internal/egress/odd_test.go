package egress

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// oddHosts are spellings of addresses that are not public: correct ones, those of
// old C libraries, those of browsers, and invalid ones. Even with every host and
// port allowed, none may connect.
const oddHosts = `
127.0.0.1 127.0.0.1. 127.0.0.1.. 127.1 127.0.1 127.1. 127.255.255.254 127.0.0.2 127.000.000.001 127.0.0.01 0127.0.0.1
2130706433 2130706433. 4294967295 0 0. 00 0.0 0.0.0 0.0.0.0 0.0.0.1 1 127 127.65535 127.0.65535 127.16777215 999999999999
0x7f000001 0x7f.0.0.1 0x7f.1 0X7F000001 0x7F.0x0.0x0.0x1 0x7f000001. 0x0 0x 0x00000000000000000000007f000001 0xffffffff
0177.0.0.1 017700000001 0177.0.1 0177.1 00000177.0.0.1 0177.0x0.0.1 127.0x0.0.1 127.0.0.0x1 127.0.0.1e0
10.0.0.1 10.1 10.0.1 10.255.255.255 012.0.0.1 0xa.0.0.1 167772161 172.16.0.1 172.31.255.255 172.16.1 192.168.0.1 192.168.1 192.168.257 3232235521 0xc0a80001
169.254.169.254 169.254.169.254. 169.254.43518 2852039166 0xa9fea9fe 0251.0376.0251.0376 0xa9.0xfe.0xa9.0xfe 169.254.0.1 0xA9.254.0251.254 100.100.100.200
100.64.0.1 100.127.255.255 168.63.129.16 [::ffff:168.63.129.16] [::ffff:6464:64c8] 0xa83f8110 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 192.88.99.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
[::] [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [0::1] [::ffff:127.0.0.1] [::FFFF:7F00:1] [0:0:0:0:0:ffff:7f00:0001]
[::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [::ffff:0:0] [::ffff:10.0.0.1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [::ffff:0a9fe:a9fe] [::169.254.169.254]
[64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2001::1] [2001:0:4136:e378:8000:63bf:80ff:fffe]
[fc00::1] [fd00:ec2::254] [fdff:ffff::1] [fe80::1] [fe80::a9fe:a9fe] [fec0::1] [ff02::1] [ff0e::1] [2001:db8::1] [100::1] [3fff::1] [5f00::1]
[::1%25lo] [fe80::1%25eth0] [::1%lo] [::1%2525lo] [127.0.0.1] [localhost] [::1 ::1] [::1]] [[::1]] [:::1] [::1::] [1:2:3:4:5:6:7] [::ffff:127.1] [::ffff:0x7f.0.0.1]
localhost LOCALHOST LocalHost localhost. localhost.. localhost.localdomain foo.localhost ip6-localhost ip6-loopback
１２７.0.0.1 127。0。0。1 127．0．0．1 127｡0｡0｡1 ①②⑦.⓪.⓪.① １２７．０．０．１ 𝟏𝟐𝟕.𝟎.𝟎.𝟏 ١٢٧.٠.٠.١ ⓛocalhost ｌｏｃａｌｈｏｓｔ loc­alhost ŀocalhost localhoſt
%31%32%37.0.0.1 127%2e0%2e0%2e1 %6c%6fcalhost 127.0.0.1%00 127.0.0.1%20 127.0.0.1%09 127.0.0.1%0a 127.0.0.1%23 localhost%2f %e3%80%82127.0.0.1 %ef%bc%91%ef%bc%92%ef%bc%97.0.0.1
user@127.0.0.1 user:pass@127.0.0.1 @127.0.0.1 :@127.0.0.1 1.1.1.1@127.0.0.1 1.1.1.1%40@127.0.0.1 127.0.0.1@127.0.0.1
xn--127.0.0.1 127.0.0.1-.example.test -127.0.0.1 .127.0.0.1 127..0.0.1 127.0.0..1 .. . - _ * *.* 127.0.0.* 127.0.0.1:80 127.0.0.1:0x50 127.0.0.1:-1
127.0.0.1.nip.test 7f000001.nip.test make-127-0-0-1-rr.test spoofed.test a.b.c.d.e.f.spoofed.test xn--spoofed-.test UPPER.SPOOFED.TEST under_score.test`

// TestOddAddresses asks for this machine and its networks by every one of
// them. The name server in use says 127.0.0.1 to everything.
func TestOddAddresses(t *testing.T) {
	hosts := strings.Fields(oddHosts)
	if len(hosts) < 200 {
		t.Fatalf("only %d vectors", len(hosts))
	}
	var hits atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	c := newClient(t, Policy{AllowPrivate: []string{"only.this.one"}}, "http://*:*", "https://*:*")
	c.resolver = lyingDNS(t, func(int) netip.Addr { return netip.MustParseAddr("127.0.0.1") })
	for _, host := range hosts {
		for _, u := range []string{"http://" + host + ":" + port + "/", "http://" + host + "/", "HTTPS://" + host + ":" + port} {
			_, fail := c.Do(t.Context(), Request{URL: u})
			if fail == nil || fail.Code != tool.Denied && fail.Code != tool.BadArgs {
				t.Errorf("%s: %v", u, fail)
			}
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
}

// TestConfusedAddresses are URLs that two parsers read differently. Each is
// refused, or means the one allowed host to the check and to the wire alike.
func TestConfusedAddresses(t *testing.T) {
	c := newClient(t, Policy{}, "api.example.com")
	for _, u := range []string{
		"https://api.example.com", "HTTPS://API.EXAMPLE.COM.:443/x", "https://api.example.com#@evil.test", "https://api.example.com/@evil.test",
		"https://api.example.com?@evil.test", "https://api.example.com/../evil.test", "https://api.example.com//evil.test", "https://api.example.com/\\evil.test",
		"https://api.example.com@evil.test", "https://api.example.com:443@evil.test", "https://evil.test#@api.example.com", "https://evil.test?@api.example.com",
		"https://evil.test/@api.example.com", "https://evil.test\\@api.example.com", "https://api.example.com\\@evil.test", "https://api.example.com\\.evil.test",
		"https://api.example.com%2eevil.test", "https://api.example.com%00.evil.test", "https://api.example.com%2f@evil.test", "https://api.example.com%23@evil.test",
		"https://api.example.com .evil.test", "https://api.example.com\t.evil.test", "https://api.example.com\r\nHost:evil.test", "https://api.example.com\x00.evil.test",
		"https://api.example.com.evil.test", "https://apiXexample.com", "https://api.example.com..", "https://.api.example.com", "https://api..example.com",
		"https://api.example。com", "https://api．example.com", "https://аpi.example.com", "https://api.example.com\u200b", "https://api.exam\u00adple.com",
		"https://api.example.com:", "https://api.example.com:0443", "https://api.example.com:443:443", "https://api.example.com:+443", "https://api.example.com:4 43",
		"https://api.example.com:65979", "https://api.example.com:-1", "https://api.example.com:0x1bb", "https://api.example.com:４４３",
		"https:api.example.com", "https:/api.example.com", "https:///api.example.com", "https:\\\\api.example.com", "//api.example.com", "api.example.com",
		"http://api.example.com", "ftp://api.example.com", "file://api.example.com/etc/passwd", "gopher://api.example.com", "unix:///var/run/docker.sock",
		"javascript:alert(1)", "data:text/plain,x", "blob:https://api.example.com/x", "ws://api.example.com", "wss://api.example.com", "jar:https://api.example.com!/",
		" https://api.example.com", "\thttps://api.example.com", "ht\ntps://api.example.com", "url:https://api.example.com", "https://[api.example.com]", "https://[api.example.com]:443",
		"https://[::ffff:api.example.com]", "https://user@api.example.com", "https://:pw@api.example.com", "https://@api.example.com", "https://api.example.com@",
	} {
		h, fail := c.first(Request{URL: u}, func(target, bool) {})
		if fail != nil {
			if fail.Code != tool.Denied && fail.Code != tool.BadArgs {
				t.Errorf("%q: %v", u, fail)
			}
			continue
		}
		if h.target != (target{"https", "api.example.com", 443}) || h.url.Host != "api.example.com" || h.url.User != nil || h.url.Opaque != "" || h.url.Scheme != "https" {
			t.Errorf("%q is sent to %s://%s as %v", u, h.url.Scheme, h.url.Host, h.target)
		}
	}
}

// TestOneSpelling shows that what was checked is what is dialled: an address
// with a dot at its end would else be a name that a name server answers.
func TestOneSpelling(t *testing.T) {
	s := serve(t, echo)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	c := newClient(t, Policy{AllowPrivate: []string{"127.0.0.1", "granted.test"}}, "http://127.0.0.1:*", "http://granted.test:*")
	c.resolver = lyingDNS(t, func(int) netip.Addr { return netip.MustParseAddr("127.0.0.9") })
	for _, host := range []string{"127.0.0.1", "127.0.0.1.", "[::ffff:127.0.0.1]", "[::FFFF:7F00:0001]"} {
		resp, fail := c.Do(t.Context(), Request{URL: "HTTP://" + host + ":" + port + "/x#y"})
		if fail != nil || resp.URL != "http://127.0.0.1:"+port+"/x" {
			t.Errorf("%s: %v %v", host, resp.URL, fail)
		}
	}
}

// TestAPrivateNameIsNoMetadata: a name that may be private is still in the
// hands of whoever runs its name server. It reaches machines, not the address
// where clouds hand out keys.
func TestAPrivateNameIsNoMetadata(t *testing.T) {
	for _, row := range []struct {
		pattern, host, at string
		want              bool
	}{
		{"nas.corp", "nas.corp", "192.168.1.7", true},
		{"nas.corp", "nas.corp", "127.0.0.1", true},
		{"nas.corp", "nas.corp", "::1", true},
		{"nas.corp", "nas.corp", "fd12::7", true},
		{"nas.corp", "nas.corp", "100.64.0.9", true},
		{"nas.corp", "nas.corp", "8.8.8.8", true},
		{"nas.corp", "other.corp", "192.168.1.7", false},
		{"*.corp", "nas.corp", "10.0.0.1", true},
		{"nas.corp", "nas.corp", "169.254.169.254", false},
		{"nas.corp", "nas.corp", "::ffff:169.254.169.254", false},
		{"nas.corp", "nas.corp", "fe80::1%eth0", false},
		{"nas.corp", "nas.corp", "fd00:ec2::254", false},
		{"nas.corp", "nas.corp", "100.100.100.200", false},
		{"nas.corp", "nas.corp", "192.0.0.192", false},
		{"nas.corp", "nas.corp", "0.0.0.0", false},
		{"nas.corp", "nas.corp", "224.0.0.1", false},
		{"nas.corp", "nas.corp", "64:ff9b::a9fe:a9fe", false},
		{"*", "169.254.169.254", "169.254.169.254", false},
		{"169.254.169.254", "169.254.169.254", "169.254.169.254", true}, // the operator wrote it down
		{"10.0.0.7", "10.0.0.7", "10.0.0.7", true},
		{"10.0.0.7", "10.0.0.8", "10.0.0.8", false},
	} {
		c := newClient(t, Policy{AllowPrivate: []string{row.pattern}})
		if got := c.reachable(row.host, netip.MustParseAddr(row.at)); got != row.want {
			t.Errorf("%s may be private: %s at %s: %t", row.pattern, row.host, row.at, got)
		}
	}
}
