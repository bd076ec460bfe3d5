package daemon

import (
	"context"
	"net/http"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
)

// ReloadPlugins reads the plugin folders and the grants again, for a person, and
// returns what changed. Grants that cannot be read change nothing.
func (d *Daemon) ReloadPlugins(ctx context.Context) (host.Change, error) {
	grants := d.grants("correct the file and reload again; until then what was granted before holds")
	return d.cfg.Host.Reload(ctx, host.ReloadOptions{Force: true, Grants: grants})
}

// grants returns a function that reads the grants, for host.ReloadOptions; nil: they
// cannot change. hint is that of its error.
func (d *Daemon) grants(hint string) func() (map[string]plugin.Grant, error) {
	if d.cfg.Grants == nil {
		return nil
	}
	return func() (map[string]plugin.Grant, error) {
		grants, err := d.cfg.Grants()
		if err != nil {
			return nil, api.Problemf(http.StatusConflict, "config", hint, "the grants cannot be read: %s", err)
		}
		return grants, nil
	}
}

// Reloaded is what a reload made different, and the plugins as they are now.
type Reloaded struct {
	Change  host.Change   `json:"change"`
	Plugins []plugin.Info `json:"plugins"`
}

// reloadPlugins reloads and says what became different.
func (d *Daemon) reloadPlugins(w http.ResponseWriter, r *http.Request) error {
	change, err := d.ReloadPlugins(r.Context())
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, msg.Localize(localeOf(r), Reloaded{change, d.cfg.Host.Plugins()}))
	return nil
}
