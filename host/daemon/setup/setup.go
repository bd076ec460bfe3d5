// Package setup has what of the daemon's configuration can change while it serves: the
// models, the profiles, the users, and what each user may use of them.
//
// A Current holds the Config in force and answers for each principal what is there for
// them. Configure replaces the Config as a whole. A turn keeps the State with which it
// began.
//
// # Files
//
//   - config: what can change
//   - setup, state: what is in force
//   - client: a client program that runs the loop itself
//   - model: a model
//   - user: a user
package setup

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/sdk/tool"
)

// A Current holds the Config in force. Create it with New. It is safe for concurrent
// use.
type Current struct {
	operator string
	token    string // the operator's; empty opens nothing
	digest   [sha256.Size]byte
	changing sync.Mutex // held by Configure
	state    atomic.Pointer[State]
	changed  signal.Signal
	names    func(name string) toolname.Names // nil: each tool has one
}

// New returns a Current with its first Config. An empty operator is DefaultOperator; an
// empty token of the operator's opens nothing.
func New(operator, token string, first Config) (*Current, error) {
	operator = cmp.Or(operator, DefaultOperator)
	c := &Current{operator: operator, token: token, digest: sha256.Sum256([]byte(token))}
	return c, c.Configure(first)
}

// Configure puts a Config in force for every turn that begins afterwards. Turns that
// run end under the one with which they began. After an error, nothing has changed.
func (c *Current) Configure(next Config) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	state, err := next.ready()
	if err == nil {
		err = c.ownName(state)
	}
	if err != nil {
		return err
	}
	for _, v := range state.users {
		v.User.names = c.named
	}
	c.state.Store(state)
	c.changed.Send()
	return nil
}

// SetNames sets what returns the names of a tool, by the one under which it is offered: lists
// of tools hold for all of them. It must be called before anything is served.
func (c *Current) SetNames(f func(name string) toolname.Names) { c.names = f }

func (c *Current) named(name string) toolname.Names {
	if c.names == nil {
		return toolname.Names{Name: name}
	}
	return c.names(name)
}

// Changed returns a channel that is closed by the next successful Configure.
func (c *Current) Changed() <-chan struct{} { return c.changed.Next() }

// ownName refuses users who would be taken for the operator.
func (c *Current) ownName(s *State) error {
	if _, ok := s.users[c.operator]; ok {
		return api.Problemf(http.StatusInternalServerError, "config", "give the user another name", "%s is the operator's own name", c.operator)
	}
	if name, ok := s.tokens[c.digest]; ok && c.token != "" {
		return api.Problemf(http.StatusInternalServerError, "config", "`weir user add` makes a token", "the user %s has the operator's own token", name)
	}
	return nil
}

// State returns what is in force.
func (c *Current) State() *State { return c.state.Load() }

// Operator returns the operator's name.
func (c *Current) Operator() string { return c.operator }

// View returns what is there for a principal. A user who was removed has nothing.
func (c *Current) View(principal string) View {
	s := c.State()
	if principal == c.operator {
		return View{nil, s.Models, s.Profiles, DefaultProfile}
	}
	if v, ok := s.users[principal]; ok {
		return v
	}
	return View{User: &User{Tools: []string{}, Quota: usage.Quota{PerMinute: -1}}}
}

// Whose returns the owner of a token.
func (c *Current) Whose(token string) (principal string, ok bool) {
	sum := sha256.Sum256([]byte(token))
	if c.token != "" && sum == c.digest {
		return c.operator, true
	}
	if token == "" {
		return "", false
	}
	// A digest tells nothing of a token, so that how long the search takes does not
	// either.
	name, ok := c.State().tokens[sum]
	return name, ok
}

// TokenDigest returns the digest of a principal's token, in hexadecimal; false: there is
// none.
func (c *Current) TokenDigest(principal string) (digest string, ok bool) {
	if principal == c.operator {
		return hex.EncodeToString(c.digest[:]), c.token != ""
	}
	u, ok := c.State().Users[principal]
	return hex.EncodeToString(u.TokenSHA256[:]), ok && u.TokenSHA256 != [sha256.Size]byte{}
}

// Account returns a principal's account; errors about its quota are in the language l.
func (c *Current) Account(principal string, l tool.Locale) usage.Account {
	return usage.Account{Principal: principal, Quota: c.View(principal).User.OwnQuota(), Locale: l}
}

// Locale returns the language for a principal and their question. If neither decides,
// it is English.
func (c *Current) Locale(principal, question string) tool.Locale {
	if u := c.View(principal).User; u != nil && u.Locale != "" {
		return u.Locale
	}
	return agent.DetectLocale(question)
}
