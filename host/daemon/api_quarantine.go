package daemon

import (
	"errors"
	"net/http"

	"github.com/weirhost/weir/host"
)

// retryPlugin takes a plugin out of quarantine.
func (d *Daemon) retryPlugin(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	err := d.cfg.Host.Retry(name)
	switch {
	case errors.Is(err, host.ErrNotQuarantined):
		return problem(http.StatusNotFound, "not_quarantined", "`weir plugin list` shows the state of each plugin", "there is no plugin %q in quarantine", clip(name, 80))
	case err != nil:
		return problem(http.StatusInternalServerError, "storage", "check the permissions of the data folder", "the plugin %q cannot be taken out of quarantine", clip(name, 80))
	}
	writeJSON(w, http.StatusOK, map[string]any{"plugin": name, "state": host.Ready})
	return nil
}
