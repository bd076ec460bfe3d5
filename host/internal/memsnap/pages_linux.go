package memsnap

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openTable opens the table of this process's pages.
func openTable() (*os.File, error) { return os.Open("/proc/self/pagemap") }

// duplicate returns another descriptor of an open table.
func duplicate(table *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(table.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), table.Name()), nil
}

// scanRequest is PAGEMAP_SCAN of linux/fs.h: _IOWR('f', 16, struct pm_scan_arg).
// On the few machines that write request numbers in another way the kernel
// refuses it, and Open takes the next method.
const scanRequest = 3<<30 | uint(unsafe.Sizeof(scanArg{}))<<16 | 'f'<<8 | 16

// scanArg is struct pm_scan_arg of linux/fs.h. The kernel lists the pages from
// start to end whose categories, those in inverted turned round, include all of
// mask and one of anyOf.
type scanArg struct {
	size     uint64 // of this struct
	flags    uint64 // none: the pages are not changed
	start    uint64 // addresses
	end      uint64
	walkEnd  uint64 // out: where it stopped
	vec      uint64 // address of the list of regions
	vecLen   uint64
	maxPages uint64
	inverted uint64
	mask     uint64
	anyOf    uint64
	returned uint64 // categories to tell; regions that differ in them are not joined
}

// Categories of pages.
const (
	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
)

// scan lists the pages of b that are its own, by asking the kernel. It stops
// when the list is full.
func scan(table *os.File, b []byte, found []region) (int, error) {
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	arg := scanArg{
		size: uint64(unsafe.Sizeof(scanArg{})), start: base, end: base + uint64(len(b)),
		vec: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(found)))), vecLen: uint64(len(found)), maxPages: uint64(len(found)),
		inverted: pageIsFile, mask: pageIsFile, anyOf: pageIsPresent | pageIsSwapped,
	}
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, table.Fd(), uintptr(scanRequest), uintptr(unsafe.Pointer(&arg)))
	runtime.KeepAlive(found)
	if errno != 0 {
		return 0, errno
	}
	for i := range found[:n] {
		found[i].start -= base
		found[i].end -= base
	}
	return int(n), nil
}

// Bits of an entry of the table.
const (
	entryFile    = 1 << 61
	entrySwapped = 1 << 62
	entryPresent = 1 << 63
)

// read is scan for kernels that have only the table: 8 bytes for each page.
func read(table *os.File, b []byte, found []region) (int, error) {
	page := uint64(os.Getpagesize())
	first := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) / page
	var entries [512]uint64
	n := 0
	for at, end := uint64(0), uint64(len(b))/page; at < end && n < len(found); {
		chunk := entries[:min(end-at, uint64(len(entries)))]
		raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(chunk))), len(chunk)*8)
		if _, err := table.ReadAt(raw, int64((first+at)*8)); err != nil {
			return 0, err
		}
		for i, e := range chunk {
			if e&(entryPresent|entrySwapped) == 0 || e&entryFile != 0 {
				continue
			}
			if n == len(found) {
				break
			}
			start := (at + uint64(i)) * page
			found[n] = region{start: start, end: start + page}
			n++
		}
		at += uint64(len(chunk))
	}
	return n, nil
}
