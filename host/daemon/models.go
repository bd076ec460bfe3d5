package daemon

import (
	"maps"
	"net/http"
	"slices"

	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/setup"
)

// models has the route of the configured models.
type models struct{ current *setup.Current }

func (m *models) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/models",
			Auth: openapi.Token, Handle: m.listModels,
			About: "List the configured models",
			Gives: ConfiguredModels{},
		},
	}
}

func (m *models) listModels(w http.ResponseWriter, r *http.Request) error {
	out := ConfiguredModels{[]ConfiguredModel{}}
	set := m.current.View(access.Principal(r))
	for _, name := range slices.Sorted(maps.Keys(set.Models)) {
		i := set.Models[name].Info
		out.Models = append(out.Models, ConfiguredModel{name, i.Provider, i.Model, i.Window, i.Simulated, name == set.Profiles[set.First].Model})
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

// ConfiguredModels is what GET /api/models answers.
type ConfiguredModels struct {
	Models []ConfiguredModel `json:"models"`
}

// A ConfiguredModel is one chat model of tools.toml.
type ConfiguredModel struct {
	// Name is the operator's, Provider and Model are what is asked.
	Name      string `json:"name"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Window    int    `json:"window"` // tokens; 0: unknown
	Simulated bool   `json:"simulated"`
	Default   bool   `json:"default"` // the default profile asks it
}
