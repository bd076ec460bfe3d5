package shmring

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Create creates a Region. theirs is the descriptor for the child, which the caller
// closes. The size is sealed: a child that truncated the memory would have its parent
// killed by a read.
func Create() (r *Region, theirs *os.File, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("weir-worker", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // Linux before 6.3; newer systems may demand the flag
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
		r, err = Open(fd)
	}
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return r, theirs, nil
}

// Open maps the Region of a descriptor.
func Open(fd int) (*Region, error) {
	bytes, err := unix.Mmap(fd, 0, regionSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the shared memory: %w", err)
	}
	return regionOf(bytes), nil
}

func unmap(bytes []byte) { _ = unix.Munmap(bytes) } // fails only for what was never mapped
