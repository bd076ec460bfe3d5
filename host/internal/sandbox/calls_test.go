package sandbox

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// Calls come and go while their module closes: none is admitted after that, and Close
// waits for all that were.
func TestCallsEndBeforeTheirModule(t *testing.T) {
	for range 200 {
		c := NewCalls(t.Context())
		var running, late atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for c.Enter() {
					running.Add(1)
					running.Add(-1)
					c.Leave()
				}
				if c.Enter() {
					late.Add(1)
				}
			})
		}
		first := c.Close(t.Context())
		if n := running.Load(); !first || n != 0 || c.Life().Err() == nil {
			t.Fatalf("it closed, first %t, while %d calls ran, life %v", first, n, c.Life().Err())
		}
		if c.Close(t.Context()) {
			t.Fatal("it closed twice")
		}
		if wg.Wait(); late.Load() != 0 {
			t.Fatal("a call was admitted behind the end")
		}
	}
}

// Close ends the life of a call that runs on.
func TestCloseEndsLongCalls(t *testing.T) {
	c := NewCalls(t.Context())
	c.Enter()
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	go func() {
		<-c.Life().Done()
		c.Enter() // too late, and of no effect
		c.Leave()
	}()
	if !c.Close(impatient) {
		t.Error("it was closed before")
	}
}

// named is an instance that does nothing.
type named struct {
	instance
	held atomic.Bool
}

// Several goroutines acquire and release instances: no two have the same one, and none
// is lost.
func TestAnInstanceServesOneCallAtATime(t *testing.T) {
	const most = 3
	s := &recycledSupply{log: hclog.NewNullLogger(), most: most}
	for range most {
		s.push(&named{})
	}
	var wg sync.WaitGroup
	for range most {
		wg.Go(func() {
			for range 5000 {
				i, _ := s.pop()
				n, ok := i.(*named)
				if !ok {
					t.Error("there is none")
					return
				}
				if n.held.Swap(true) {
					t.Error("two have it")
				}
				n.held.Store(false)
				s.push(i)
			}
		})
	}
	wg.Wait()
	if s.idle.Stop(); len(s.ready) != most {
		t.Errorf("%d of %d wait", len(s.ready), most)
	}
}
