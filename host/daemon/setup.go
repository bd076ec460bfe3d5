package daemon

import (
	"context"
	"crypto/sha256"
	"maps"
	"net/http"
	"slices"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A Setup is what of a Config can change while the Daemon serves. Its fields
// mean what they do there.
type Setup struct {
	Models   map[string]Model
	Profiles map[string]Profile
	// Users are those who have a token of their own, by name.
	Users    map[string]User
	Settings any
	MaxTurns int
	Tracing  telemetry.Tracing
}

// setup is a Setup made ready. It never changes; Configure puts another in its
// place.
type setup struct {
	Setup
	slots chan struct{} // nil: no bound
	users map[string]view
	// tokens are the users' names by the digests of their tokens.
	tokens map[[sha256.Size]byte]string
}

func (s Setup) ready() (*setup, error) {
	if _, ok := s.Profiles[defaultProfile]; !ok {
		return nil, api.Problemf(http.StatusInternalServerError, "config", "", "there is no profile named default")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		if m := s.Profiles[name].Model; s.Models[m].Model == nil {
			return nil, api.Problemf(http.StatusInternalServerError, "config", "add [models."+m+"] to tools.toml, or name another",
				"the profile %s wants the model %q, which is not configured", name, m)
		}
		if err := s.Profiles[name].Agent.Validate(); err != nil {
			return nil, api.Problemf(http.StatusInternalServerError, "config", "correct it in tools.toml", "the profile %s: %s", name, err)
		}
	}
	out := &setup{Setup: s}
	out.Models = maps.Clone(s.Models)
	for name, m := range out.Models {
		if m.Estimator == nil {
			m.Estimator = new(agent.Estimator)
			out.Models[name] = m
		}
	}
	var err error
	if out.users, err = out.views(); err != nil {
		return nil, err
	}
	out.tokens = map[[sha256.Size]byte]string{}
	for name, u := range s.Users {
		if u.TokenSHA256 != [sha256.Size]byte{} {
			out.tokens[u.TokenSHA256] = name
		}
	}
	switch {
	case s.MaxTurns == 0:
		out.slots = make(chan struct{}, 256)
	case s.MaxTurns > 0:
		out.slots = make(chan struct{}, s.MaxTurns)
	}
	return out, nil
}

// Check reports what of s cannot be meant.
func (s Setup) Check() error {
	_, err := s.ready()
	return err
}

// Configure puts s in force for every turn that begins from now on; those that
// run end under what they began with. What was learnt about a model's tool
// calling stays as long as its Estimator is the same. An error means that s
// cannot be meant and that nothing has changed.
func (d *Daemon) Configure(s Setup) error {
	next, err := s.ready()
	if err == nil {
		err = d.ownName(next)
	}
	if err != nil {
		return err
	}
	defer d.mcp.Refresh() // whose users may see other tools then
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.current.Swap(next)
	for b := range d.bearers {
		d.holdLocked(b)
	}
	maps.DeleteFunc(d.modes, func(name string, _ agent.Mode) bool {
		return next.Models[name].Estimator != before.Models[name].Estimator
	})
	return nil
}

// set is what is in force.
func (d *Daemon) set() *setup { return d.current.Load() }

// A ReloadReport is the outcome of a reload of the configuration.
type ReloadReport struct {
	// Change lists the changes of plugins.
	Change host.Change `json:"change"`
	// InForce names the changed settings that apply now, by their keys in tools.toml;
	// Restart those that apply after a restart.
	InForce []string `json:"in_force"`
	Restart []string `json:"restart"`
	// Notes say what else a person has to do.
	Notes []tool.Text `json:"notes"`
}

// Reload reads the configuration and the plugin folders again, as a person asks
// for it, and says what became different. What cannot be used changes nothing.
func (d *Daemon) Reload(ctx context.Context) (ReloadReport, error) {
	if d.cfg.Reload != nil {
		return d.cfg.Reload(ctx)
	}
	change, err := d.ReloadPlugins(ctx)
	return ReloadReport{Change: change, InForce: []string{}, Restart: []string{}, Notes: []tool.Text{}}, err
}

// postReload reloads and says what became different.
func (d *Daemon) postReload(w http.ResponseWriter, r *http.Request) error {
	out, err := d.Reload(r.Context())
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, msg.Localize(localeOf(r), out))
	return nil
}
