//go:build linux

package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/pipe"
)

// newTestRegion makes a region that is let go at the end.
func newTestRegion(t testing.TB) *region {
	r, theirs, err := newRegion()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.drop)
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
	return r
}

// empty makes the rings those of a new worker.
func (r *region) empty() { clear(r.room[:atRings]) }

// anything is what a test lets pass.
var anything = limits{kindLog: {maxMeta, 0}, kindResult: {maxMeta, maxBody}}

// TestRingLaws sends frames of any length: they arrive in their order and whole,
// whichever way each of them goes.
func TestRingLaws(t *testing.T) {
	region := newTestRegion(t)
	length := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, 3*smallData), rapid.IntRange(ringMost-100, ringMost), rapid.IntRange(1, 2*ringRoom))
	rapid.Check(t, func(t *rapid.T) {
		region.empty()
		var pipe wire
		w, r := &writer{w: &pipe, ring: region.ring(toParent)}, newReader(&pipe)
		r.ring = region.ring(toParent)
		var sent [][]byte
		long, short := 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				data := bytes.Repeat([]byte{byte(len(sent)) | 1}, length.Draw(t, "length"))
				if err := w.write(kindResult, packedText("m"), data); err != nil {
					t.Fatal(err)
				}
				sent = append(sent, data)
			},
			"write several": func(t *rapid.T) {
				var all []byte
				for n := range rapid.IntRange(2, 5).Draw(t, "frames") {
					data := bytes.Repeat([]byte{byte(n)}, 50)
					all, _ = appendPacked(all, kindResult, packedText("m"), data)
					sent = append(sent, data)
				}
				if err := w.pass(all, nil); err != nil {
					t.Fatal(err)
				}
			},
			"read": func(t *rapid.T) {
				if len(sent) == 0 {
					if _, err := r.read(&anything, nil); err != io.EOF {
						t.Fatalf("where nothing is there was %v", err)
					}
					return
				}
				before := r.behind
				f, err := r.read(&anything, nil)
				if err != nil || string(f.meta) != "m" || !bytes.Equal(f.data, sent[0]) {
					t.Fatalf("%d bytes came as %d, %v", len(sent[0]), len(f.data), err)
				}
				sent = sent[1:]
				if r.behind == before {
					short++
				} else {
					long++
				}
			},
			"": func(t *rapid.T) {
				if r.waits() && len(sent) > 0 && pipe.Len() == 0 {
					t.Fatal("a frame is nowhere")
				}
			},
		})
		if len(sent) > 0 && short+long > 0 && w.behind < r.behind {
			t.Fatal("more came by the pipe than went")
		}
	})
}

// TestRingWakes sends through a ring and a real pipe while the reader falls asleep
// and wakes at any time: it misses nothing, and finds the end behind what was sent.
func TestRingWakes(t *testing.T) {
	for _, awake := range []bool{false, true} {
		t.Run(fmt.Sprint("awake ", awake), func(t *testing.T) {
			region := newTestRegion(t)
			from, to, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			w, r := &writer{w: spout{pipe.New(to)}, ring: region.ring(toChild)}, newReader(from)
			if r.ring = region.ring(toChild); awake {
				r.spin.most = parentSpin
			}
			const frames = 20_000
			seed := [32]byte{1}
			go func() {
				defer to.Close()
				lengths := rand.New(rand.NewChaCha8(seed))
				for n := range frames {
					if w.write(kindResult, packedText(fmt.Sprint(n)), make([]byte, lengths.IntN(2000)*lengths.IntN(20))) != nil {
						return
					}
				}
			}()
			lengths := rand.New(rand.NewChaCha8(seed))
			for n := range frames {
				f, err := r.read(&anything, nil)
				if want := lengths.IntN(2000) * lengths.IntN(20); err != nil || string(f.meta) != fmt.Sprint(n) || len(f.data) != want {
					t.Fatalf("frame %d came as %q with %d of %d bytes, %v", n, f.meta, len(f.data), want, err)
				}
			}
			if _, err := r.read(&anything, nil); err != io.EOF {
				t.Errorf("behind the last one came %v", err)
			}
		})
	}
}

// TestRingWakesWhoFallsAsleep puts each frame at another moment of its reader's falling
// asleep behind the one before: it is never left asleep.
func TestRingWakesWhoFallsAsleep(t *testing.T) {
	region := newTestRegion(t)
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if err := from.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // who is left asleep fails
		t.Fatal(err)
	}
	const frames = 20_000
	var read atomic.Int64
	go func() {
		defer to.Close()
		w := &writer{w: spout{pipe.New(to)}, ring: region.ring(toChild)}
		for n := range int64(frames) {
			for read.Load() < n {
				runtime.Gosched()
			}
			if w.write(kindLog, packedText("{}"), nil) != nil {
				return
			}
		}
	}()
	r := newReader(from)
	r.ring = region.ring(toChild)
	for n := range int64(frames) {
		for range rand.IntN(2000) { // the next frame is on its way by now
			continue
		}
		if _, err := r.read(&anything, nil); err != nil {
			read.Store(frames)
			t.Fatalf("frame %d: %v", n, err)
		}
		read.Store(n + 1)
	}
}

// TestRingIsNotBelieved says of a ring more than it holds: nothing is taken for a
// frame that was not put.
func TestRingIsNotBelieved(t *testing.T) {
	good, _ := appendPacked(nil, kindLog, packedText("words"), nil)
	for name, put := range map[string]uint64{"more than it holds": ringRoom + 1, "less than was taken": 1<<64 - 1, "less than the frame": uint64(len(good) - 1), "less than a head": headBytes - 1} {
		region := newTestRegion(t)
		ring := region.ring(toParent)
		copy(ring.room, good)
		ring.put.Store(put)
		r := newReader(bytes.NewReader(nil))
		r.ring = ring
		if f, err := r.read(&anything, nil); !errors.Is(err, errFrame) {
			t.Errorf("%s: came %q, %v", name, f.meta, err)
		}
	}
}

// TestRingOutlivesItsWriter reads what was put before the other side ended.
func TestRingOutlivesItsWriter(t *testing.T) {
	region := newTestRegion(t)
	w, r := &writer{w: &wire{}, ring: region.ring(toParent)}, newReader(bytes.NewReader(nil))
	r.ring = region.ring(toParent)
	if err := w.write(kindResult, &resultMeta{}, []byte("last words")); err != nil {
		t.Fatal(err)
	}
	if f, err := r.read(&anything, nil); err != nil || string(f.data) != "last words" {
		t.Errorf("came %q, %v", f.data, err)
	}
	if _, err := r.read(&anything, nil); err != io.EOF {
		t.Errorf("then came %v", err)
	}
}

// TestStaleBells reads bells that came late: they wake nobody, as often as there were
// frames; more of them break the rules.
func TestStaleBells(t *testing.T) {
	region := newTestRegion(t)
	w, r := &writer{w: &wire{}, ring: region.ring(toParent)}, newReader(bytes.NewReader([]byte{bell, bell, bell}))
	r.ring = region.ring(toParent)
	for range 2 {
		if err := w.write(kindLog, packedText("{}"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := r.read(&anything, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.r.Peek(3); err != nil {
		t.Fatal(err)
	}
	if !r.waits() {
		t.Error("a bell is taken for a frame")
	}
	if _, err := r.read(&anything, nil); err != errFrame {
		t.Errorf("two frames had three bells: %v", err)
	}
}

// TestRegionIsKept lets go of a region that is in use: it stays until it is not.
func TestRegionIsKept(t *testing.T) {
	region, theirs, err := newRegion()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	w, r := &writer{w: &wire{}, ring: region.ring(toParent)}, newReader(bytes.NewReader(nil))
	r.ring = region.ring(toParent)
	if !region.hold() {
		t.Fatal("it is not there")
	}
	region.drop()
	if err := w.write(kindLog, packedText("{}"), nil); err != nil {
		t.Errorf("while it is held: %v", err)
	}
	region.drop()
	if err := w.write(kindLog, packedText("{}"), nil); err != io.ErrClosedPipe {
		t.Errorf("a write behind its end: %v", err)
	}
	if _, err := r.read(&anything, nil); err != io.ErrClosedPipe {
		t.Errorf("a read behind its end: %v", err)
	}
}

// TestSpinGivesUp counts how often it is waited for what does not come.
func TestSpinGivesUp(t *testing.T) {
	region := newTestRegion(t)
	ring := region.ring(toChild)
	s := spin{most: 1}
	tries := func(times int) (n int) {
		for range times {
			if s.until(ring); s.passed == 0 {
				n++
			}
		}
		return n
	}
	if first, later := tries(1<<(spinRare+1)), tries(64<<spinRare); first > 2*spinRare || later != 64 {
		t.Errorf("it waited %d times, then %d times", first, later)
	}
	(&writer{w: &wire{}, ring: region.ring(toChild)}).ring.offer([]byte("x"))
	for !s.until(ring) {
		continue
	}
	if s.vain != 0 {
		t.Error("it waits rarely though it was not in vain")
	}
	never := spin{most: 0}
	if never.until(ring) || never.spins() {
		t.Error("it waits though it must not")
	}
}

// TestSpinLetsOthersRun has one goroutine at a time run, and as many looks as one pass
// has: what another one puts is found by who lets it run.
func TestSpinLetsOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	region := newTestRegion(t)
	ours := region.ring(toParent)
	for _, yields := range []bool{false, true} {
		s := spin{most: 1, yields: yields}
		put := make(chan struct{})
		go func() {
			defer close(put)
			if !region.ring(toParent).offer([]byte("x")) {
				t.Error("it is full")
			}
		}()
		if found := s.until(ours); found != yields {
			t.Errorf("letting others run: %t, and found: %t", yields, found)
		}
		<-put
		region.empty()
	}
}

// FuzzRing reads a ring in which a child wrote what it liked: no frame comes out
// that the limits forbid, and whatever it says of itself ends somewhere.
func FuzzRing(f *testing.F) {
	var b wire
	_ = (&writer{w: &b}).write(kindResult, &resultMeta{Memory: 1}, []byte("output"))
	f.Add(b.Bytes(), uint64(b.Len()), uint64(0), true)
	f.Add(b.Bytes(), uint64(b.Len()-1), uint64(0), false)
	f.Add(b.Bytes(), uint64(1<<40), uint64(1<<63), true)
	f.Add(b.Bytes(), uint64(ringRoom), uint64(ringRoom-5), true)
	region := newTestRegion(f)
	f.Fuzz(func(t *testing.T, text []byte, put, at uint64, pipe bool) {
		region.empty()
		ring := region.ring(toParent)
		clear(ring.room)
		ring.mine = at
		for n := range text[:min(len(text), ringRoom)] {
			ring.room[(at+uint64(n))%ringRoom] = text[n]
		}
		ring.put.Store(at + put)
		said := []byte{bell}
		if pipe {
			said = slices.Concat(said, text)
		}
		r := newReader(bytes.NewReader(said))
		r.ring = ring
		allowed := fromChild(1000)
		for read := 0; ; read++ {
			got, err := r.read(&allowed, nil)
			if err != nil {
				return
			}
			within(t, got, &allowed)
			if read > (ringRoom+len(text))/headBytes {
				t.Fatal("more comes out than there is")
			}
		}
	})
}
