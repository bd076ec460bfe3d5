package worker

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// claimsSize is the memory of claims, in bytes: what a page holds, at the least.
const claimsSize = 4 << 10

// newClaims makes claims; theirs is what a child opens them by. Its size is fixed
// for good: a child that cut it off would have its parent killed for reading it.
func newClaims() (c claims, theirs *os.File, err error) {
	fd, err := unix.MemfdCreate("weir-claims", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return claims{}, nil, os.NewSyscallError("memfd_create", err)
	}
	theirs = os.NewFile(uintptr(fd), "a worker's claims")
	err = unix.Ftruncate(fd, claimsSize)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		c, err = openClaims(fd)
	}
	if err != nil {
		return claims{}, nil, errors.Join(err, theirs.Close())
	}
	return c, theirs, nil
}

func openClaims(fd int) (claims, error) {
	room, err := unix.Mmap(fd, 0, claimsSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return claims{}, fmt.Errorf("the memory for its claims: %w", err)
	}
	c := claims{room: room}
	c.slots = (*[lineSlots]atomic.Uint64)(unsafe.Pointer(&room[0]))
	return c, nil
}

// close lets go of the memory; takeBack and begun may be used still.
func (c *claims) close() error {
	room := c.room
	*c = claims{}
	if room == nil {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(room))
}
