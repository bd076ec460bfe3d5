//go:build linux

package shmring

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

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/pipe"
)

// testRegion returns a Region that is released at the end of the test.
func testRegion(t testing.TB) *Region {
	r, theirs, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Release)
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
	return r
}

// empty makes the rings those of a new worker.
func (r *Region) empty() { clear(r.bytes[:atRings]) }

// Kinds and limits of the tests.
const (
	kindLog Kind = iota + 1
	kindResult

	maxMeta = 1 << 20
	maxText = 128 << 10
)

// anything are limits that allow all frames of the tests.
var anything = Limits{kindLog: {maxMeta, 0}, kindResult: {maxMeta, 16 << 20}}

// Frames of any length arrive in order and undamaged, through the ring or the pipe.
func TestRingProperties(t *testing.T) {
	region := testRegion(t)
	length := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, 3*SmallData), rapid.IntRange(maxPut-100, maxPut), rapid.IntRange(1, 2*ringSize))
	rapid.Check(t, func(t *rapid.T) {
		region.empty()
		var pipe wire
		w, r := NewWriter(&pipe, region, ToParent), NewReader(&pipe, region, ToParent)
		var sent [][]byte
		long, short := 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				data := bytes.Repeat([]byte{byte(len(sent)) | 1}, length.Draw(t, "length"))
				if err := w.Write(kindResult, Packed("m"), data); err != nil {
					t.Fatal(err)
				}
				sent = append(sent, data)
			},
			"write several": func(t *rapid.T) {
				var all []byte
				for n := range rapid.IntRange(2, 5).Draw(t, "frames") {
					data := bytes.Repeat([]byte{byte(n)}, 50)
					all, _ = AppendFrame(all, kindResult, Packed("m"), data)
					sent = append(sent, data)
				}
				if err := w.WriteFrames(all, nil); err != nil {
					t.Fatal(err)
				}
			},
			"read": func(t *rapid.T) {
				if len(sent) == 0 {
					if _, err := r.Read(&anything, nil); err != io.EOF {
						t.Fatalf("where nothing is there was %v", err)
					}
					return
				}
				before := r.piped
				f, err := r.Read(&anything, nil)
				if err != nil || string(f.Meta) != "m" || !bytes.Equal(f.Data, sent[0]) {
					t.Fatalf("%d bytes came as %d, %v", len(sent[0]), len(f.Data), err)
				}
				sent = sent[1:]
				if r.piped == before {
					short++
				} else {
					long++
				}
			},
			"": func(t *rapid.T) {
				if r.Empty() && len(sent) > 0 && pipe.Len() == 0 {
					t.Fatal("a frame is nowhere")
				}
			},
		})
		if len(sent) > 0 && short+long > 0 && w.piped < r.piped {
			t.Fatal("more came by the pipe than went")
		}
	})
}

// A reader that sleeps and wakes at any time misses no frame of a ring and a real
// pipe, and finds the end after the last one.
func TestRingWakes(t *testing.T) {
	for _, awake := range []bool{false, true} {
		t.Run(fmt.Sprint("awake ", awake), func(t *testing.T) {
			region := testRegion(t)
			from, to, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			w, r := NewWriter(parentEnd{pipe.New(to)}, region, ToChild), NewReader(from, region, ToChild)
			if awake {
				r.Poll(50*time.Microsecond, false)
			}
			const frames = 20_000
			seed := [32]byte{1}
			go func() {
				defer to.Close()
				lengths := rand.New(rand.NewChaCha8(seed))
				for n := range frames {
					if w.Write(kindResult, Packed(fmt.Sprint(n)), make([]byte, lengths.IntN(2000)*lengths.IntN(20))) != nil {
						return
					}
				}
			}()
			lengths := rand.New(rand.NewChaCha8(seed))
			for n := range frames {
				f, err := r.Read(&anything, nil)
				if want := lengths.IntN(2000) * lengths.IntN(20); err != nil || string(f.Meta) != fmt.Sprint(n) || len(f.Data) != want {
					t.Fatalf("frame %d came as %q with %d of %d bytes, %v", n, f.Meta, len(f.Data), want, err)
				}
			}
			if _, err := r.Read(&anything, nil); err != io.EOF {
				t.Errorf("behind the last one came %v", err)
			}
		})
	}
}

// Each frame is put at another moment of its reader's falling asleep: the reader
// always wakes.
func TestRingWakesAReaderThatFallsAsleep(t *testing.T) {
	region := testRegion(t)
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
		w := NewWriter(parentEnd{pipe.New(to)}, region, ToChild)
		for n := range int64(frames) {
			for read.Load() < n {
				runtime.Gosched()
			}
			if w.Write(kindLog, Packed("{}"), nil) != nil {
				return
			}
		}
	}()
	r := NewReader(from, region, ToChild)
	for n := range int64(frames) {
		for range rand.IntN(2000) { // the next frame is on its way by now
			continue
		}
		if _, err := r.Read(&anything, nil); err != nil {
			read.Store(frames)
			t.Fatalf("frame %d: %v", n, err)
		}
		read.Store(n + 1)
	}
}

// A ring claims to hold more than it does: nothing is read as a frame that was not
// put.
func TestRingCountersAreChecked(t *testing.T) {
	good, _ := AppendFrame(nil, kindLog, Packed("words"), nil)
	for name, put := range map[string]uint64{"more than it holds": ringSize + 1, "less than was taken": 1<<64 - 1, "less than the frame": uint64(len(good) - 1), "less than a head": headBytes - 1} {
		region := testRegion(t)
		ring := region.ring(ToParent)
		copy(ring.bytes, good)
		ring.written.Store(put)
		r := NewReader(bytes.NewReader(nil), nil, 0)
		r.ring = ring
		if f, err := r.Read(&anything, nil); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: came %q, %v", name, f.Meta, err)
		}
	}
}

// Frames that were put before the other side ended are read.
func TestRingOutlivesItsWriter(t *testing.T) {
	region := testRegion(t)
	w, r := NewWriter(&wire{}, region, ToParent), NewReader(bytes.NewReader(nil), region, ToParent)
	if err := w.Write(kindResult, Packed("m"), []byte("last words")); err != nil {
		t.Fatal(err)
	}
	if f, err := r.Read(&anything, nil); err != nil || string(f.Data) != "last words" {
		t.Errorf("came %q, %v", f.Data, err)
	}
	if _, err := r.Read(&anything, nil); err != io.EOF {
		t.Errorf("then came %v", err)
	}
}

// Late bells are ignored, as many as there were frames; more of them break the
// protocol.
func TestBellsWithoutFramesAreRefused(t *testing.T) {
	region := testRegion(t)
	w, r := NewWriter(&wire{}, region, ToParent), NewReader(bytes.NewReader([]byte{bell, bell, bell}), region, ToParent)
	for range 2 {
		if err := w.Write(kindLog, Packed("{}"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(&anything, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.r.Peek(3); err != nil {
		t.Fatal(err)
	}
	if !r.Empty() {
		t.Error("a bell is taken for a frame")
	}
	if _, err := r.Read(&anything, nil); err != ErrProtocol {
		t.Errorf("two frames had three bells: %v", err)
	}
}

// A region that is released while it is in use stays mapped until its last user
// releases it.
func TestARegionInUseStaysMapped(t *testing.T) {
	region, theirs, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	w, r := NewWriter(&wire{}, region, ToParent), NewReader(bytes.NewReader(nil), region, ToParent)
	if !region.retain() {
		t.Fatal("it is not there")
	}
	region.Release()
	if err := w.Write(kindLog, Packed("{}"), nil); err != nil {
		t.Errorf("while it is held: %v", err)
	}
	region.Release()
	if err := w.Write(kindLog, Packed("{}"), nil); err != io.ErrClosedPipe {
		t.Errorf("a write behind its end: %v", err)
	}
	if _, err := r.Read(&anything, nil); err != io.ErrClosedPipe {
		t.Errorf("a read behind its end: %v", err)
	}
}

// Polling without success is tried less and less often.
func TestPollingIsTriedLessOftenAfterFailures(t *testing.T) {
	region := testRegion(t)
	ring := region.ring(ToChild)
	s := poller{most: 1}
	tries := func(times int) (n int) {
		for range times {
			if s.until(ring); s.skipped == 0 {
				n++
			}
		}
		return n
	}
	if first, later := tries(1<<(maxFailures+1)), tries(64<<maxFailures); first > 2*maxFailures || later != 64 {
		t.Errorf("it waited %d times, then %d times", first, later)
	}
	region.ring(ToChild).put([]byte("x"))
	for !s.until(ring) {
		continue
	}
	if s.failures != 0 {
		t.Error("it waits rarely though it was not in vain")
	}
	never := poller{most: 0}
	if never.until(ring) || never.due() {
		t.Error("it waits though it must not")
	}
}

// On one processor a frame of another goroutine is found only if polling yields.
func TestPollingLetsOtherGoroutinesRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	region := testRegion(t)
	ours := region.ring(ToParent)
	for _, yields := range []bool{false, true} {
		s := poller{most: 1, yields: yields}
		put := make(chan struct{})
		go func() {
			defer close(put)
			if !region.ring(ToParent).put([]byte("x")) {
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

// FuzzRing reads a ring with arbitrary content: every frame obeys the limits, and
// reading ends.
func FuzzRing(f *testing.F) {
	var b wire
	_ = NewWriter(&b, nil, 0).Write(kindResult, Packed("m"), []byte("output"))
	f.Add(b.Bytes(), uint64(b.Len()), uint64(0), true)
	f.Add(b.Bytes(), uint64(b.Len()-1), uint64(0), false)
	f.Add(b.Bytes(), uint64(1<<40), uint64(1<<63), true)
	f.Add(b.Bytes(), uint64(ringSize), uint64(ringSize-5), true)
	region := testRegion(f)
	f.Fuzz(func(t *testing.T, text []byte, put, at uint64, pipe bool) {
		region.empty()
		ring := region.ring(ToParent)
		clear(ring.bytes)
		ring.mine = at
		for n := range text[:min(len(text), ringSize)] {
			ring.bytes[(at+uint64(n))%ringSize] = text[n]
		}
		ring.written.Store(at + put)
		said := []byte{bell}
		if pipe {
			said = slices.Concat(said, text)
		}
		r := NewReader(bytes.NewReader(said), nil, 0)
		r.ring = ring
		allowed := Limits{kindLog: {maxText, 0}, kindResult: {maxText, 1000}}
		for read := 0; ; read++ {
			got, err := r.Read(&allowed, nil)
			if err != nil {
				return
			}
			within(t, got, &allowed)
			if read > (ringSize+len(text))/headBytes {
				t.Fatal("more comes out than there is")
			}
		}
	})
}

// within fails for a frame that exceeds the limits.
func within(t *testing.T, f Frame, allowed *Limits) {
	t.Helper()
	most := allowed[f.Kind]
	if most.Meta == 0 || len(f.Meta) == 0 || len(f.Meta) > most.Meta || len(f.Data) > most.Data {
		t.Fatalf("kind %d with %d and %d bytes came through", f.Kind, len(f.Meta), len(f.Data))
	}
}

// wire is a Carrier that never blocks.
type wire struct{ bytes.Buffer }

func (w *wire) Send(head, tail []byte) error {
	_, err := w.Buffer.Write(slices.Concat(head, tail))
	return err
}

// TestSharedMemoryCannotBeTruncated truncates the memory, after which a read would kill the parent.
func TestSharedMemoryCannotBeTruncated(t *testing.T) {
	region, theirs, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := unix.Ftruncate(int(theirs.Fd()), 0); err == nil {
		t.Error("they were cut off")
	}
	c := region.Claims()
	c.Offer(1)
	if c.Begun(1) || !c.Claim(1) || c.Claim(1) || c.TakeBack(1) || !c.Begun(1) {
		t.Error("one call was had twice")
	}
	if c.Close(); c.TakeBack(1) || !c.Begun(1) {
		t.Error("behind the end a call is had again")
	}
	if region.retain() {
		t.Error("behind the end there is memory")
	}
}
