package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// A gate is a connection that takes a write when the test lets it.
type gate struct {
	head    http.Header
	let     chan error // one for each write; nil: it is taken
	mu      sync.Mutex
	text    strings.Builder
	flushes int
}

func newGate() *gate { return &gate{head: http.Header{}, let: make(chan error)} }

func (g *gate) Header() http.Header { return g.head }
func (g *gate) WriteHeader(int)     {}
func (g *gate) Flush()              { g.mu.Lock(); g.flushes++; g.mu.Unlock() }

func (g *gate) Write(b []byte) (int, error) {
	if err := <-g.let; err != nil {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(b)
}

func (g *gate) seen() (text string, flushes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String(), g.flushes
}

// The first event goes out at once, those that come while it is written go out
// together behind it, and the end goes out with the handler's.
func TestAStreamWritesTogetherWhatComesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newStream(g, func() { t.Error("the client has not gone") })
		s.event("first", 1)
		synctest.Wait() // it is being written, though nothing else came
		for i := range 5 {
			s.event("next", i)
		}
		g.let <- nil
		synctest.Wait()
		if text, flushes := g.seen(); strings.Count(text, "event:") != 1 || flushes != 1 {
			t.Fatalf("%d flushes: %s", flushes, text)
		}
		g.let <- nil
		synctest.Wait()
		if text, flushes := g.seen(); strings.Count(text, "event:") != 6 || flushes != 2 {
			t.Fatalf("%d flushes: %s", flushes, text)
		}
		s.end()
		s.event("last", "")
		synctest.Wait() // nobody writes: the writer would wait for the gate
		go func() { g.let <- nil }()
		s.close()
		text, flushes := g.seen()
		if flushes != 2 {
			t.Errorf("%d flushes: the end is the handler's", flushes)
		}
		for i, name := range []string{"first", "next", "next", "next", "next", "next", "last"} {
			if want := fmt.Sprintf("id: %d\nevent: %s\ndata: ", i+1, name); !strings.Contains(text, want) {
				t.Errorf("%q is missing in %s", want, text)
			}
		}
		s.event("late", 1)
		synctest.Wait()
		if after, _ := g.seen(); after != text {
			t.Error("something was written behind the end")
		}
	})
}

// A client that reads nothing holds up whoever adds events, once so much waits,
// and nobody's memory.
func TestAStreamWaitsForASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newStream(g, func() {})
		line := strings.Repeat("x", 1<<10)
		var mu sync.Mutex
		added, done := 0, make(chan struct{})
		many := func() int { mu.Lock(); defer mu.Unlock(); return added }
		go func() {
			for range 200 {
				s.event("line", line)
				mu.Lock()
				added++
				mu.Unlock()
			}
			s.close()
			close(done)
		}()
		synctest.Wait()
		if n := many(); n < streamBytes>>10 || n > 2*streamBytes>>10 {
			t.Fatalf("%d events of a kilobyte wait for a client that reads nothing", n)
		}
		for many() < 200 {
			g.let <- nil
			synctest.Wait()
		}
		for open := true; open; {
			select {
			case g.let <- nil:
			case <-done:
				open = false
			}
		}
		if text, _ := g.seen(); strings.Count(text, "event: line\n") != 200 || !strings.HasSuffix(text, "x\n\n") {
			t.Errorf("%d of 200 events came", strings.Count(text, "event: line\n"))
		}
	})
}

// A write that fails is the stream's end: whoever waits goes on, and one hears of it.
func TestAStreamThatBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		gone := 0
		s := newStream(g, func() { gone++ })
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 100 {
					s.event("line", strings.Repeat("x", 1<<10))
				}
			})
		}
		synctest.Wait() // all three wait for room
		g.let <- errors.New("reset by peer")
		wg.Wait()
		s.close()
		if gone != 1 {
			t.Errorf("it was told %d times", gone)
		}
		if text, _ := g.seen(); text != "" {
			t.Errorf("behind a failed write stands %s", text)
		}
	})
}

// Data that has no JSON leaves no half of an event behind.
func TestAnEventThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newStream(g, func() {})
		s.event("good", "1")
		s.event("bad", func() {})
		s.event("good", "2")
		go func() { g.let <- nil }()
		s.close()
		if text, _ := g.seen(); text != "id: 1\nevent: good\ndata: 1\n\nid: 3\nevent: good\ndata: 2\n\n" {
			t.Errorf("%q", text)
		}
	})
}
