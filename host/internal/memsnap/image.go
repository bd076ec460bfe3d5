package memsnap

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// An Image is what the memories of a module's instances begin every call with.
// It is safe for concurrent use and never changes.
type Image struct {
	space  *Space
	file   *os.File // nil when size is 0
	view   []byte   // the file, read-only
	size   uint64
	stored uint64

	prepared *os.File // the file, if it was made beforehand and will serve again

	refs   atomic.Int64 // the owner's and one of each memory; at 0 all is gone
	closed atomic.Bool
}

// newImage writes memory, whole pages of it, into a file of its own.
func (s *Space) newImage(memory []byte) (_ *Image, err error) {
	im := &Image{space: s, size: uint64(len(memory))}
	if im.size > 0 {
		if err := im.write(memory); err != nil {
			return nil, fmt.Errorf("no image of a memory can be made: %w", errors.Join(err, im.remove()))
		}
	}
	if err := s.enter(func() { s.stats.Images++; s.stats.Stored += im.stored }); err != nil {
		return nil, errors.Join(err, im.remove())
	}
	im.refs.Store(1)
	return im, nil
}

func (im *Image) write(memory []byte) (err error) {
	if im.prepared, err = im.space.spare(); err != nil {
		return err
	}
	if im.file = im.prepared; im.file == nil {
		if im.file, err = newFile(int64(im.size)); err != nil {
			return err
		}
	}
	if err := im.fill(memory); err != nil {
		return err
	}
	if im.prepared == nil {
		if err := seal(im.file); err != nil {
			return err
		}
	}
	im.view, err = mapView(im.file, im.size)
	return err
}

// fill writes the runs of pages that are not zero.
func (im *Image) fill(memory []byte) error {
	page := im.space.page
	zero := make([]byte, page)
	empty := func(at uint64) bool { return bytes.Equal(memory[at:at+page], zero) }
	for at := uint64(0); at < im.size; at += page {
		if empty(at) {
			continue
		}
		from := at
		for at += page; at < im.size && !empty(at); at += page {
		}
		if _, err := im.file.WriteAt(memory[from:at], int64(from)); err != nil {
			return err
		}
		im.stored += at - from
	}
	return nil
}

// Size is the size of the memory, in bytes.
func (im *Image) Size() uint64 { return im.size }

// Stored is how many bytes the image takes, once for all memories.
func (im *Image) Stored() uint64 { return im.stored }

// Close gives the owner's hold up: no further memory can adopt the image. Those
// that did keep it until they are released. Closing twice is no error.
func (im *Image) Close() error {
	if im.closed.Swap(true) {
		return nil
	}
	return im.drop()
}

// retain keeps the image for a memory.
func (im *Image) retain() error {
	for {
		n := im.refs.Load()
		if n == 0 || im.closed.Load() {
			return errors.New("the image is closed")
		}
		if im.refs.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// drop releases the image; the last release deletes it.
func (im *Image) drop() error {
	if im.refs.Add(-1) > 0 {
		return nil
	}
	return errors.Join(im.remove(), im.space.count(func() { im.space.stats.Images--; im.space.stats.Stored -= im.stored }))
}

func (im *Image) remove() error {
	var errs []error
	if im.view != nil {
		errs = append(errs, unmap(im.view))
		im.view = nil
	}
	if im.prepared != nil {
		return errors.Join(append(errs, im.space.putSpare(im.prepared))...)
	}
	if im.file != nil {
		errs = append(errs, im.file.Close())
	}
	return errors.Join(errs...)
}
