package session

import (
	"net/http"
	"net/url"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
)

// maxBody bounds the body of a login, in bytes.
const maxBody = 4 << 10

// Routes has the routes of sessions.
type Routes struct {
	Sessions *Sessions
	Setup    *setup.Current
	Bearers  *access.Bearers
	Log      hclog.Logger
}

// List returns the routes.
func (s *Routes) List() []openapi.Route {
	return []openapi.Route{
		{
			Method: "POST", Path: "/api/session",
			Auth: openapi.Public, Handle: s.begin,
			About: "Log a browser in, by its token or by a code that is good for once: the answer sets a cookie, and has the key that goes beside it",
			Takes: api.Login{},
			Gives: api.SessionStarted{},
			Fails: []int{401},
		},
		{
			Method: "GET", Path: "/api/session",
			Auth: openapi.Token, Handle: s.show,
			About: "Whose requests these are",
			Gives: api.SessionInfo{},
		},
		{
			Method: "DELETE", Path: "/api/session",
			Auth: openapi.Token, Handle: s.end,
			About: "Log out",
			Query: []openapi.Param{params.Query("all", "boolean", "end all of your sessions")},
			Fails: []int{400},
		},
		{
			Method: "POST", Path: "/api/session/code",
			Auth: openapi.Token, Handle: s.code,
			About: "Make a code that is good for one POST /api/session, within a minute. The request needs the token itself",
			Gives: api.LoginCode{},
		},
	}
}

// begin logs a browser in. Whatever session the request brings ends: no one can prepare
// one for somebody else.
func (s *Routes) begin(w http.ResponseWriter, r *http.Request) error {
	var body api.Login
	if err := httpjson.ReadUpTo(w, r, &body, maxBody); err != nil {
		return err
	}
	if (body.Token == "") == (body.Code == "") {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, `send {"token": "…"} or {"code": "…"}`, "the body needs one of token and code")
	}
	principal, ok := s.Setup.Whose(body.Token)
	token := digest(body.Token)
	if body.Code != "" {
		principal, token, ok = s.Sessions.takeCode(body.Code)
	}
	switch {
	case !ok && body.Code != "":
		return api.Problemf(http.StatusUnauthorized, "wrong_code", "`weir open` makes another", "the code is wrong, was used, or is older than a minute")
	case !ok:
		return api.Problemf(http.StatusUnauthorized, "wrong_token", "`weir paths` says where the right one is", "the token is wrong")
	}
	old, _ := s.Sessions.of(r)
	cookie, key, one, err := s.Sessions.begin(r.Context(), principal, token, old.ID)
	if err != nil {
		return err
	}
	s.Bearers.Check()
	s.setCookie(w, r, cookie, int(lasts.Seconds()))
	w.Header().Set("Cache-Control", "no-store")
	s.Log.Info("a session began", "by", principal)
	return httpjson.Answer(w, api.SessionStarted{Key: key, SessionInfo: api.SessionInfo{
		Principal: principal, Operator: principal == s.Setup.Operator(), Expires: &one.Expires,
	}})
}

func (s *Routes) show(w http.ResponseWriter, r *http.Request) error {
	out := api.SessionInfo{Principal: access.Principal(r), Operator: access.Principal(r) == s.Setup.Operator()}
	if one, ok := s.Sessions.of(r); ok && !access.HasToken(r) {
		out.Expires = &one.Expires
	}
	return httpjson.Answer(w, out)
}

// end ends the session of a request, or all of its principal's, and their streams.
func (s *Routes) end(w http.ResponseWriter, r *http.Request) error {
	all, err := params.Bool(r, "all", false)
	if err != nil {
		return err
	}
	one, ok := s.Sessions.of(r)
	if all {
		err = s.Sessions.end(r.Context(), access.Principal(r), "")
	} else if ok && one.Principal == access.Principal(r) {
		err = s.Sessions.end(r.Context(), one.Principal, one.ID)
	}
	s.Bearers.Check()
	if err != nil {
		return err
	}
	s.setCookie(w, r, "", -1)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// code makes a code. A session cannot: it would outlast itself.
func (s *Routes) code(w http.ResponseWriter, r *http.Request) error {
	if !access.HasToken(r) {
		return api.Problemf(http.StatusForbidden, "token_only", "run `weir open` on this machine", "only the token itself makes codes")
	}
	token, ok := s.Setup.TokenDigest(access.Principal(r))
	if !ok {
		return api.Problemf(http.StatusForbidden, "token_only", "run `weir open` on this machine", "only the token itself makes codes")
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpjson.Answer(w, s.Sessions.addCode(access.Principal(r), token))
}

// setCookie sets the cookie of the session; a negative age removes it.
func (s *Routes) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	origin, _ := url.Parse(r.Header.Get("Origin"))
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || origin != nil && origin.Scheme == "https", // a proxy in front speaks TLS
	})
}
