package memsnap

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkRenew measures a renewal with the writes before it: the 5 pages of 736
// that a small call of a Go guest writes, 1 of 16 as guests in C do, one page more
// than are copied back, and growth by a result of 64 KiB.
func BenchmarkRenew(b *testing.B) {
	const page = 4096
	for _, row := range []struct {
		name                string
		pages, dirty, grown uint64
	}{
		{"5of736", 736, 5, 0}, {"1of16", 16, 1, 0}, {"100of736", 736, 100, 0}, {"513of736", 736, 513, 0}, {"grown", 736, 5, 32},
	} {
		for _, callers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/callers=%d", row.name, callers), func(b *testing.B) {
				s := space(b)
				first, err := s.Reserve(row.pages*page, 2*row.pages*page)
				if err != nil {
					b.Fatal(err)
				}
				defer first.Release()
				mem := first.Reallocate(row.pages * page)
				for i := range mem[:len(mem)/2] {
					mem[i] = byte(i>>12) + 1
				}
				im, err := first.Freeze()
				if err != nil {
					b.Fatal(err)
				}
				defer im.Close()
				var wg sync.WaitGroup
				b.ResetTimer()
				for range callers {
					wg.Go(func() { renewals(b, s, im, row.dirty, row.grown, b.N/callers+1) })
				}
				wg.Wait()
			})
		}
	}

}

// renewals is a caller that renews a memory of its own n times.
func renewals(b *testing.B, s *Space, im *Image, dirty, grown uint64, n int) {
	const page = 4096
	m, err := s.Reserve(im.Size(), 2*im.Size())
	if err != nil {
		b.Error(err)
		return
	}
	defer m.Release()
	if _, err := m.Adopt(im); err != nil {
		b.Error(err)
		return
	}
	mem := m.Reallocate(im.Size())
	step := im.Size() / dirty / page * page
	for i := range n {
		if grown > 0 {
			mem = m.Reallocate(im.Size() + grown*page)
			for at := im.Size(); at < uint64(len(mem)); at += page {
				mem[at] = byte(i)
			}
		}
		for j := range dirty {
			mem[j*step] = byte(i)
		}
		resize, err := m.Renew()
		if err != nil {
			b.Error(err)
			return
		}
		if resize {
			mem = m.Reallocate(0)
		}
	}
}
