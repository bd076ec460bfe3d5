package daemon

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
)

// A browser is what a page has of its session.
type browser struct {
	*server
	cookie *http.Cookie
	key    string
}

// login begins a session.
func (s *server) login(body string) *browser {
	s.Helper()
	a := s.do("POST", "/api/session", body, func(r *http.Request) { r.Header.Del("Authorization") })
	started := decoded[api.SessionStarted](s.T, a)
	cookies := (&http.Response{Header: a.header}).Cookies()
	if len(cookies) != 1 || started.Key == "" {
		s.Fatalf("%v %s", a.header, a.body)
	}
	return &browser{s, cookies[0], started.Key}
}

// ask sends a request of the page's; edit changes it.
func (b *browser) ask(method, path, body string, edit func(*http.Request)) answer {
	b.Helper()
	return b.do(method, path, body, func(r *http.Request) {
		r.Header.Del("Authorization")
		r.AddCookie(b.cookie)
		r.Header.Set(api.HeaderSession, b.key)
		if edit != nil {
			edit(r)
		}
	})
}

func byToken(token string) string { return `{"token":` + quoted(token) + `}` }

// A session opens what its token opens, and nothing when either half of it is missing.
func TestSession(t *testing.T) {
	s := newServer(t, replay.New())
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	b, hers := s.login(byToken(testToken)), s.login(byToken(annToken))
	if c := b.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge < 80*24*3600 || !strings.HasPrefix(c.Name, "weir_") || c.Secure {
		t.Errorf("%+v", c)
	}
	if a := b.ask("GET", "/api/settings", "", nil); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := hers.ask("GET", "/api/settings", "", nil); a.status != 403 || a.code(t) != "operators_only" {
		t.Errorf("ann: %d %s", a.status, a.body)
	}
	if i := decoded[api.SessionInfo](t, hers.ask("GET", "/api/session", "", nil)); i.Principal != "ann" || i.Operator || i.Expires == nil {
		t.Errorf("%+v", i)
	}
	if i := decoded[api.SessionInfo](t, s.get("/api/session")); i.Principal != "local" || !i.Operator || i.Expires != nil {
		t.Errorf("with the token: %+v", i)
	}
	for why, edit := range map[string]func(*http.Request){
		"the cookie alone, as any page on another port of this machine reads it": func(r *http.Request) { r.Header.Del(api.HeaderSession) },
		"the key alone":                       func(r *http.Request) { r.Header.Del("Cookie") },
		"another key":                         func(r *http.Request) { r.Header.Set(api.HeaderSession, hers.key) },
		"another cookie":                      func(r *http.Request) { r.Header.Set("Cookie", hers.cookie.String()) },
		"the cookie of another port's name":   func(r *http.Request) { r.Header.Set("Cookie", "weir_1="+b.cookie.Value) },
		"the digest of what is stored":        func(r *http.Request) { r.Header.Set("Cookie", b.cookie.Name+"="+strings.Repeat("0", 64)) },
		"a request of a page on another port": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"a request of another site":           func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"a wrong token beside the session":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer nonsense") },
	} {
		if a := b.ask("GET", "/api/conversations", "", edit); a.status != 401 {
			t.Errorf("%s: %d %s", why, a.status, a.body)
		}
	}
	u, _ := url.Parse(s.url)
	for origin, want := range map[string]int{
		s.url: 200, "http://127.0.0.1:1": 403, "http://localhost:" + u.Port(): 200, "http://evil.example": 403, "null": 403, "http://127.0.0.1." + u.Host: 403,
	} {
		a := b.ask("POST", "/api/archives/prune", `{"dry_run":true}`, func(r *http.Request) { r.Header.Set("Origin", origin) })
		if a.status != want {
			t.Errorf("from %s: %d %s", origin, a.status, a.body)
		}
		if login := s.do("POST", "/api/session", byToken(testToken), func(r *http.Request) { r.Header.Set("Origin", origin) }); login.status != want {
			t.Errorf("a login from %s: %d %s", origin, login.status, login.body)
		}
	}
}

// What is sent for a session before a login is never the session after it.
func TestSessionFixation(t *testing.T) {
	s := newServer(t, replay.New())
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	planted := s.login(byToken(annToken))
	again := planted.ask("POST", "/api/session", byToken(testToken), nil)
	cookies := (&http.Response{Header: again.header}).Cookies()
	if len(cookies) != 1 || cookies[0].Value == planted.cookie.Value || strings.Contains(again.body, planted.key) {
		t.Errorf("%s", again.body)
	}
	if a := planted.ask("GET", "/api/conversations", "", nil); a.status != 401 {
		t.Errorf("the planted session: %d %s", a.status, a.body)
	}
	chosen := &browser{s, &http.Cookie{Name: planted.cookie.Name, Value: "chosen"}, "chosen"}
	chosen.ask("POST", "/api/session", byToken(testToken), nil)
	if a := chosen.ask("GET", "/api/conversations", "", nil); a.status != 401 {
		t.Errorf("the chosen session: %d %s", a.status, a.body)
	}
}

// A session ends with a log-out, with its token and after its time, and so do its streams.
func TestSessionEnds(t *testing.T) {
	s := newServer(t, replay.New())
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	here, there, hers := s.login(byToken(testToken)), s.login(byToken(testToken)), s.login(byToken(annToken))
	open := func(b *browser) bool { return b.ask("GET", "/api/conversations", "", nil).status == 200 }
	a := here.ask("DELETE", "/api/session", "", nil)
	if cookies := (&http.Response{Header: a.header}).Cookies(); a.status != 204 || len(cookies) != 1 || cookies[0].MaxAge >= 0 {
		t.Errorf("%d %v", a.status, a.header)
	}
	if open(here) || !open(there) || !open(hers) {
		t.Errorf("after a log-out: %v %v %v", open(here), open(there), open(hers))
	}
	s.withUsers(map[string]User{"ann": {TokenSHA256: [32]byte{1}}})
	if open(hers) {
		t.Error("the session outlives its token")
	}
	s.withUsers(map[string]User{})
	if open(hers) {
		t.Error("the session outlives its user")
	}
	if a := there.ask("DELETE", "/api/session?all=true", "", nil); a.status != 204 || open(there) {
		t.Errorf("%d, open %v", a.status, open(there))
	}
	last := s.login(byToken(testToken))
	s.daemon.now = func() time.Time { return time.Now().Add(91 * 24 * time.Hour) }
	if open(last) {
		t.Error("the session never ends")
	}
}

// A session outlives a restart of the daemon; nothing in the store logs anybody in.
func TestSessionsAreStored(t *testing.T) {
	s := newServer(t, replay.New())
	b := s.login(byToken(testToken))
	again, err := New(Config{Host: s.host, Token: testToken, Models: s.daemon.cfg.Models, Profiles: s.daemon.cfg.Profiles})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequest("GET", s.url, nil)
	r.Host = strings.TrimPrefix(s.url, "http://")
	r.AddCookie(b.cookie)
	r.Header.Set(api.HeaderSession, b.key)
	if who, ok := again.sessions.Whose(r); !ok || who != "local" {
		t.Errorf("after a restart: %q %v", who, ok)
	}
	changed, err := New(Config{Host: s.host, Token: "another-token-0123456789", Models: s.daemon.cfg.Models, Profiles: s.daemon.cfg.Profiles})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := changed.sessions.Whose(r); ok {
		t.Error("a session outlives a change of the operator's token")
	}
	list, err := s.daemon.store.Sessions(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	raw, _ := json.Marshal(list)
	for _, secret := range []string{b.cookie.Value, b.key, testToken} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("the store has %q", secret)
		}
	}
}

// A code is good for once, for a minute, and only the token makes one.
func TestLoginCode(t *testing.T) {
	s := newServer(t, replay.New())
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	code := func() string { return decoded[api.LoginCode](t, s.as(annToken, "POST", "/api/session/code", "")).Code }
	first := code()
	b := s.login(`{"code":"` + first + `"}`)
	if i := decoded[api.SessionInfo](t, b.ask("GET", "/api/session", "", nil)); i.Principal != "ann" {
		t.Errorf("%+v", i)
	}
	refused := func(why, code string) {
		t.Helper()
		if a := s.post("/api/session", `{"code":`+quoted(code)+`}`); a.status != 401 || a.code(t) != "wrong_code" {
			t.Errorf("%s: %d %s", why, a.status, a.body)
		}
	}
	refused("used", first)
	refused("of nobody", strings.Repeat("0", 64))
	if a := b.ask("POST", "/api/session/code", "", nil); a.status != 403 || a.code(t) != "token_only" {
		t.Errorf("a session makes a code: %d %s", a.status, a.body)
	}
	stale := code()
	s.withUsers(map[string]User{"ann": {TokenSHA256: [32]byte{1}}})
	refused("of a token that has changed", stale)
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	old := code()
	now := time.Now()
	s.daemon.now = func() time.Time { return now.Add(2 * time.Minute) }
	refused("after a minute", old)
	var codes []string
	for range 9 {
		codes = append(codes, code())
	}
	refused("the oldest of too many", codes[0])
	s.login(`{"code":"` + codes[8] + `"}`)
}

// Sessions of one user are bounded; bad logins are refused.
func TestLoginsAreBounded(t *testing.T) {
	s := newServer(t, replay.New())
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	operator := s.login(byToken(testToken))
	first := s.login(byToken(annToken))
	for range 31 {
		s.login(byToken(annToken))
	}
	if a := first.ask("GET", "/api/conversations", "", nil); a.status != 200 {
		t.Errorf("the first of 32: %d", a.status)
	}
	s.login(byToken(annToken))
	if a := first.ask("GET", "/api/conversations", "", nil); a.status != 401 {
		t.Errorf("the first of 33: %d", a.status)
	}
	if a := operator.ask("GET", "/api/conversations", "", nil); a.status != 200 {
		t.Errorf("another's session: %d", a.status)
	}
	for body, want := range map[string]int{
		`{}`: 400, `{"token":"","code":""}`: 400, `{"token":"a","code":"b"}`: 400, `{"token":"wrong"}`: 401, `{"token":7}`: 400, `{"token":"` + strings.Repeat("x", 10<<20) + `"}`: 413,
	} {
		a := s.do("POST", "/api/session", body, func(r *http.Request) { r.Header.Del("Authorization") })
		if a.status != want || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%.40s: %d %.200s", body, a.status, a.body)
		}
	}
}

// The stream of a session ends with it.
func TestSessionStreamEnds(t *testing.T) {
	s := newServer(t, replay.New())
	b := s.login(byToken(testToken))
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/api/pulse", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(b.cookie)
	req.Header.Set(api.HeaderSession, b.key)
	req.Header.Set("Accept", kindStream)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	c := s.streamOf(resp)
	c.pulse()
	if a := b.ask("DELETE", "/api/session", "", nil); a.status != 204 {
		t.Fatal(a.body)
	}
	for {
		if _, ok := c.next(); !ok {
			return
		}
	}
}
