package openapi

import (
	"net/http"
	"slices"
	"strings"
)

// A Route is one route of the HTTP interface, and its description. Every route can also answer with
// the problems of access, and a route with a body with the problems of bodies.
type Route struct {
	// Method is empty for all methods; the document leaves such a route out.
	Method, Path string
	Auth         Auth
	// Handle answers a request, or returns why it does not.
	Handle func(http.ResponseWriter, *http.Request) error

	About string
	Query []Param
	// Headers are the request headers that change what the route does, with their
	// meaning.
	Headers map[string]string
	Takes   any      // a value of the body's type; nil: no body
	Needs   []string // required members of the body
	Bare    bool     // the body is optional
	Loose   bool     // unknown members of the body are ignored
	Gives   any      // a value of the type of a successful JSON answer; nil: see Kind
	// Kind is the content type of an answer that is not JSON, or, with Gives, of the
	// stream that a client can request. Commas separate several. If Gives and Kind are
	// empty, the answer is empty.
	Kind  string
	Fails []int // the statuses of further problems
	Other bool  // another protocol defines the messages; the document does not
}

// Auth says which clients may use a route.
type Auth int

const (
	// Token admits the operator and every user. It is the zero value: a row without
	// Auth is not public.
	Token Auth = iota
	// Operator admits only the operator.
	Operator
	// Client admits those of Token, and also by a token that they made for a client
	// program. No other route admits that.
	Client
	// Public admits every client, without a token.
	Public
)

// Pattern returns the route as http.ServeMux knows it.
func (r Route) Pattern() string { return strings.TrimSpace(r.Method + " " + r.Path) }

// A Param is one parameter of a URL's query. Type is its type in JSON Schema.
type Param struct{ Name, Type, About string }

// ProblemType returns the name of the schema of a route's problems.
func (r Route) ProblemType() string {
	if strings.HasPrefix(r.Path, "/v1/") {
		return "OpenAIError"
	}
	return "ErrorBody"
}

// Statuses returns the status codes of all problems of a route, sorted.
func (r Route) Statuses() []int {
	out := append([]int{http.StatusForbidden, http.StatusInternalServerError}, r.Fails...)
	if r.Auth != Public {
		out = append(out, http.StatusUnauthorized)
	}
	if r.Takes != nil {
		out = append(out, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
