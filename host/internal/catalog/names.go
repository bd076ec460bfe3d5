package catalog

import (
	"slices"

	"github.com/weirhost/weir/host/internal/registry"
)

// RenameInvalid lists invalid plugins under the names of their folders or files if
// the names that they claim belong to valid plugins, or to plugins with an approved
// copy: an invalid plugin hides no valid one. It modifies snap.
func (c *Catalog) RenameInvalid(snap *registry.Snapshot) {
	if len(snap.Refused) == 0 {
		return
	}
	owner := map[string]string{} // the source, by name
	for _, p := range slices.Concat(snap.Plugins, snap.Pending) {
		owner[p.Manifest.Name] = p.Source
	}
	if lock := c.lock(); lock != nil {
		for _, r := range snap.Refused {
			if name := approvedAt(lock, r.Source); name != "" && owner[name] == "" {
				owner[name] = r.Source
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
