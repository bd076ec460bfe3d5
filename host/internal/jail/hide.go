package jail

import (
	"io/fs"
	"os"
	"path/filepath"
)

// A veil keeps files of a mount from its guest. A file is known by what it is,
// so that no other name for it and no folder renamed above it shows it; and by
// its place, so that none is put there while it is missing.
type veil struct {
	paths  []string      // of this machine
	places []string      // the same, below the root
	files  []fs.FileInfo // those that were there when the mount was opened
}

// veilOver returns the veil of those of hide that lie below root; nil: none does.
func veilOver(root string, hide []string) *veil {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil // the mount could not be opened either
	}
	var v veil
	for _, path := range hide {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			continue // neither the file nor its folder is there
		}
		place, err := filepath.Rel(root, filepath.Join(dir, filepath.Base(path)))
		if err != nil || !filepath.IsLocal(place) {
			continue
		}
		v.paths, v.places = append(v.paths, path), append(v.places, place)
		if info, err := os.Stat(path); err == nil {
			v.files = append(v.files, info)
		}
	}
	if len(v.paths) == 0 {
		return nil
	}
	return &v
}

// covers reports whether the file is one of the hidden ones.
func (v *veil) covers(info fs.FileInfo) bool {
	if v == nil || info == nil || info.IsDir() {
		return false
	}
	for _, f := range v.files {
		if os.SameFile(f, info) {
			return true
		}
	}
	for _, path := range v.paths {
		if now, err := os.Stat(path); err == nil && os.SameFile(now, info) {
			return true
		}
	}
	return false
}

// hides reports whether a name below the root leads to a hidden file, or to the
// place of one.
func (v *volume) hides(name string) bool {
	if v.veil == nil {
		return false
	}
	for _, place := range v.veil.places {
		if filepath.Clean(name) == place {
			return true
		}
	}
	info, err := v.root.Stat(name)
	return err == nil && v.veil.covers(info)
}
