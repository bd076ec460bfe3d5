package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

func rule(t testing.TB, s string) Rule {
	t.Helper()
	r, err := ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newClient makes a client that may reach loopback unless p says otherwise.
func newClient(t testing.TB, p Policy, allow ...string) *Client {
	t.Helper()
	for _, a := range allow {
		p.Allow = append(p.Allow, rule(t, a))
	}
	if p.AllowPrivate == nil {
		p.AllowPrivate = []string{"127.0.0.1"}
	}
	c, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func serve(t testing.TB, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// echo answers with the request as the server received it.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %q", r.Method, r.URL.RequestURI(), body)
	for _, k := range []string{"Authorization", "Cookie", "X-Api-Key", "Accept", "Content-Type", "Accept-Encoding", "Proxy-Authorization", "User-Agent"} {
		if v := r.Header.Get(k); v != "" {
			fmt.Fprintf(w, " %s=%s", k, v)
		}
	}
}

// A tool repeats these errors to its model, so they are in the language of the call.
// They hold no secret in either.
func TestErrorsInTheLanguageOfTheCall(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://"+r.Header.Get("X-Key")+".example")
		w.WriteHeader(http.StatusFound)
	})
	c := newClient(t, Policy{Secrets: []Secret{{Name: "KEY", Header: "X-Key", Host: s.URL, Value: "sesame-sesame"}}}, s.URL)
	for l, want := range map[tool.Locale]string{
		tool.En: "denied: " + s.URL + " redirected elsewhere: requests to https://[KEY].example:443 are not allowed for this tool (allowed: " + s.URL + ")",
		tool.Zh: "denied: " + s.URL + " 重定向到了别处：不允许该工具请求 https://[KEY].example:443 (允许的主机：" + s.URL + ")",
	} {
		if _, fail := c.Record(l).Do(t.Context(), Request{URL: s.URL}); fail == nil || fail.Error() != want {
			t.Errorf("%s: %v, want %s", l, fail, want)
		}
	}
}

func TestDo(t *testing.T) {
	s := serve(t, echo)
	c := newClient(t, Policy{}, s.URL)
	for _, row := range []struct {
		name string
		req  Request
		want string
	}{
		{"a plain request", Request{URL: s.URL + "/a?b=c"}, `GET /a?b=c "" Accept-Encoding=gzip User-Agent=weir`},
		{"a fragment stays here", Request{URL: s.URL + "/a#secret"}, `GET /a "" Accept-Encoding=gzip User-Agent=weir`},
		{"method, body and headers", Request{Method: "post", URL: s.URL, Body: []byte("x=1"), Headers: map[string]string{"content-type": "a/b", "Cookie": "c=1", "user-agent": "me"}},
			`POST / "x=1" Cookie=c=1 Content-Type=a/b Accept-Encoding=gzip User-Agent=me`},
		{"headers of the connection are ours", Request{URL: s.URL, Headers: map[string]string{"Host": "evil.com", "Transfer-Encoding": "chunked", "Proxy-Authorization": "x", "accept-encoding": "br"}},
			`GET / "" Accept-Encoding=gzip User-Agent=weir`},
	} {
		t.Run(row.name, func(t *testing.T) {
			resp, fail := c.Do(t.Context(), row.req)
			if fail != nil {
				t.Fatal(fail)
			}
			if resp.Status != 200 || string(resp.Body) != row.want {
				t.Errorf("got %d %s, want %s", resp.Status, resp.Body, row.want)
			}
		})
	}
}

func TestDoRefuses(t *testing.T) {
	var hits atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	c := newClient(t, Policy{MaxBytes: 100}, "api.example.com", s.URL)
	none := newClient(t, Policy{})
	for _, row := range []struct {
		name   string
		client *Client
		req    Request
		code   tool.Code
		says   string
	}{
		{"another host", c, Request{URL: "https://evil.com/x?token=t0ken"}, tool.Denied, "requests to https://evil.com:443 are not allowed for this tool (allowed: api.example.com, " + s.URL + ")"},
		{"another scheme", c, Request{URL: "http://api.example.com"}, tool.Denied, "requests to http://api.example.com:80 are not allowed"},
		{"another port", c, Request{URL: "https://api.example.com:444"}, tool.Denied, "requests to https://api.example.com:444 are not allowed"},
		{"nothing allowed", none, Request{URL: s.URL}, tool.Denied, "(this tool has no network access)"},
		{"a file", c, Request{URL: "file:///etc/passwd"}, tool.BadArgs, "only https and http"},
		{"no URL", c, Request{}, tool.BadArgs, "only https and http"},
		{"half a URL", c, Request{URL: "https://%zz?token=t0ken"}, tool.BadArgs, "not a valid URL"},
		{"a password in the URL", c, Request{URL: "https://u:t0ken@api.example.com"}, tool.BadArgs, "user name or password"},
		{"a method that opens tunnels", c, Request{Method: "CONNECT", URL: s.URL}, tool.BadArgs, "method"},
		{"a header within a header", c, Request{URL: s.URL, Headers: map[string]string{"X": "a\r\nHost: evil.com"}}, tool.BadArgs, "header"},
		{"a header with a bad name", c, Request{URL: s.URL, Headers: map[string]string{"X Y": "a"}}, tool.BadArgs, "header"},
		{"a large body", c, Request{Method: "POST", URL: s.URL, Body: make([]byte, 101)}, tool.TooLarge, "request's body is larger than 100"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, fail := row.client.Do(t.Context(), row.req)
			if fail == nil || fail.Code != row.code || !strings.Contains(fail.Error(), row.says) {
				t.Fatalf("got %v", fail)
			}
			if strings.Contains(fail.Error(), "t0ken") {
				t.Errorf("the query is in %v", fail)
			}
		})
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests were sent", hits.Load())
	}
}

// TestPrivateAddresses asks for this machine in many spellings, with every
// host allowed: the address decides, not the name.
func TestPrivateAddresses(t *testing.T) {
	var hits atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	c := newClient(t, Policy{AllowPrivate: []string{"only.this.one"}}, "http://*:*")
	for _, host := range strings.Fields(`127.0.0.1 127.1 127.0.1 0x7f.0.0.1 0x7f000001 0177.0.0.1 2130706433 017700000001 0 0.0.0.0
		localhost LOCALHOST localhost. [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [::127.0.0.1] [64:ff9b::7f00:1]
		127.0.0.1. 127.255.255.254`) {
		_, fail := c.Do(t.Context(), Request{URL: "http://" + host + ":" + port + "/"})
		if fail == nil {
			t.Errorf("%s was reached", host)
		}
	}
	if _, fail := c.Do(t.Context(), Request{URL: "http://169.254.169.254/latest/meta-data"}); fail == nil || fail.Code != tool.Denied ||
		!strings.Contains(fail.Msg, "leads to this machine or a private network") {
		t.Errorf("metadata: %v", fail)
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
}

// lyingDNS answers every question with the addresses that f gives, turn by turn.
func lyingDNS(t *testing.T, f func(turn int) netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 512)
		for turn := 0; ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			msg := bytes.Clone(buf[:n])
			question := 12
			for msg[question] != 0 {
				question += int(msg[question]) + 1
			}
			end := question + 5
			msg = msg[:end]
			msg[2], msg[3] = 0x81, 0x80
			binary.BigEndian.PutUint32(msg[8:], 0) // no further records
			if msg[question+2] == 1 {              // an A question; AAAA is answered with nothing
				ip := f(turn).As4()
				turn++
				binary.BigEndian.PutUint16(msg[6:], 1)
				msg = append(msg, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				msg = append(msg, ip[:]...)
			}
			conn.WriteTo(msg, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// TestRebinding has a name server that changes its mind: a name that was
// public when it was first looked up is this machine when it is dialled.
func TestRebinding(t *testing.T) {
	var hits atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	c := newClient(t, Policy{AllowPrivate: []string{"granted.test"}}, "http://*:*")
	c.resolver = lyingDNS(t, func(turn int) netip.Addr {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("169.254.169.254")}[turn%3]
	})
	for range 6 {
		if _, fail := c.Do(t.Context(), Request{URL: "http://public.test:" + port + "/"}); fail == nil || fail.Code != tool.Denied {
			t.Errorf("got %v", fail)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
	c.resolver = lyingDNS(t, func(int) netip.Addr { return netip.MustParseAddr("127.0.0.1") })
	if resp, fail := c.Do(t.Context(), Request{URL: "http://granted.test:" + port + "/"}); fail != nil || resp.Status != 200 {
		t.Errorf("a name with the permission: %v, %v", resp.Status, fail)
	}
}

// A redirect to a name whose address changes reaches no private address either, and a
// name that may be private reaches no metadata service by a second look-up.
func TestRebindingOnARedirect(t *testing.T) {
	var hits atomic.Int32
	hidden := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, hiddenPort, _ := net.SplitHostPort(hidden.Listener.Addr().String())
	from := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "http://"+r.URL.Query().Get("to"), http.StatusFound)
	})
	_, port, _ := net.SplitHostPort(from.Listener.Addr().String())
	c := newClient(t, Policy{AllowPrivate: []string{"granted.test"}}, "http://*:*")
	c.resolver = lyingDNS(t, func(int) netip.Addr { return netip.MustParseAddr("127.0.0.1") })
	for _, to := range []string{"public.test:" + hiddenPort, "127.0.0.1:" + hiddenPort, "[::1]:" + hiddenPort, "[::ffff:127.0.0.1]:" + hiddenPort, "localhost:" + hiddenPort, "2130706433:" + hiddenPort, "x.granted.test:" + hiddenPort} {
		if _, fail := c.Do(t.Context(), Request{URL: "http://granted.test:" + port + "/?to=" + to}); fail == nil {
			t.Errorf("the redirect to %s arrived", to)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
	for _, second := range []string{"169.254.169.254", "100.100.100.200", "0.0.0.0"} {
		c.resolver = lyingDNS(t, func(turn int) netip.Addr {
			if turn == 0 {
				return netip.MustParseAddr("127.0.0.1")
			}
			return netip.MustParseAddr(second)
		})
		if _, fail := c.Do(t.Context(), Request{URL: "http://granted.test:" + port + "/?to=granted.test:" + hiddenPort}); fail == nil || fail.Code != tool.Denied {
			t.Errorf("the second look-up, %s: %v", second, fail)
		}
	}
}

func TestProxiesAreIgnored(t *testing.T) {
	proxy := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the proxy got %s", r.URL) })
	for _, k := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(k, proxy.URL)
	}
	s := serve(t, echo)
	if _, fail := newClient(t, Policy{}, s.URL).Do(t.Context(), Request{URL: s.URL}); fail != nil {
		t.Error(fail)
	}
}

func TestRedirects(t *testing.T) {
	final := serve(t, echo)
	var from *httptest.Server
	from = serve(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		var to string
		fmt.Sscanf(r.URL.Path, "/%d/%s", &status, &to)
		switch to {
		case "":
			echo(w, r)
			return
		case "loop":
			to = r.URL.Path
		case "self":
			to = "/?landed"
		case "other":
			to = final.URL + "/end"
		case "metadata":
			to = "http://169.254.169.254/latest"
		case "file":
			to = "file:///etc/passwd"
		case "user":
			to = strings.Replace(final.URL, "://", "://u:p@", 1)
		case "bad":
			to = "http://%zz/"
		}
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	})
	c := newClient(t, Policy{}, from.URL, final.URL)
	headers := map[string]string{"Authorization": "guest", "Cookie": "c", "X-Api-Key": "k", "Accept": "text/*", "Content-Type": "a/b"}
	for _, row := range []struct {
		name, method, path string
		want               string // of the body, or of the error
	}{
		{"to the same host everything goes", "GET", "/302/self", `GET /?landed "" Authorization=guest Cookie=c X-Api-Key=k Accept=text/* Content-Type=a/b`},
		{"to another host nothing that could be a key", "GET", "/302/other", `GET /end "" Accept=text/* Content-Type=a/b`},
		{"301 turns POST into GET", "POST", "/301/other", `GET /end "" Accept=text/*`},
		{"302 too", "POST", "/302/other", `GET /end "" Accept=text/*`},
		{"303 turns everything into GET", "PUT", "/303/other", `GET /end "" Accept=text/*`},
		{"302 leaves PUT", "PUT", "/302/other", `PUT /end "body" Accept=text/* Content-Type=a/b`},
		{"307 keeps method and body", "POST", "/307/other", `POST /end "body" Accept=text/* Content-Type=a/b`},
		{"308 too", "DELETE", "/308/other", `DELETE /end "body" Accept=text/* Content-Type=a/b`},
		{"without end", "GET", "/302/loop", "redirected more than 5 times"},
		{"to the metadata", "GET", "/302/metadata", "redirected elsewhere: requests to http://169.254.169.254:80 are not allowed"},
		{"to a file", "GET", "/302/file", "only https and http"},
		{"with a password", "GET", "/302/user", "user name or password"},
		{"to nowhere", "GET", "/302/bad", "redirected to something that is no address"},
	} {
		t.Run(row.name, func(t *testing.T) {
			resp, fail := c.Do(t.Context(), Request{Method: row.method, URL: from.URL + row.path, Headers: headers, Body: []byte("body")})
			got := string(resp.Body)
			if fail != nil {
				got = fail.Error()
			} else if row.method == "GET" {
				got = strings.Replace(got, `"body"`, `""`, 1)
			}
			if !strings.Contains(got, row.want) {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
	never := newClient(t, Policy{MaxRedirects: -1}, from.URL)
	if _, fail := never.Do(t.Context(), Request{URL: from.URL + "/302/self"}); fail == nil || !strings.Contains(fail.Msg, "more than 0 times") {
		t.Errorf("redirects forbidden: %v", fail)
	}
}

func TestTooLarge(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 1<<20))
			z.Close()
			return
		}
		w.Write(make([]byte, 1000))
	})
	c := newClient(t, Policy{MaxBytes: 1000}, s.URL)
	if resp, fail := c.Do(t.Context(), Request{URL: s.URL}); fail != nil || len(resp.Body) != 1000 {
		t.Errorf("just fitting: %v", fail)
	}
	if _, fail := c.Do(t.Context(), Request{URL: s.URL + "/bomb"}); fail == nil || fail.Code != tool.TooLarge {
		t.Errorf("compressed: %v", fail)
	}
	c = newClient(t, Policy{MaxBytes: 999}, s.URL)
	if _, fail := c.Do(t.Context(), Request{URL: s.URL}); fail == nil || fail.Code != tool.TooLarge {
		t.Errorf("one too many: %v", fail)
	}
}

func TestNoAnswer(t *testing.T) {
	hold := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
		}
		<-hold
	})
	defer close(hold) // before the server waits for its handlers
	dead := httptest.NewServer(nil)
	dead.Close()
	tls := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Write([]byte("short"))
	})
	hosts := []string{s.URL, dead.URL, tls.URL, cut.URL}
	patient, hasty := newClient(t, Policy{}, hosts...), newClient(t, Policy{Timeout: 200 * time.Millisecond}, hosts...)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		name string
		ctx  context.Context
		url  string
		code tool.Code
		says string
	}{
		{"silence", t.Context(), s.URL, tool.TimedOut, s.URL + " did not answer in time"},
		{"a body that does not end", t.Context(), s.URL + "/drip", tool.TimedOut, "did not answer in time"},
		{"the caller is gone", cancelled, s.URL, tool.Cancelled, "was cancelled"},
		{"nobody listens", t.Context(), dead.URL + "/?token=t0ken", tool.Failed, "the connection was refused"},
		{"an unknown certificate", t.Context(), tls.URL, tool.Failed, "no secure connection"},
		{"an answer cut short", t.Context(), cut.URL, tool.Failed, "the connection was closed early"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := patient
			if row.code == tool.TimedOut {
				c = hasty
			}
			_, fail := c.Do(row.ctx, Request{URL: row.url})
			if fail == nil || fail.Code != row.code || !strings.Contains(fail.Msg, row.says) {
				t.Errorf("got %v", fail)
			}
			if fail != nil && strings.Contains(fail.Error(), "t0ken") {
				t.Errorf("the query is in %v", fail)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	const value = `sk-canary/+"12345`
	var got atomic.Value
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Get("Authorization")
		got.Store(h)
		w.Header().Set("X-Echo", h)
		w.Header().Set("Location", "/?k="+url.QueryEscape(value))
		fmt.Fprintf(w, "%s|%s|%s|%s|%q|%s", h, base64.StdEncoding.EncodeToString([]byte(value)), url.QueryEscape(value),
			base64.RawURLEncoding.EncodeToString([]byte("Bearer "+value)), value, url.PathEscape(value))
	})
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "other:", r.Header.Get("Authorization")) })
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	secret := func(host string) Secret {
		return Secret{Name: "KEY", Header: "authorization", Format: "Bearer {}", Host: host, Value: value}
	}
	c := newClient(t, Policy{Secrets: []Secret{secret(s.URL), secret(to.URL)}}, s.URL, other.URL, to.URL)
	resp, fail := c.Do(t.Context(), Request{URL: s.URL, Headers: map[string]string{"Authorization": "Bearer of the guest"}})
	if fail != nil {
		t.Fatal(fail)
	}
	if got.Load() != "Bearer "+value {
		t.Errorf("the server got %q", got.Load())
	}
	if all := fmt.Sprint(resp.URL, resp.Headers, string(resp.Body)); strings.Contains(all, "canary") || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(value))[:12]) || strings.Count(all, "[KEY]") < 7 {
		t.Errorf("the guest gets %s", all)
	}
	for _, u := range []string{other.URL, to.URL} {
		if resp, fail := c.Do(t.Context(), Request{URL: u}); fail != nil || string(resp.Body) != "other:" {
			t.Errorf("a host without the secret got %q, %v", resp.Body, fail)
		}
	}
	// A guest that knows a secret from elsewhere does not read it back in an error.
	if _, fail := c.Do(t.Context(), Request{URL: "https://sk-canary12345.evil.com"}); fail == nil {
		t.Error("allowed")
	}
}

func TestSecretsThatAreWrong(t *testing.T) {
	good := Secret{Name: "KEY", Header: "X-Api-Key", Host: "api.example.com", Value: "v"}
	for _, row := range []struct {
		says string
		do   func(*Secret)
	}{
		{"it must belong to a host", func(s *Secret) { s.Host = "*" }},
		{"host rule", func(s *Secret) { s.Host = "" }},
		{"is not a header that can carry a secret", func(s *Secret) { s.Header = "Host" }},
		{"is not a header that can carry a secret", func(s *Secret) { s.Header = "" }},
		{"line break", func(s *Secret) { s.Value = "a\nb" }},
		{"no {}", func(s *Secret) { s.Format = "Bearer" }},
	} {
		s := good
		row.do(&s)
		if _, err := New(Policy{Secrets: []Secret{s}}); err == nil || !strings.Contains(err.Error(), row.says) || !strings.Contains(err.Error(), "secret KEY: ") {
			t.Errorf("%+v: %v", s, err)
		}
	}
	good.Value = "" // not set yet: the host may still be asked
	c, err := New(Policy{Secrets: []Secret{good}})
	if err != nil {
		t.Fatal(err)
	}
	h := make(http.Header)
	c.inject(h, target{"https", "api.example.com", 443})
	if len(h) != 0 {
		t.Errorf("sent: %v", h)
	}
	if _, err := New(Policy{AllowPrivate: []string{"a b"}}); err == nil {
		t.Error("a private host that is none passes")
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"https://api.example.com", "http://127.0.0.1:80/", "https://[::1%25lo]/", "https://a@b", "//x", "https://EXAMPLE.com.:443"} {
		f.Add(s)
	}
	r, err := ParseRule("api.example.com")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse(s)
		if err != nil {
			return
		}
		got, err := parseTarget(u)
		if err != nil {
			return
		}
		if r.allows(got) && (!strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), "api.example.com") || u.Scheme != "https" || u.User != nil) {
			t.Errorf("%q is allowed as %v", s, got)
		}
		if strings.ContainsAny(got.host, "/@#? \x00") {
			t.Errorf("%q has the host %q", s, got.host)
		}
	})
}
