// Package access lets requests in: it checks from where they come, whose token they
// bear, and whether a route is for them. Principal returns afterwards whose request it is.
package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/setup"
)

// A Check is a handler that checks, in front of every route, who asks and from where. A browser
// page of another site reaches loopback too: so the Host must be one of ours
// (against rebinding) and an Origin, when there is one, as well.
type Check struct {
	Setup *setup.Current
	Hosts []string // host names without port
	// Sessions finds the session of a request without a token. Nil: there are none.
	Sessions Sessions
	// Clients finds the owners of tokens that were made for client programs. Nil: there are
	// none.
	Clients Clients
	Next    http.Handler
	// Auth says whom the route of a request admits; public ones need no token: the
	// page's files and the health checks.
	Auth func(*http.Request) openapi.Auth
	// Refuse answers a request that may not pass.
	Refuse func(http.ResponseWriter, *http.Request, *api.Problem)
}

func (a *Check) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, p := a.check(r)
	if p != nil {
		if p.Status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="weir"`)
		}
		a.Refuse(w, r, p)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	a.Next.ServeHTTP(w, as(r, who))
}

// check says whose request it is, or why it is refused.
func (a *Check) check(r *http.Request) (who caller, p *api.Problem) {
	if !a.ours(hostName(r.Host)) {
		return who, api.Problemf(http.StatusForbidden, "bad_host", "use the address that weir printed, or add the name to [server] hosts in tools.toml",
			"the Host header %q is not one of this daemon's names", api.Clip(r.Host, 80))
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !a.ours(u.Hostname()) || !samePort(u, r.Host) {
			return who, api.Problemf(http.StatusForbidden, "bad_origin", "open the page that the daemon serves itself",
				"a page of %q may not use this daemon", api.Clip(origin, 80))
		}
	}
	auth := a.Auth(r)
	if auth == openapi.Public {
		return caller{principal: a.Setup.Operator()}, nil
	}
	if who, p = a.caller(r); p != nil {
		return who, p
	}
	switch {
	case who.client != "" && auth != openapi.Client:
		return who, api.Problemf(http.StatusForbidden, "clients_token", "use your own token here; `weir paths` says where it is",
			"this token was made for the client %s: it opens /v1 and /mcp and reads archived results, and nothing else", who.client)
	case auth == openapi.Operator && who.principal != a.Setup.Operator():
		return who, operatorsOnly()
	}
	return who, nil
}

// caller says whose request it is, by its token or else its session.
func (a *Check) caller(r *http.Request) (who caller, p *api.Problem) {
	token, ok := tokenOf(r)
	if !ok && a.Sessions != nil {
		if who.principal, ok = a.Sessions.Whose(r); ok {
			return who, nil
		}
	}
	if !ok {
		return who, api.Problemf(http.StatusUnauthorized, "no_token", "send the header `Authorization: Bearer TOKEN`; `weir paths` says where the token is",
			"this route needs the token")
	}
	if who.principal, ok = a.Setup.Whose(token); ok {
		return who, nil
	}
	var err error
	if a.Clients != nil {
		who.principal, who.client, ok, err = a.Clients.Whose(r.Context(), token)
	}
	switch {
	case err != nil:
		p = api.Problemf(http.StatusServiceUnavailable, "store", "try again in a moment", "the token cannot be looked up: the database does not answer")
		p.RetryAfter = 2 * time.Second
		return who, p
	case !ok:
		return who, api.Problemf(http.StatusUnauthorized, "wrong_token", "`weir paths` says where the right one is", "the token is wrong")
	}
	return who, nil
}

func operatorsOnly() *api.Problem {
	return api.Problemf(http.StatusForbidden, "operators_only", "ask the operator of this daemon", "this is for the operator alone")
}

// Sessions finds sessions.
type Sessions interface {
	// Whose returns the principal of a request's session; false: it has none.
	Whose(r *http.Request) (principal string, ok bool)
}

// Clients finds the owners of tokens that were made for client programs.
type Clients interface {
	// Whose returns the owner of a token and the client for which it was made; false: it is
	// no such token, or does not hold any more.
	Whose(ctx context.Context, token string) (principal, client string, ok bool, err error)
}

// A caller is whose request one is.
type caller struct {
	principal string
	client    string // for which the token was made; empty: it is the principal's own, or a session
}

// callerKey is the key of the caller in a request's context.
type callerKey struct{}

// Principal returns the owner of the token of a request that was let in.
func Principal(r *http.Request) string { return callerOf(r).principal }

// Client returns the client program for which the token of a request was made that was let
// in; empty: the request has the principal's own token or session.
func Client(r *http.Request) string { return callerOf(r).client }

func callerOf(r *http.Request) caller {
	who, _ := r.Context().Value(callerKey{}).(caller)
	return who
}

// as returns the request as one of that caller's.
func as(r *http.Request, who caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
}

// HasToken reports whether a request bears a token, and not only a session.
func HasToken(r *http.Request) bool {
	_, ok := tokenOf(r)
	return ok
}

// TokenDigest returns the digest of the token that a request bears, in hexadecimal; empty: it
// bears none.
func TokenDigest(r *http.Request) string {
	token, ok := tokenOf(r)
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// tokenOf is what a request bears.
func tokenOf(r *http.Request) (string, bool) {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return strings.TrimSpace(given), ok
}

func (a *Check) ours(name string) bool {
	return slices.Contains(a.Hosts, strings.ToLower(strings.TrimSuffix(name, ".")))
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
