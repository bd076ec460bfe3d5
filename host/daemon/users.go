package daemon

import (
	"context"
	"crypto/sha256"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A User is a person with a token of their own, other than the operator. A user sees only
// their own conversations, archives and approvals, and no settings of weir. For
// everything else, the daemon answers as if it did not exist.
type User struct {
	// TokenSHA256 is the digest of the token; zero: no token, and the user has no
	// access.
	TokenSHA256 [sha256.Size]byte
	// Profiles and Models are those that the user may name, nil: all. The first
	// profile is the user's default one, unless "default" is among them; a
	// profile whose model is not allowed asks the first that is.
	Profiles, Models []string
	// Tools lists the tools that the user sees, in every profile, nil: all; Deny
	// wins over it. Those that read the user's own archives are always there.
	Tools, Deny []string
	// Locale is the language of what the user and their models read; empty: as
	// the profile says.
	Locale tool.Locale
	Quota  usage.Quota
}

// userName matches valid names of users. Addresses and ids of conversations contain them.
var userName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`) })

// CheckUserName returns an error if no user can have the name.
func CheckUserName(name string) error {
	switch {
	case !userName().MatchString(name):
		return msg.Errorf("a user's name has 1 to 64 of the characters a-z 0-9 _ . - and begins with a letter or digit; %q does not", api.Clip(name, 80))
	case name == defaultPrincipal:
		return msg.Errorf("%s is the operator's own name", name)
	}
	return nil
}

// defaultPrincipal is the name of the operator if Config has none.
const defaultPrincipal = "local"

// A view is what of a setup is there for one principal.
type view struct {
	User     *User // nil: the operator
	Models   map[string]Model
	Profiles map[string]Profile
	first    string // the profile of those who name none
}

func (s *setup) operators() view { return view{nil, s.Models, s.Profiles, defaultProfile} }

// views makes every user's view, or says what cannot be meant.
func (s *setup) views() (map[string]view, error) {
	bad := func(hint, format string, args ...any) error {
		return api.Problemf(http.StatusInternalServerError, "config", hint, format, args...)
	}
	out, tokens := map[string]view{}, map[[sha256.Size]byte]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		u := s.Users[name]
		if err := CheckUserName(name); err != nil {
			return nil, bad("give the user another name", "%s", err)
		}
		if other, ok := tokens[u.TokenSHA256]; ok {
			return nil, bad("give one of them another token", "the users %s and %s have the same token", other, name)
		}
		if u.TokenSHA256 != [sha256.Size]byte{} {
			tokens[u.TokenSHA256] = name
		}
		for _, p := range u.Profiles {
			if _, ok := s.Profiles[p]; !ok {
				return nil, bad("correct it in tools.toml", "the user %s is allowed the profile %q, which is not configured", name, p)
			}
		}
		for _, m := range u.Models {
			if _, ok := s.Models[m]; !ok {
				return nil, bad("correct it in tools.toml", "the user %s is allowed the model %q, which is not configured", name, m)
			}
		}
		v := s.viewOf(u)
		if u.Quota.CostPerDay > 0 {
			for m, model := range v.Models {
				if c := model.Price.Currency; c != "" && c != u.Quota.Currency {
					return nil, bad("give the user models of one currency, or the quota another", "the user %s has a quota in %s, and the model %s is paid in %s", name, u.Quota.Currency, m, c)
				}
			}
		}
		out[name] = v
	}
	return out, nil
}

func (s *setup) viewOf(u User) view {
	v := view{User: &u, Models: map[string]Model{}, Profiles: map[string]Profile{}, first: defaultProfile}
	for name, m := range s.Models {
		if u.Models == nil || slices.Contains(u.Models, name) {
			v.Models[name] = m
		}
	}
	for name, p := range s.Profiles {
		if u.Profiles != nil && !slices.Contains(u.Profiles, name) {
			continue
		}
		if _, ok := v.Models[p.Model]; !ok {
			p.Model = ""
			if len(u.Models) > 0 {
				p.Model = u.Models[0]
			}
		}
		p.Allow, p.Deny = both(p.Allow, u.Tools), slices.Concat(p.Deny, u.Deny)
		if u.Locale != "" {
			p.Agent.Locale = u.Locale
		}
		v.Profiles[name] = p
	}
	if _, ok := v.Profiles[defaultProfile]; !ok {
		v.first = ""
		if len(u.Profiles) > 0 {
			v.first = u.Profiles[0]
		}
	}
	return v
}

// both is what two lists of allowed tools allow together; nil allows all.
func both(profile, user []string) []string {
	if user == nil {
		return profile
	}
	out := []string{}
	for _, name := range slices.Concat(user, ownTools) {
		if profile == nil || slices.Contains(profile, name) {
			out = append(out, name)
		}
	}
	return out
}

// ownTools read what is the user's own.
var ownTools = []string{tool.LoadHistory, tool.SearchHistory, tool.DescribeTool}

// sees reports whether a tool is there for the user; nil: the operator, who sees
// all.
func (u *User) sees(name string) bool {
	return u == nil || !slices.Contains(u.Deny, name) && (u.Tools == nil || slices.Contains(u.Tools, name) || slices.Contains(ownTools, name))
}

// quota is the user's; the operator has none.
func (u *User) quota() usage.Quota {
	if u == nil {
		return usage.Quota{}
	}
	return u.Quota
}

// view is what is there for a principal. Whoever was a user and is none any more
// has nothing.
func (d *Daemon) view(principal string) view {
	set := d.set()
	if principal == d.cfg.Principal {
		return set.operators()
	}
	if v, ok := set.users[principal]; ok {
		return v
	}
	return view{User: &User{Tools: []string{}, Quota: usage.Quota{PerMinute: -1}}}
}

// principalKey is the key of the principal in a request's context.
type principalKey struct{}

// principal returns the owner of the request's token.
func (d *Daemon) principal(r *http.Request) string {
	if p, ok := r.Context().Value(principalKey{}).(string); ok {
		return p
	}
	return d.cfg.Principal
}

// whose returns the owner of a token.
func (d *Daemon) whose(token string) (principal string, ok bool) {
	sum := sha256.Sum256([]byte(token))
	if d.cfg.Token != "" && sum == d.token {
		return d.cfg.Principal, true
	}
	if token == "" {
		return "", false
	}
	// A digest tells nothing of a token, so that how long the search takes does not
	// either.
	name, ok := d.set().tokens[sum]
	return name, ok
}

func (d *Daemon) as(r *http.Request, principal string) *http.Request {
	if principal == d.cfg.Principal {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), principalKey{}, principal))
}

// ownName refuses users who would be taken for the operator.
func (d *Daemon) ownName(s *setup) error {
	if _, ok := s.users[d.cfg.Principal]; ok {
		return api.Problemf(http.StatusInternalServerError, "config", "give the user another name", "%s is the operator's own name", d.cfg.Principal)
	}
	if name, ok := s.tokens[d.token]; ok && d.cfg.Token != "" {
		return api.Problemf(http.StatusInternalServerError, "config", "`weir user add` makes a token", "the user %s has the operator's own token", name)
	}
	return nil
}

// ownID refuses a user ids that are kept for what others do without a
// conversation.
func (d *Daemon) ownID(principal, id string) error {
	if principal == d.cfg.Principal {
		return nil
	}
	for _, prefix := range []string{CallConversation, mcpConversation} {
		if strings.HasPrefix(id, prefix) && id != prefix+principal {
			return api.Problemf(http.StatusBadRequest, "bad_conversation", "leave it out to begin a new conversation", "ids that begin with %s are weir's own", prefix)
		}
	}
	return nil
}

// localeFor returns the language for a principal and their question. If neither decides,
// it is English.
func (d *Daemon) localeFor(principal, question string) tool.Locale {
	if u := d.view(principal).User; u != nil && u.Locale != "" {
		return u.Locale
	}
	return agent.DetectLocale(question)
}
