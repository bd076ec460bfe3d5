package daemon

import "net/http"

// reloadPlugins reads the plugin folders again and says what became different.
func (d *Daemon) reloadPlugins(w http.ResponseWriter, r *http.Request) error {
	change, err := d.cfg.Host.Rescan(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"change": change, "plugins": d.cfg.Host.Plugins()})
	return nil
}
