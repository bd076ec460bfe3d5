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

// ReloadPlugins reads the plugin folders and the grants again, as a person asks
// for it, and says what became different. Grants that cannot be read change
// nothing.
func (d *Daemon) ReloadPlugins(ctx context.Context) (host.Change, error) {
	if d.cfg.Grants == nil {
		return d.cfg.Host.Rescan(ctx)
	}
	grants, err := d.cfg.Grants()
	if err != nil {
		return host.Change{}, api.Problemf(http.StatusConflict, "config", "correct the file and reload again; until then what was granted before holds", "the grants cannot be read: %s", err)
	}
	return d.cfg.Host.Refresh(ctx, grants)
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
