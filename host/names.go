package host

import (
	"slices"

	"github.com/weirhost/weir/host/internal/registry"
)

// rename lists refused plugins under the names of their folders or files where
// the names they say belong to plugins that can be used, or whose approved
// copies can: what is broken hides nothing that works. snap is nobody else's yet.
func (h *Host) rename(snap *registry.Snapshot) {
	if len(snap.Refused) == 0 {
		return
	}
	owner := map[string]string{} // the source, by name
	for _, p := range slices.Concat(snap.Plugins, snap.Pending) {
		owner[p.Manifest.Name] = p.Source
	}
	if h.book != nil {
		if lock, err := h.book.Load(); err == nil {
			for _, r := range snap.Refused {
				if name := named(lock, r.Source); name != "" && owner[name] == "" {
					owner[name] = r.Source
				}
			}
		}
	}
	taken := func(r *registry.Refusal) bool { return owner[r.Name] != "" && owner[r.Name] != r.Source }
	for i := range snap.Refused {
		r := &snap.Refused[i]
		if taken(r) {
			r.Name = r.Place
		}
		if taken(r) {
			r.Name = r.Source
		}
	}
}
