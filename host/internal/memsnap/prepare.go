package memsnap

import (
	"errors"
	"os"
)

// Prepare makes the files of n images of at most size bytes each, for a process that may make
// none later, and returns their descriptors. From then on no more images can exist at the
// same time.
func (s *Space) Prepare(n int, size uint64) (fds []int, err error) {
	var files []*os.File
	for range n {
		f, err := newFile(int64(s.round(size)))
		if err == nil {
			files = append(files, f)
			err = fixSize(f)
		}
		if err != nil {
			for _, f := range files {
				err = errors.Join(err, f.Close())
			}
			return nil, err
		}
		fds = append(fds, int(f.Fd()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared, s.files = true, append(s.files, files...)
	return fds, nil
}

// spare returns a prepared file that no image has; nil: none were prepared.
func (s *Space) spare() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.files) - 1
	if last < 0 && s.prepared {
		return nil, errors.New("every prepared file is in use")
	}
	if last < 0 {
		return nil, nil
	}
	f := s.files[last]
	s.files = s.files[:last]
	return f, nil
}

// putSpare takes a prepared file back.
func (s *Space) putSpare(f *os.File) error {
	if err := emptyFile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return f.Close()
	}
	s.files = append(s.files, f)
	return nil
}
