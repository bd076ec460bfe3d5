package clienttokens

import (
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
)

// maxBody bounds the body of a request for a token, in bytes.
const maxBody = 4 << 10

// Routes has the routes of tokens.
type Routes struct {
	Tokens  *Tokens
	Revoked func() // called when tokens were revoked: ends what goes on with them
	Now     func() time.Time
	Log     hclog.Logger
}

// List returns the routes.
func (s *Routes) List() []openapi.Route {
	return []openapi.Route{
		{
			Method: "POST", Path: "/api/client-tokens",
			Auth: openapi.Token, Handle: s.add,
			About: "Make a token for a client program, which opens /v1, /mcp and reads archived results alone. The request needs the token itself",
			Takes: api.NewClientToken{},
			Needs: []string{"client"},
			Gives: api.MadeClientToken{},
			Fails: []int{409},
		},
		{
			Method: "GET", Path: "/api/client-tokens",
			Auth: openapi.Token, Handle: s.list,
			About: "Your tokens for client programs, the oldest first",
			Gives: api.ClientTokens{},
		},
		{
			Method: "DELETE", Path: "/api/client-tokens/{client}",
			Auth: openapi.Token, Handle: s.revoke,
			About: "Revoke your tokens for a client program, and end their streams",
			Query: []openapi.Param{params.Query("id", "string", "only the token with this id")},
			Gives: api.ClientTokens{},
			Fails: []int{404},
		},
	}
}

func (s *Routes) add(w http.ResponseWriter, r *http.Request) error {
	var body api.NewClientToken
	if err := httpjson.ReadUpTo(w, r, &body, maxBody); err != nil {
		return err
	}
	if err := setup.CheckClientName(body.Client); err != nil {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, "write the name in lower case, for example opencode", "%s", err)
	}
	owner, own, err := s.own(r)
	if err != nil {
		return err
	}
	if owner == "" || !access.HasToken(r) { // a session ends, and what it made would not
		return api.Problemf(http.StatusForbidden, "token_only", "run `weir mcp install` on this machine", "only the token itself makes tokens for clients")
	}
	if len(own) >= most {
		return api.Problemf(http.StatusConflict, "too_many", "`weir client list` shows them, and `weir client revoke` revokes some", "there are %d tokens for clients", len(own))
	}
	token, one, err := s.Tokens.add(r.Context(), access.Principal(r), owner, body.Client, s.Now())
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	s.Log.Info("a token was made for a client", "client", one.Client, "by", one.Principal)
	return httpjson.Answer(w, api.MadeClientToken{ClientToken: shown(one), Token: token})
}

func (s *Routes) list(w http.ResponseWriter, r *http.Request) error {
	_, own, err := s.own(r)
	return httpjson.AnswerOr(w, wire(own), err)
}

func (s *Routes) revoke(w http.ResponseWriter, r *http.Request) error {
	_, own, err := s.own(r)
	if err != nil {
		return err
	}
	client, id := r.PathValue("client"), r.URL.Query().Get("id")
	var gone []store.ClientToken
	var digests []string
	for _, t := range own {
		if t.Client == client && (id == "" || shown(t).ID == id) {
			gone, digests = append(gone, t), append(digests, t.Digest)
		}
	}
	if len(gone) == 0 {
		return api.Problemf(http.StatusNotFound, "not_found", "`weir client list` shows them", "there is no such token for the client %q", api.Clip(client, 80))
	}
	err = s.Tokens.Store.DeleteClientTokens(r.Context(), digests...)
	s.Revoked()
	if err == nil {
		s.Log.Info("tokens for a client were revoked", "client", client, "by", access.Principal(r), "tokens", len(gone))
	}
	return httpjson.AnswerOr(w, wire(gone), err)
}

// own returns the digest of the own token of a request's principal, empty: there is none,
// and the tokens for clients that it made.
func (s *Routes) own(r *http.Request) (owner string, list []store.ClientToken, err error) {
	owner, ok := s.Tokens.Setup.TokenDigest(access.Principal(r))
	if !ok {
		return "", nil, nil
	}
	list, err = s.Tokens.Store.ClientTokens(r.Context(), access.Principal(r), owner)
	return owner, list, err
}

func wire(list []store.ClientToken) api.ClientTokens {
	out := api.ClientTokens{Tokens: []api.ClientToken{}}
	for _, t := range list {
		out.Tokens = append(out.Tokens, shown(t))
	}
	return out
}

func shown(t store.ClientToken) api.ClientToken {
	return api.ClientToken{ID: t.Digest[:api.ClientTokenIDLen], Client: t.Client, Created: t.Created}
}
