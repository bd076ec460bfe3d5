package memsnap

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// frozen is a memory of so many bytes with something in it, and its image.
func frozen(t testing.TB, s *Space, size, limit uint64) (*Memory, *Image) {
	t.Helper()
	m, err := s.Reserve(size, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Release)
	mem := m.Reallocate(size)
	for i := 0; i < len(mem); i += 3 * 4096 {
		mem[i] = byte(i>>12) | 1
	}
	im, err := m.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, im
}

// Many instances work on one image at the same time, each in its own memory, and
// none sees what another writes.
func TestSharedImage(t *testing.T) {
	s := space(t)
	first, im := frozen(t, s, mib, 4*mib)
	want := bytes.Clone(first.Reallocate(mib))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			if err := useImage(s, im, want, byte(g)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !bytes.Equal(first.Reallocate(mib), want) {
		t.Error("the first memory changed")
	}

}

// useImage makes memories of an image and uses each a few times.
func useImage(s *Space, im *Image, want []byte, mark byte) error {
	for range 3 {
		m, err := s.Reserve(0, 4*mib)
		if err != nil {
			return err
		}
		defer m.Release()
		resize, err := m.Adopt(im)
		for call := range 10 {
			if err != nil {
				return err
			}
			mem := m.base[:m.size]
			if resize {
				mem = m.Reallocate(0)
			}
			if !bytes.Equal(mem, want) {
				return fmt.Errorf("call %d does not begin with the image", call)
			}
			for at := 0; at < len(mem); at += (call*7 + 1) * 4096 {
				mem[at] = mark
			}
			if mem = m.Reallocate(2 * mib); !empty(mem[mib:]) {
				return errors.New("new memory is not zero")
			}
			mem[len(mem)-1] = mark
			resize, err = m.Renew()
		}
	}
	return nil
}

// What a guest writes little of is copied back in place, so its pages stay; what
// it writes much of is dropped, so that an idle memory stays small.
func TestKept(t *testing.T) {
	page := uint64(os.Getpagesize())
	{
		const pages = 2*maxDirty + 2
		m, _ := frozen(t, space(t), pages*page, pages*page)
		for _, row := range []struct{ dirty, kept uint64 }{{maxDirty, maxDirty}, {maxDirty + 1, 0}} {
			mem := m.Reallocate(pages * page)
			for i := range row.dirty {
				mem[i*2*page]++
			}
			if _, err := m.Renew(); err != nil {
				t.Fatal(err)
			}
			if m.Kept() != row.kept*page {
				t.Errorf("%d written pages: %d bytes are kept, want %d", row.dirty, m.Kept(), row.kept*page)
			}
		}
	}
}

// Pages that the kernel makes one huge page of, merges, or moves, are restored
// like all others.
func TestAdvice(t *testing.T) {
	const size, limit = 4 * mib, 6 * mib
	advices := map[string]int{
		"huge": unix.MADV_HUGEPAGE, "collapse": unix.MADV_COLLAPSE, "merge": unix.MADV_MERGEABLE,
		"cold": unix.MADV_COLD, "out": unix.MADV_PAGEOUT, "read": unix.MADV_POPULATE_READ, "write": unix.MADV_POPULATE_WRITE,
	}
	for name, advice := range advices {
		t.Run(name, func(t *testing.T) {
			m, im := frozen(t, space(t), size, limit)
			want := bytes.Clone(m.Reallocate(size))
			advise := func() { // what a kernel cannot do, it refuses, and nothing is lost
				_ = unix.Madvise(m.base[:m.peak], advice)
				_ = unix.Madvise(im.view, advice)
			}
			for call := range 4 {
				mem := m.Reallocate(limit)
				advise()
				for i := range 40 << call {
					mem[(i*3+call)*4096], mem[size+i*4096] = 9, 9
				}
				advise()
				resize, err := m.Renew()
				if err != nil || !resize {
					t.Fatal(resize, err)
				}
				if got := m.Reallocate(0); !bytes.Equal(got, want) {
					t.Fatalf("call %d: the image is not back", call)
				}
				if !empty(m.base[size:m.peak]) {
					t.Fatalf("call %d: what lies behind the image is not cleared", call)
				}
			}
		})
	}

}

// An image cannot be changed by anybody, and says what it holds.
func TestImage(t *testing.T) {
	_, im := frozen(t, space(t), mib, mib)
	if _, err := im.file.WriteAt([]byte("x"), 0); !errors.Is(err, syscall.EPERM) {
		t.Errorf("writing into it: %v", err)
	}
	if err := im.file.Truncate(0); !errors.Is(err, syscall.EPERM) {
		t.Errorf("cutting it: %v", err)
	}
	if im.Size() != mib || im.Stored() == 0 || im.Stored() > mib/2 {
		t.Errorf("it has %d bytes and stores %d", im.Size(), im.Stored())
	}
	if err := im.Close(); err != nil {
		t.Error(err)
	}
	m, err := im.space.Reserve(0, mib)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	if _, err := m.Adopt(im); err == nil {
		t.Error("a closed image was adopted")
	}
	if resize, err := m.Renew(); resize || !errors.Is(err, ErrNoImage) {
		t.Errorf("renewed after that: %v, %v", resize, err)
	}
}

// A memory cannot be used when it was released; Free does not release it, for
// the guest may still run.
func TestRelease(t *testing.T) {
	s := space(t)
	m, im := frozen(t, s, mib, 2*mib)
	mem := m.Reallocate(mib)
	m.Free()
	if mem[1] = 1; !m.Freed() {
		t.Error("it does not know that its module is closed")
	}
	if mem = m.Reallocate(2 * mib); mem == nil {
		t.Fatal("a guest that still runs cannot grow")
	}
	m.Release()
	m.Release()
	if m.Reallocate(mib) != nil || m.Size() != 0 {
		t.Error("it hands out bytes")
	}
	if _, err := m.Renew(); !errors.Is(err, ErrReleased) {
		t.Errorf("Renew: %v", err)
	}
	if _, err := m.Freeze(); !errors.Is(err, ErrReleased) {
		t.Errorf("Freeze: %v", err)
	}
	if _, err := m.Adopt(im); !errors.Is(err, ErrReleased) {
		t.Errorf("Adopt: %v", err)
	}
}

func TestReserve(t *testing.T) {
	s := space(t)
	if _, err := s.Reserve(2*mib, mib); err == nil {
		t.Error("a memory larger than its limit was made")
	}
	m, err := s.Reserve(1, maxLimit*2)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	if got := s.Stats(); got.Reserved != maxLimit || got.Memories != 1 {
		t.Errorf("in use: %+v", got)
	}
	if m.Reallocate(maxLimit+1) != nil || !m.Refused() {
		t.Error("it grew beyond what a guest can address")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reserve(0, mib); err == nil {
		t.Error("a closed space made a memory")
	}
	if _, err := m.Freeze(); err == nil {
		t.Error("a closed space made an image")
	}
}

// Nothing remains: no descriptor, no mapping.
func TestNothingLeft(t *testing.T) {
	s := space(t)
	descriptors := len(list(t, "/proc/self/fd"))
	before := mapped(t)
	for range 100 {
		m, err := s.Reserve(mib, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		m.Reallocate(mib)[0] = 1
		im, err := m.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		other, err := s.Reserve(0, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Adopt(im); err != nil {
			t.Fatal(err)
		}
		if err := im.Close(); err != nil {
			t.Fatal(err)
		}
		m.Release()
		if other.Reallocate(0)[0] != 1 {
			t.Fatal("the image went before its last memory")
		}
		other.Release()
	}
	if now := len(list(t, "/proc/self/fd")); now != descriptors {
		t.Errorf("%d descriptors, before %d", now, descriptors)
	}
	if now := mapped(t); now > before+10<<30 {
		t.Errorf("%d bytes of addresses are taken, before %d", now, before)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(maps, []byte("memfd:weir")) {
		t.Error("an image is still mapped")
	}
}

func list(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// mapped is how much address space this process has taken, in bytes.
func mapped(t *testing.T) uint64 { return status(t, "VmSize") }

func status(t *testing.T, key string) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), key+":")
	var kib uint64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// Where the system bounds a process's data, as in a worker, growing is refused
// and nothing else happens. The bound stays with its process, so it is a child's.
func TestBound(t *testing.T) {
	const marker = "WEIR_IMAGE_BOUND"
	if os.Getenv(marker) != "" {
		bound(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestBound$", "-test.v")
	cmd.Env = append(os.Environ(), marker+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("grown to the bound")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func bound(t *testing.T) {
	s := space(t)
	m, im := frozen(t, s, mib, 1<<30)
	// The rest of a MiB, which the memory cannot have, is left for the Go runtime.
	data := status(t, "VmData") + 64*mib + 15*mib/16
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: data, Max: data}); err != nil {
		t.Fatal(err)
	}
	var sizes [2]uint64
	for i := range sizes {
		for size := uint64(2 * mib); m.Reallocate(size) != nil; size += mib {
			m.base[size-1] = 1
		}
		if sizes[i] = m.Size(); !m.Refused() || sizes[i] > 65*mib {
			t.Fatalf("a memory of %d bytes, refused: %v", sizes[i], m.Refused())
		}
		if resize, err := m.Renew(); err != nil || !resize || m.Reallocate(0) == nil {
			t.Fatal(resize, err)
		}
	}
	if sizes[1] < sizes[0] {
		t.Errorf("a renewed memory grew to %d bytes, before %d", sizes[1], sizes[0])
	}
	if _, err := s.Reserve(128*mib, 128*mib); err == nil {
		t.Error("a memory beyond the bound was made")
	}
	_ = im
	t.Log("grown to the bound")
}
