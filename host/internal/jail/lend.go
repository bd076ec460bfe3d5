package jail

import (
	"errors"
	"os"
)

// A Loan holds the folders of mounts open, to be passed to another process:
// that one then works in these very folders, whatever happens to their names.
// It is used by one goroutine at a time.
type Loan struct {
	mounts []Mount
	files  []*os.File
}

// Lend opens the folder of every mount. It fails as Open does.
func Lend(mounts []Mount) (*Loan, error) {
	l := &Loan{}
	if err := check(mounts); err != nil {
		return nil, err
	}
	for _, m := range mounts {
		// By way of a root: it opens nothing but a folder.
		root, err := m.open()
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		f, err := root.Open(".")
		err = errors.Join(err, root.Close())
		if err != nil {
			return nil, errors.Join(m.unopened(err), l.Close())
		}
		l.mounts, l.files = append(l.mounts, m), append(l.files, f)
	}
	return l, nil
}

// Files are the open folders, in the order of the mounts. They stay the Loan's.
func (l *Loan) Files() []*os.File { return l.files }

// Current reports whether every host path still names the folder that is open.
func (l *Loan) Current() bool {
	for i, f := range l.files {
		opened, err := f.Stat()
		if err != nil || !names(l.mounts[i].Host, opened) {
			return false
		}
	}
	return true
}

// Close closes the folders in this process; the process they were passed to keeps
// its own descriptors.
func (l *Loan) Close() error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	l.files, l.mounts = nil, nil
	return errors.Join(errs...)
}

// names reports whether a path leads to the opened folder.
func names(path string, opened os.FileInfo) bool {
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}
