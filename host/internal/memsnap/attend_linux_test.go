package memsnap

import (
	"bytes"
	"os"
	"runtime"
	"testing"
)

// TestAttend counts the searches after attended calls: there is none after a call
// that wrote exactly the pages of the call before it.
func TestAttend(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, method := range []Method{Scan, Pagemap} {
		s := space(t, method)
		if !s.counts {
			t.Fatal("page faults are not counted here")
		}
		searches, find := 0, s.find
		s.find = func(table *os.File, b []byte, found []region) (int, error) {
			searches++
			return find(table, b, found)
		}
		s.most = 8
		m, err := s.Reserve(4*guestPage, 8*guestPage)
		if err != nil {
			t.Fatal(err)
		}
		mem := m.Reallocate(4 * guestPage)
		for i := range mem {
			mem[i] = byte(i >> 12)
		}
		want := bytes.Clone(mem)
		im, err := m.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		write := func(pages ...int) {
			for _, p := range pages {
				mem[p*4096+1] ^= 0xff
			}
		}
		pages := func(from, to int) (all []int) {
			for p := from; p < to; p++ {
				all = append(all, p)
			}
			return all
		}
		bigger := func() { mem = m.Reallocate(5 * guestPage); write(64, 65) }
		for n, step := range []struct {
			name     string
			attend   bool
			do       func()
			searches int
		}{
			{"the first call", true, func() { write(3, 5) }, 1},
			{"the same", true, func() { write(3, 5) }, 0},
			{"less", true, func() { write(5) }, 0},
			{"nothing", true, func() {}, 0},
			{"another page", true, func() { write(5, 9) }, 1},
			{"all by now", true, func() { write(3, 5, 9) }, 0},
			{"nobody attends", false, func() { write(3, 5, 9) }, 1},
			{"neglected", true, func() { m.Neglect(); write(3) }, 1},
			{"grown", true, bigger, 1},
			{"not grown", true, func() { write(3) }, 0},
			{"grown again, over pages that are the memory's own by now", true, bigger, 0},
			{"another page of the small one", true, func() { write(11) }, 1},
			{"grown a third time", true, bigger, 1},
			{"too many to be copied back", true, func() { write(pages(20, 40)...) }, 1},
			{"none is left", true, func() {}, 0},
			{"one of them again", true, func() { write(30) }, 1},
			{"and again", true, func() { write(30) }, 0},
		} {
			searches = 0
			if step.attend {
				m.Attend()
			}
			step.do()
			resize, err := m.Renew()
			if err != nil {
				t.Fatal(err)
			}
			if resize {
				mem = m.Reallocate(uint64(len(mem)) + guestPage)
			}
			if !bytes.Equal(mem, want) {
				t.Fatalf("%s: step %d, %s: it is not put back", method, n, step.name)
			}
			if grown := m.base[4*guestPage : m.peak]; !empty(grown) {
				t.Fatalf("%s: step %d, %s: something is left behind the image", method, n, step.name)
			}
			if searches != step.searches {
				t.Errorf("%s: step %d, %s: %d searches, want %d", method, n, step.name, searches, step.searches)
			}
		}
		m.Release()
		if err := im.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
