package memsnap

import (
	"bytes"
	"testing"
)

// Images of prepared files are as others, and each file serves again, empty, after its image.
func TestPrepare(t *testing.T) {
	s := space(t)
	fds, err := s.Prepare(2, 4*guestPage)
	if err != nil || len(fds) != 2 || fds[0] == fds[1] {
		t.Fatalf("the files %v: %v", fds, err)
	}
	for round := range 3 {
		var memories []*Memory
		var images []*Image
		for n := range 2 {
			m, err := s.Reserve(guestPage, 4*guestPage)
			if err != nil {
				t.Fatal(err)
			}
			mem := m.Reallocate(guestPage)
			mem[round*5000+n] = 7 // elsewhere in each round
			want := bytes.Clone(mem)
			im, err := m.Freeze()
			if err != nil {
				t.Fatal(err)
			}
			mem[0], mem[9000] = 9, 9
			if _, err := m.Renew(); err != nil || !bytes.Equal(mem, want) {
				t.Errorf("round %d, image %d: it is not put back: %v", round, n, err)
			}
			memories, images = append(memories, m), append(images, im)
		}
		extra, err := s.Reserve(guestPage, guestPage)
		if err != nil {
			t.Fatal(err)
		}
		extra.Reallocate(guestPage)
		if _, err := extra.Freeze(); err == nil {
			t.Error("there are more images than prepared files")
		}
		extra.Release()
		for n := range memories {
			if err := images[n].Close(); err != nil {
				t.Error(err)
			}
			memories[n].Release()
		}
	}
}
