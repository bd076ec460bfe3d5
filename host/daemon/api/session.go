package api

import "time"

// HeaderSession is the request header that a page sends beside its session's cookie.
const HeaderSession = "X-Weir-Session"

// A Login is the body of POST /api/session: exactly one of the two.
type Login struct {
	Token string `json:"token,omitempty"`
	// Code is one of POST /api/session/code, which is good for once.
	Code string `json:"code,omitempty"`
}

// A SessionStarted is a new session: its cookie is in the answer's header.
type SessionStarted struct {
	SessionInfo
	// Key goes into the header X-Weir-Session of each request, beside the cookie. A page
	// keeps it in its own storage, which no other port of this machine can read.
	Key string `json:"key"`
}

// A SessionInfo says whose requests these are.
type SessionInfo struct {
	Principal string `json:"principal"`
	Operator  bool   `json:"operator"`
	// Expires is the end of the session; absent: the request has a token.
	Expires *time.Time `json:"expires_at,omitempty"`
}

// A LoginCode is good for one POST /api/session, until it expires.
type LoginCode struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires_at"`
}
