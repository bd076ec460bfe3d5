package worker

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// newRegion makes a region; theirs is what a child opens it by. Its size is fixed
// for good: a child that cut it off would have its parent killed for reading it.
func newRegion() (r *region, theirs *os.File, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("weir-worker", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3; from then on a system may demand it
		fd, err = unix.MemfdCreate("weir-worker", flags)
	}
	if err != nil {
		return nil, nil, os.NewSyscallError("memfd_create", err)
	}
	theirs = os.NewFile(uintptr(fd), "a worker's memory")
	err = unix.Ftruncate(fd, regionSize)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		r, err = openRegion(fd)
	}
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return r, theirs, nil
}

func openRegion(fd int) (*region, error) {
	room, err := unix.Mmap(fd, 0, regionSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("the memory that it shares: %w", err)
	}
	return regionOf(room), nil
}

func unmap(room []byte) { _ = unix.Munmap(room) } // it fails only for what was never mapped
