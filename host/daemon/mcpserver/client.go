package mcpserver

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Client is how one client program gets lists and results. It widens nothing: every tool
// that is not listed can be found and called, and none that is listed may do more.
type Client struct {
	// Listing says which tools its list has; empty: what the principal's settings say.
	Listing Listing
	// Links says that a link to the whole stands beside a cut result, and that parts which
	// are no content of the answer are linked. Programs that make files of links for a model
	// break at them.
	Links bool
	// Short says that the program gives a model the structured answer in place of the text: a
	// long one is shortened.
	Short bool
	// Bare says that results have nothing of weir's in _meta, which the program would give to
	// a model. What is there stands in the text, too.
	Bare bool
}

// A Sender is what a request says about the program that sent it; each may be empty.
type Sender struct {
	Token string // the client for which its token was made
	Info  string // clientInfo.name
	Agent string // the header User-Agent
}

// The parameters of the server's address, and the headers in which they are handed on.
const (
	toolsParam, toolsHeader           = "tools", "X-Weir-Tools"
	structuredParam, structuredHeader = "structured", "X-Weir-Structured"
)

// params are the values of each parameter.
var addressParams = []struct {
	name, header string
	values       []string
}{
	{toolsParam, toolsHeader, []string{string(ListAuto), string(ListAll), string(ListSearch)}},
	{structuredParam, structuredHeader, []string{"whole", "short"}},
}

// addressed moves the parameters of a request's address into headers, which only this
// function sets. It returns the name and the values of one that has another value; empty:
// none has.
func addressed(r *http.Request) (name string, values []string) {
	var query url.Values
	if r.URL.RawQuery != "" {
		query = r.URL.Query()
	}
	for _, p := range addressParams {
		r.Header.Del(p.header)
		switch v := query.Get(p.name); {
		case slices.Contains(p.values, v):
			r.Header.Set(p.header, v)
		case query.Has(p.name):
			return p.name, p.values
		}
	}
	return "", nil
}

// client returns how the program of a request gets its answer. info is clientInfo.name. The
// address decides before the settings. h may be nil.
func (s *Server) client(h http.Header, info string) (c Client) {
	if f := s.cfg.ClientOf; f != nil {
		c = f(Sender{Token: h.Get(ClientHeader), Info: info, Agent: h.Get("User-Agent")})
	}
	if v := h.Get(toolsHeader); v != "" {
		c.Listing = Listing(v)
	}
	if v := h.Get(structuredHeader); v != "" {
		c.Short = v == "short"
	}
	return c
}

// clientOf is client for a request that the SDK has read.
func (s *Server) clientOf(req mcp.Request) Client {
	var h http.Header
	if x := req.GetExtra(); x != nil {
		h = x.Header
	}
	info := ""
	if r, ok := req.(interface{ ClientInfo() *mcp.Implementation }); ok {
		if i := r.ClientInfo(); i != nil {
			info = i.Name
		}
	}
	return s.client(h, info)
}

// infoOf is what the client of a session calls itself.
func (x *session) infoOf() string {
	if p := x.sdk.InitializeParams(); p != nil && p.ClientInfo != nil {
		return p.ClientInfo.Name
	}
	return ""
}

// clientKey is the key of the Client in a context.
type clientKey struct{}

// withClient returns the context of a request of c.
func withClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// clientIn returns the Client of a context.
func clientIn(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}
