package setup

import (
	"crypto/sha256"
	"maps"
	"net/http"
	"slices"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// A View is what of a State is there for one principal.
type View struct {
	User     *User // nil: the operator
	Models   map[string]Model
	Profiles map[string]Profile
	// First is the profile of questions that name none.
	First string
}

// A State is a Config made ready. It never changes.
type State struct {
	Config
	// Slots has room for the turns that may run at once; nil: no bound.
	Slots chan struct{}
	users map[string]View
	// tokens are the users' names by the digests of their tokens.
	tokens map[[sha256.Size]byte]string
}

// ready returns the State of a Config.
func (c Config) ready() (*State, error) {
	if _, ok := c.Profiles[DefaultProfile]; !ok {
		return nil, api.Problemf(http.StatusInternalServerError, "config", "", "there is no profile named default")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		if m := c.Profiles[name].Model; c.Models[m].Model == nil {
			return nil, api.Problemf(http.StatusInternalServerError, "config", "add [models."+m+"] to tools.toml, or name another",
				"the profile %s wants the model %q, which is not configured", name, m)
		}
		if err := c.checkFallback(tool.Textf("the profile %s", name), c.Profiles[name].Fallback); err != nil {
			return nil, err
		}
		if err := c.Profiles[name].Agent.Validate(); err != nil {
			return nil, api.Problemf(http.StatusInternalServerError, "config", "correct it in tools.toml", "the profile %s: %s", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if err := c.checkFallback(tool.Textf("the model %s", name), c.Models[name].Fallback); err != nil {
			return nil, err
		}
	}
	out := &State{Config: c, tokens: map[[sha256.Size]byte]string{}}
	out.Models = withEstimators(c.Models)
	var err error
	if out.users, err = out.views(); err != nil {
		return nil, err
	}
	for name, u := range c.Users {
		if u.TokenSHA256 != [sha256.Size]byte{} {
			out.tokens[u.TokenSHA256] = name
		}
	}
	switch {
	case c.MaxTurns == 0:
		out.Slots = make(chan struct{}, 256)
	case c.MaxTurns > 0:
		out.Slots = make(chan struct{}, c.MaxTurns)
	}
	return out, nil
}

// withEstimators returns the models, each with an Estimator.
func withEstimators(models map[string]Model) map[string]Model {
	out := maps.Clone(models)
	for name, m := range out {
		if m.Estimator == nil {
			m.Estimator = new(agent.Estimator)
		}
		out[name] = m
	}
	return out
}

// checkFallback returns an error if a list names a model that is not configured.
func (c Config) checkFallback(whose tool.Text, list []string) error {
	for _, name := range list {
		if c.Models[name].Model == nil {
			return api.Problemf(http.StatusInternalServerError, "config", "correct it in tools.toml", "%s has the fallback %q, which is not configured", whose, name)
		}
	}
	return nil
}

// Check returns an error if c cannot be in force.
func (c Config) Check() error {
	_, err := c.ready()
	return err
}

// views makes every user's view, or says what cannot be meant.
func (s *State) views() (map[string]View, error) {
	bad := func(hint, format string, args ...any) error {
		return api.Problemf(http.StatusInternalServerError, "config", hint, format, args...)
	}
	out, tokens := map[string]View{}, map[[sha256.Size]byte]string{}
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

func (s *State) viewOf(u User) View {
	v := View{User: &u, Models: map[string]Model{}, Profiles: map[string]Profile{}, First: DefaultProfile}
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
	if _, ok := v.Profiles[DefaultProfile]; !ok {
		v.First = ""
		if len(u.Profiles) > 0 {
			v.First = u.Profiles[0]
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
