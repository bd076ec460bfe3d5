package memsnap

import (
	"os"
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

// Bits of an entry of the table.
const (
	entryFile    = 1 << 61
	entrySwapped = 1 << 62
	entryPresent = 1 << 63
)

// find lists the pages of b that are its own, by the table: 8 bytes for each page. It
// stops when the list is full.
func find(table *os.File, b []byte, found []region) (int, error) {
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
