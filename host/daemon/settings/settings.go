// Package settings has the routes on which the operator reads and changes the
// configuration.
package settings

import (
	"context"
	"net/http"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/internal/msg"
)

// An Editor changes the configuration file.
type Editor interface {
	// SettingsTag returns the ETag of the file.
	SettingsTag() (string, error)
	// SettingsSchema lists what PatchSettings changes.
	SettingsSchema() (api.SettingsSchema, error)
	// PatchSettings changes the file, if its ETag is match, and puts it in force.
	PatchSettings(ctx context.Context, match string, p api.SettingsPatch) (api.SettingsPatched, error)
}

// maxBody bounds the body of a patch, in bytes.
const maxBody = 1 << 20

// Settings has the routes.
type Settings struct {
	Setup     *setup.Current
	Admission *turns.Admission
	Editor    Editor // nil: the configuration is not a file
	Version   string
	Log       hclog.Logger
}

// Routes returns the routes.
func (s *Settings) Routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/settings",
			Auth: openapi.Operator, Handle: s.show,
			About: "The configuration in force, without secrets. The ETag is that of tools.toml",
			Gives: Configuration{},
		},
		{
			Method: "GET", Path: "/api/settings/schema",
			Auth: openapi.Operator, Handle: s.schema,
			About: "The keys of tools.toml that PATCH /api/settings writes: meaning, unit, default, where the file has them, now or after a restart",
			Gives: api.SettingsSchema{},
			Fails: []int{409},
		},
		{
			Method: "PATCH", Path: "/api/settings",
			Auth: openapi.Operator, Handle: s.Admission.Whole(s.patch),
			About:   "Change keys of tools.toml, with its comments kept, and put them in force. The file is checked as a whole before it is written",
			Headers: map[string]string{"If-Match": "the ETag of GET /api/settings"},
			Takes:   api.SettingsPatch{},
			Needs:   []string{"changes"},
			Gives:   api.SettingsPatched{},
			Fails:   []int{409, 412, 422, 428, 503},
		},
	}
}

// A Configuration is what the daemon runs with.
type Configuration struct {
	Version  string `json:"version"`
	Settings any    `json:"settings"`
}

func (s *Settings) show(w http.ResponseWriter, r *http.Request) error {
	if s.Editor != nil {
		if tag, err := s.Editor.SettingsTag(); err == nil {
			w.Header().Set("ETag", tag)
		}
	}
	return httpjson.Answer(w, Configuration{s.Version, s.Setup.State().Settings})
}

func (s *Settings) schema(w http.ResponseWriter, r *http.Request) error {
	if s.Editor == nil {
		return noFile()
	}
	out, err := s.Editor.SettingsSchema()
	if err != nil {
		return noFile()
	}
	return httpjson.Answer(w, msg.Localize(params.Language(r), out))
}

func (s *Settings) patch(w http.ResponseWriter, r *http.Request) error {
	var body api.SettingsPatch
	if err := httpjson.ReadUpTo(w, r, &body, maxBody); err != nil {
		return err
	}
	match := r.Header.Get("If-Match")
	switch {
	case s.Editor == nil:
		return noFile()
	case match == "":
		return api.Problemf(http.StatusPreconditionRequired, "if_match", "send the ETag of GET /api/settings in the header If-Match", "the request does not say which settings it changes")
	}
	out, err := s.Editor.PatchSettings(r.Context(), match, body)
	if err != nil {
		return err
	}
	if out.Written {
		s.Log.Info("settings were changed over the API", "by", access.Principal(r), "keys", len(body.Changes), "in_force", out.InForce, "restart", out.Restart)
	}
	w.Header().Set("ETag", out.ETag)
	return httpjson.Answer(w, msg.Localize(params.Language(r), out))
}

func noFile() error {
	return api.Problemf(http.StatusConflict, "config", "start the daemon with `weir serve`, and see `weir paths`", "there is no configuration file that can be changed here")
}
