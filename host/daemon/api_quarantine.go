package daemon

import (
	"errors"
	"net/http"
	"slices"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/plugin"
)

// Retried is what became of a plugin that was in quarantine.
type Retried struct {
	Plugin string       `json:"plugin"`
	State  plugin.State `json:"state"`
}

// retryPlugin takes a plugin out of quarantine.
func (d *Daemon) retryPlugin(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	err := d.cfg.Host.Retry(name)
	switch {
	case errors.Is(err, host.ErrNotQuarantined):
		return api.Problemf(http.StatusNotFound, "not_quarantined", "`weir plugin list` shows the state of each plugin", "there is no plugin %q in quarantine", api.Clip(name, 80))
	case err != nil:
		return api.Problemf(http.StatusInternalServerError, "storage", "check the permissions of the data folder", "the plugin %q cannot be taken out of quarantine", api.Clip(name, 80))
	}
	state, list := plugin.Ready, d.cfg.Host.Plugins()
	if i := slices.IndexFunc(list, func(p plugin.Info) bool { return p.Name == name }); i >= 0 {
		state = list[i].State
	}
	httpjson.Write(w, http.StatusOK, Retried{name, state})
	return nil
}
