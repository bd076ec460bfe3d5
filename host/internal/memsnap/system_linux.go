package memsnap

import (
	"errors"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported says why memories cannot be renewed on this system, or nil. Open
// may still find that this kernel cannot do it.
func Supported() error {
	if strconv.IntSize < 64 {
		return errors.New("memories are renewed on 64-bit systems only")
	}
	return nil
}

// reserve takes address space that cannot be accessed and costs nothing.
func reserve(n uint64) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	base := unsafe.Slice((*byte)(p), n)
	// A huge page for the first byte that a guest writes would cost it 2 MiB of
	// zeros, and would be kept whole. A kernel without them says EINVAL.
	_ = unix.Madvise(base, unix.MADV_NOHUGEPAGE)
	return base, nil
}

// commit makes reserved memory accessible.
func commit(b []byte) error { return unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE) }

// discard drops the pages of b that are its own: they are the file's again, or zero.
func discard(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }

func unmap(b []byte) error {
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)))
}

// newFile makes a file that lives in memory, has no name and so many bytes, all zero.
func newFile(size int64) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("weir", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("weir", flags)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "image")
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fixSize takes from everybody the means to change a file's length.
func fixSize(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return os.NewSyscallError("sealing", err)
}

// emptyFile makes all bytes of a file zero, and gives its memory back.
func emptyFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return os.NewSyscallError("fallocate", unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, info.Size()))
}

// seal takes from everybody, us too, the means to change the file. The kernel says
// that it is busy while somebody holds a page of it, be it the kernel itself that
// moves pages about: on a machine with much to do that passes, within seconds.
func seal(f *os.File) error {
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	for wait := time.Millisecond; ; wait *= 2 {
		_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, all)
		if !errors.Is(err, unix.EBUSY) || wait > time.Second {
			return os.NewSyscallError("sealing", err)
		}
		time.Sleep(wait)
	}
}

// mapView maps the file for reading. The mapping is private although it is never
// written: kernels before 6.7 refuse a shared mapping of a sealed file.
func mapView(f *os.File, n uint64) ([]byte, error) {
	p, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(n), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// mapOver maps the file over b, copy-on-write.
func mapOver(b []byte, f *os.File) error {
	_, err := unix.MmapPtr(int(f.Fd()), 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	return os.NewSyscallError("mmap", err)
}
