package jail

import (
	"cmp"
	"errors"
	"os"
	"path"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/weirhost/weir/host/internal/msg"
)

// A Mount shows the folder Host to a guest under the name Guest.
type Mount struct {
	Guest string // an absolute, clean slash path, such as "/workspace"
	Host  string // an existing folder of this machine, by a path without links
	Write bool   // false: nothing can be changed
	// Hide are files and folders of this machine that the guest can neither read
	// nor change nor put in place, wherever below Host they lie. They need not exist.
	Hide []string
	// Keep are files and folders that it can read and neither change nor put in
	// place. A name without a folder is kept wherever it lies below Host.
	Keep []string
	// Via is another path to the same folder, opened instead of Host, such as that
	// of an inherited descriptor; empty: Host itself.
	Via string
}

// A Volume is an opened mount as the engine takes it.
type Volume struct {
	Guest string
	FS    sys.FS
}

// A Jail holds opened mounts. It may serve several calls at once; Close ends
// all access, files that are already open excepted.
type Jail struct {
	mounts []Mount
	roots  []*os.Root
}

// Open opens every mount. It fails, naming the mount, when a guest path is not
// absolute and clean or is used twice, and when a host folder is missing or is
// no folder. No mounts give a jail without any file.
func Open(mounts []Mount) (*Jail, error) {
	j := &Jail{}
	if err := check(mounts); err != nil {
		return nil, err
	}
	for _, m := range mounts {
		root, err := m.open()
		if err != nil {
			return nil, errors.Join(err, j.Close())
		}
		j.mounts = append(j.mounts, m)
		j.roots = append(j.roots, root)
	}
	return j, nil
}

// open opens the folder, unless a link leads to it: who may write beside a granted folder
// could have put the link there since.
func (m Mount) open() (*os.Root, error) {
	root, err := os.OpenRoot(cmp.Or(m.Via, m.Host))
	if err != nil {
		return nil, m.unopened(err)
	}
	if m.Via != "" { // opened already, by who lent it
		return root, nil
	}
	opened, err := root.Stat(".")
	if err == nil && !straight(m.Host, opened) {
		err = msg.Errorf("it, or a folder on the way to it, is now a link")
	}
	if err != nil {
		return nil, errors.Join(m.unopened(err), root.Close())
	}
	return root, nil
}

// check looks at the mounts before any is opened.
func check(mounts []Mount) error {
	seen := make(map[string]bool, len(mounts))
	for _, m := range mounts {
		if err := m.check(); err != nil {
			return err
		}
		if seen[m.Guest] {
			return msg.Errorf("mount %s: the guest path is used twice", m.Guest)
		}
		seen[m.Guest] = true
	}
	return nil
}

func (m Mount) unopened(err error) error {
	return msg.Errorf("mount %s: cannot open the folder %s: %w", m.Guest, m.Host, msg.Reason(err))
}

// check refuses guest paths that two parties could read differently.
func (m Mount) check() error {
	switch {
	case !path.IsAbs(m.Guest), path.Clean(m.Guest) != m.Guest, strings.ContainsAny(m.Guest, "\x00\\"):
		return msg.Errorf("mount %q: the guest path must be absolute and clean, such as \"/workspace\"", m.Guest)
	case m.Host == "":
		return msg.Errorf("mount %s: the host folder is not stated", m.Guest)
	}
	return nil
}

// Volumes returns the mounts in their order, for the engine. Their limits on open
// files and written bytes are shared, and each call of Volumes starts new counts.
func (j *Jail) Volumes() []Volume {
	vs, b := make([]Volume, len(j.roots)), new(bounds)
	for i, r := range j.roots {
		m := j.mounts[i]
		vs[i] = Volume{Guest: m.Guest, FS: &volume{root: r, write: m.Write, veil: veilOver(m), bounds: b}}
	}
	return vs
}

// Current reports whether every host path still names the folder that was
// opened. A jail kept ready for later would otherwise show a folder that has
// been replaced since.
func (j *Jail) Current() bool {
	for i, r := range j.roots {
		opened, err := r.Stat(".")
		if err != nil {
			return false
		}
		if !names(j.mounts[i].Host, opened) {
			return false
		}
	}
	return true
}

// Close closes the folders.
func (j *Jail) Close() error {
	var errs []error
	for _, r := range j.roots {
		errs = append(errs, r.Close())
	}
	j.roots, j.mounts = nil, nil
	return errors.Join(errs...)
}
