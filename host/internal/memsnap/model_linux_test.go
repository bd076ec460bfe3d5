package memsnap

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// space opens a Space that must be left empty.
func space(t testing.TB) *Space {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if got := s.Stats(); got != (Stats{}) {
			t.Errorf("left in use: %+v", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// machine holds a memory beside a model of it in plain slices.
type machine struct {
	memory *Memory
	limit  uint64
	got    []byte // what the engine received
	want   []byte
	image  []byte // nil before Freeze
	im     *Image
}

func (m *machine) write(t *rapid.T) {
	if len(m.want) == 0 {
		t.Skip("empty")
	}
	at := rapid.IntRange(0, len(m.want)-1).Draw(t, "at")
	n := rapid.SampledFrom([]int{1, 8, 5000, 70_000}).Draw(t, "n")
	fill := bytes.Repeat([]byte{rapid.Byte().Draw(t, "fill")}, n)
	copy(m.want[at:], fill)
	copy(m.got[at:], fill)
}

func (m *machine) grow(t *rapid.T) {
	pages := rapid.SampledFrom([]uint64{1, 2, 4}).Draw(t, "pages")
	size := uint64(len(m.want)) + pages*guestPage
	got := m.memory.Reallocate(size)
	if size > m.limit {
		if got != nil || !m.memory.Refused() {
			t.Fatalf("growing to %d of %d was not refused", size, m.limit)
		}
		return
	}
	m.got, m.want = got, append(m.want, make([]byte, pages*guestPage)...)
}

func (m *machine) freeze(t *rapid.T) {
	im, err := m.memory.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	m.drop()
	m.im, m.image = im, slices.Clone(m.want)
}

func (m *machine) renew(t *rapid.T) {
	resize, err := m.memory.Renew()
	if m.image == nil {
		if err != ErrNoImage {
			t.Fatalf("renewed without an image: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if m.memory.Refused() {
		t.Fatal("a refusal of the last call is not forgotten")
	}
	m.back(t, resize)
}

// adopt gives the memory up and takes another one, which has its own past.
func (m *machine) adopt(t *rapid.T) {
	if m.im == nil {
		t.Skip("no image")
	}
	size := rapid.SampledFrom([]uint64{0, 1, 3}).Draw(t, "size") * guestPage
	next, err := m.memory.space.Reserve(size, m.limit)
	if err != nil {
		t.Fatal(err)
	}
	m.memory.Release()
	m.memory, m.got = next, next.Reallocate(size)
	m.want = make([]byte, size)
	if size > 0 {
		m.got[size-1], m.got[0] = 7, 7
	}
	resize, err := next.Adopt(m.im)
	if err != nil {
		t.Fatal(err)
	}
	m.back(t, resize)
}

// back expects the image.
func (m *machine) back(t *rapid.T, resize bool) {
	if resize != (len(m.want) != len(m.image)) {
		t.Fatalf("resize = %v for %d bytes and an image of %d", resize, len(m.want), len(m.image))
	}
	m.want = slices.Clone(m.image)
	if resize {
		m.got = m.memory.Reallocate(uint64(len(m.got)) + guestPage)
	}
}

func (m *machine) drop() {
	if m.im != nil {
		_ = m.im.Close()
	}
}

func (m *machine) check(t *rapid.T) {
	if len(m.got) != len(m.want) || cap(m.got) != len(m.got) {
		t.Fatalf("%d bytes of capacity %d, want %d of both", len(m.got), cap(m.got), len(m.want))
	}
	if m.memory.Size() != uint64(len(m.want)) {
		t.Fatalf("the size is %d, want %d", m.memory.Size(), len(m.want))
	}
	if !bytes.Equal(m.got, m.want) {
		i := 0
		for m.got[i] == m.want[i] {
			i++
		}
		t.Fatalf("byte %d of %d is %d, want %d", i, len(m.want), m.got[i], m.want[i])
	}
}

// Any sequence of writing, growing, freezing, adopting and renewing leaves what
// a plain slice would hold.
func TestModel(t *testing.T) {
	s := space(t)
	s.most = 8 // so that small memories come to it
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]uint64{0, 1, 2}).Draw(t, "size") * guestPage
		m := &machine{limit: 4 * guestPage, want: make([]byte, size)}
		var err error
		if m.memory, err = s.Reserve(size, m.limit); err != nil {
			t.Fatal(err)
		}
		defer func() { m.memory.Release(); m.drop() }()
		m.got = m.memory.Reallocate(size)
		t.Repeat(map[string]func(*rapid.T){
			"write": m.write, "grow": m.grow, "freeze": m.freeze, "renew": m.renew, "adopt": m.adopt, "": m.check,
		})
	})
}
