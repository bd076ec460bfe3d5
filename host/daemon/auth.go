package daemon

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// access checks, in front of every route, who asks and from where. A browser
// page of another site reaches loopback too: so the Host must be one of ours
// (against rebinding) and an Origin, when there is one, as well.
type access struct {
	token string
	hosts []string // host names without port
	next  http.Handler
	// public routes need no token: the page's files and the health checks
	public func(*http.Request) bool
}

func (a *access) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := a.check(r); p != nil {
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
		}
		writeProblem(w, r, p)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	a.next.ServeHTTP(w, r)
}

func (a *access) check(r *http.Request) *Problem {
	if !a.ours(hostName(r.Host)) {
		return problem(http.StatusForbidden, "bad_host", "use the address that weir printed, or add the name to [server] hosts in tools.toml",
			"the Host header %q is not one of this daemon's names", clip(r.Host, 80))
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !a.ours(u.Hostname()) || !samePort(u, r.Host) {
			return problem(http.StatusForbidden, "bad_origin", "open the page that the daemon serves itself",
				"a page of %q may not use this daemon", clip(origin, 80))
		}
	}
	if a.public(r) {
		return nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return problem(http.StatusUnauthorized, "no_token", "send the header `Authorization: Bearer TOKEN`; `weir paths` says where the token is",
			"this route needs the token")
	}
	if a.token == "" || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(given)), []byte(a.token)) != 1 {
		return problem(http.StatusUnauthorized, "wrong_token", "`weir paths` says where the right one is", "the token is wrong")
	}
	return nil
}

func (a *access) ours(name string) bool {
	return slices.Contains(a.hosts, strings.ToLower(strings.TrimSuffix(name, ".")))
}

// samePort refuses pages that another program serves on this machine.
func samePort(origin *url.URL, host string) bool {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		port = ""
	}
	return origin.Port() == port
}

func hostName(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return strings.Trim(hostport, "[]")
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
