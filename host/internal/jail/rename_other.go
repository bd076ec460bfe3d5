//go:build !linux

package jail

// rename moves an entry by its path: only Linux has a way to do it in open folders
// here.
func (v *volume) rename(_, _ *parent, from, to string) error { return v.root.Rename(from, to) }
