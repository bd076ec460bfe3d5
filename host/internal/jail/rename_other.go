//go:build !linux

package jail

import (
	"os"
	"time"
)

// rename moves an entry by its path: only Linux has a way to do it in open folders
// here.
func (v *volume) rename(_, _ *parent, from, to string) error { return v.root.Rename(from, to) }

// chtimes sets the times of an entry by its name: os has no way to do it in an open file.
func (p *parent) chtimes(_ *os.File, atime, mtime time.Time) error {
	return p.root.Chtimes(p.base, atime, mtime)
}
