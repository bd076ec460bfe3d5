package sse

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// A gate is a connection whose writes wait for the test.
type gate struct {
	head    http.Header
	let     chan error // the result of each write
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

// The stream writes the first event at once, the events of the meantime in one write,
// and leaves the last flush to the handler.
func TestEventsOfOneMomentShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := New(g, func() { t.Error("the client has not gone") })
		s.Event("first", 1)
		synctest.Wait() // it is being written, though nothing else came
		for i := range 5 {
			s.Event("next", i)
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
		s.End()
		s.Event("last", "")
		synctest.Wait() // no goroutine writes: it would wait for the gate
		go func() { g.let <- nil }()
		s.Close()
		text, flushes := g.seen()
		if flushes != 2 {
			t.Errorf("%d flushes: the end is the handler's", flushes)
		}
		for i, name := range []string{"first", "next", "next", "next", "next", "next", "last"} {
			if want := fmt.Sprintf("id: %d\nevent: %s\ndata: ", i+1, name); !strings.Contains(text, want) {
				t.Errorf("%q is missing in %s", want, text)
			}
		}
		s.Event("late", 1)
		synctest.Wait()
		if after, _ := g.seen(); after != text {
			t.Error("something was written after the end")
		}
	})
}

// A client that reads nothing delays the code that adds events, and costs a bounded
// amount of memory.
func TestASlowClientDelaysTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := New(g, func() {})
		line := strings.Repeat("x", 1<<10)
		var mu sync.Mutex
		added, done := 0, make(chan struct{})
		many := func() int { mu.Lock(); defer mu.Unlock(); return added }
		go func() {
			for range 200 {
				s.Event("line", line)
				mu.Lock()
				added++
				mu.Unlock()
			}
			s.Close()
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

// A failed write ends the stream: waiting callers continue, and gone runs once.
func TestAFailedWriteEndsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		gone := 0
		s := New(g, func() { gone++ })
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 100 {
					s.Event("line", strings.Repeat("x", 1<<10))
				}
			})
		}
		synctest.Wait() // all three wait for room
		g.let <- errors.New("reset by peer")
		wg.Wait()
		s.Close()
		if gone != 1 {
			t.Errorf("gone ran %d times", gone)
		}
		if text, _ := g.seen(); text != "" {
			t.Errorf("after a failed write: %s", text)
		}
	})
}

// Data that cannot be encoded leaves no half of an event in the stream.
func TestDataThatCannotBeEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := New(g, func() {})
		s.Event("good", "1")
		s.Event("bad", func() {})
		s.Event("good", "2")
		close(g.let) // one write or two: the first event may leave alone
		s.Close()
		if text, _ := g.seen(); text != "id: 1\nevent: good\ndata: 1\n\nid: 3\nevent: good\ndata: 2\n\n" {
			t.Errorf("%q", text)
		}
	})
}
