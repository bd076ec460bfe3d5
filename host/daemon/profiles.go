package daemon

import (
	"maps"
	"net/http"
	"slices"

	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// ProfileList is what GET /api/profiles answers.
type ProfileList struct {
	Profiles []ConfiguredProfile `json:"profiles"`
}

// A ConfiguredProfile is one agent of tools.toml: [agent] or one of [agents].
type ConfiguredProfile struct {
	Name  string `json:"name"`
	Model string `json:"model"`
	// Window is the model's context window in tokens; 0: unknown.
	Window int `json:"window"`
	// Limit is max_tool_result_length in force, in characters of one result, and Why
	// the rule that decides it.
	Limit int       `json:"limit"`
	Why   tool.Text `json:"why"`
	// Least and Most are the recommended limits for the model's window; 0: unknown.
	Least   int  `json:"recommended_least,omitempty"`
	Most    int  `json:"recommended_most,omitempty"`
	Default bool `json:"default"` // it answers questions of new conversations that name none
}

// profiles has the route of the profiles.
type profiles struct{ current *setup.Current }

func (p *profiles) routes() []openapi.Route {
	return []openapi.Route{{
		Method: "GET", Path: "/api/profiles",
		Auth: openapi.Token, Handle: p.listProfiles,
		About: "List the profiles that a question can name",
		Gives: ProfileList{},
	}}
}

func (p *profiles) listProfiles(w http.ResponseWriter, r *http.Request) error {
	out := ProfileList{[]ConfiguredProfile{}}
	set := p.current.View(access.Principal(r))
	windows := set.Windows(r.Context())
	for _, name := range slices.Sorted(maps.Keys(set.Profiles)) {
		prof := set.Profiles[name]
		window := windows[prof.Model]
		one := ConfiguredProfile{Name: name, Model: prof.Model, Window: window, Default: name == set.First}
		one.Limit, one.Why = limit.Agent(prof.Agent.MaxToolResultLength, window)
		one.Least, one.Most = limit.Recommended(window)
		out.Profiles = append(out.Profiles, one)
	}
	return httpjson.Answer(w, msg.Localize(params.Language(r), out))
}
