package daemon

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
)

// access checks, in front of every route, who asks and from where. A browser
// page of another site reaches loopback too: so the Host must be one of ours
// (against rebinding) and an Origin, when there is one, as well.
type access struct {
	d     *Daemon
	hosts []string // host names without port
	next  http.Handler
	// route is the one that will answer; public ones need no token: the page's
	// files and the health checks.
	route func(*http.Request) route
}

func (a *access) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	principal, p := a.check(r)
	if p != nil {
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
		}
		a.d.writeProblem(w, r, p)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	a.next.ServeHTTP(w, a.d.as(r, principal))
}

// check says whose request it is, or why it is refused.
func (a *access) check(r *http.Request) (principal string, p *api.Problem) {
	if !a.ours(hostName(r.Host)) {
		return "", api.Problemf(http.StatusForbidden, "bad_host", "use the address that weir printed, or add the name to [server] hosts in tools.toml",
			"the Host header %q is not one of this daemon's names", api.Clip(r.Host, 80))
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !a.ours(u.Hostname()) || !samePort(u, r.Host) {
			return "", api.Problemf(http.StatusForbidden, "bad_origin", "open the page that the daemon serves itself",
				"a page of %q may not use this daemon", api.Clip(origin, 80))
		}
	}
	route := a.route(r)
	if route.Auth == Public {
		return a.d.cfg.Principal, nil
	}
	token, ok := tokenOf(r)
	if !ok {
		return "", api.Problemf(http.StatusUnauthorized, "no_token", "send the header `Authorization: Bearer TOKEN`; `weir paths` says where the token is",
			"this route needs the token")
	}
	principal, ok = a.d.current.Whose(token)
	switch {
	case !ok:
		return "", api.Problemf(http.StatusUnauthorized, "wrong_token", "`weir paths` says where the right one is", "the token is wrong")
	case route.Auth == Operator && principal != a.d.cfg.Principal:
		return "", api.Problemf(http.StatusForbidden, "operators_only", "ask the operator of this daemon", "this is for the operator alone")
	}
	return principal, nil
}

// tokenOf is what a request bears.
func tokenOf(r *http.Request) (string, bool) {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return strings.TrimSpace(given), ok
}

// A bearer is a connection that outlives its request, and so the look at its token.
type bearer struct {
	token, principal string
	stop             context.CancelFunc
}

// bear stops a connection when its token no longer belongs to its principal. The caller
// must call gone at the end of the connection.
func (d *Daemon) bear(r *http.Request, stop context.CancelFunc) (gone func()) {
	token, _ := tokenOf(r)
	b := &bearer{token, d.principal(r), stop}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bearers[b] = true
	d.holdLocked(b) // it may have changed since the request was let in
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.bearers, b)
	}
}

// holdLocked stops a connection if its token does not hold; d.mu is held.
func (d *Daemon) holdLocked(b *bearer) {
	if principal, ok := d.current.Whose(b.token); !ok || principal != b.principal {
		b.stop()
	}
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
