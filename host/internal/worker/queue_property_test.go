//go:build linux

package worker

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/shmring"
)

// idleWire is a Carrier that drops everything.
type idleWire struct{}

func (idleWire) Send(_, _ []byte) error { return nil }

// Whatever the order of events, each call is begun or taken back, never both, and
// learns its state once. The worker begins calls in order, and the pipe always has
// room for the waiting ones.
func TestQueueProperties(t *testing.T) {
	shared := testRegion(t).Claims()
	rapid.Check(t, func(t *rapid.T) {
		l := &callQueue{claims: shared, room: 400, send: shmring.NewWriter(idleWire{}, nil, 0), kill: func() {}}
		var all []*call
		begun := map[*call]bool{} // by the worker
		var runs *call            // in it; nil: none
		came := 0                 // calls that the worker has read
		answered := 0             // whose results wait to be read
		newest := func() *call { return all[len(all)-1] }
		any := func(t *rapid.T) *call {
			if len(all) == 0 {
				t.Skip("no calls")
			}
			return rapid.SampledFrom(all[max(0, len(all)-6):]).Draw(t, "call")
		}
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				c := &call{exclusive: rapid.IntRange(0, 9).Draw(t, "alone") == 0, inv: sandbox.Invocation{Export: "x", Input: make([]byte, rapid.IntRange(0, 100).Draw(t, "input"))}}
				before := len(l.calls)
				if l.join(c, 4) {
					all = append(all, c)
					l.flush()
					if before > 4 || before > 0 && c.exclusive {
						t.Fatalf("it joined %d others, alone %t", before, c.exclusive)
					}
				}
			},
			"the worker begins": func(t *rapid.T) {
				if runs != nil || came >= len(all) {
					t.Skip("nothing to begin with")
				}
				c := all[came]
				came++
				if !l.claims.Closed() && l.claims.Claim(c.number) {
					if c.state == moved || c.state == workerLost && !c.begun {
						t.Fatalf("call %d was taken back and is begun", c.number)
					}
					runs, begun[c] = c, true
				}
			},
			"the worker answers": func(t *rapid.T) {
				if runs == nil {
					t.Skip("nothing runs")
				}
				runs, answered = nil, answered+1
			},
			"a result is read": func(t *rapid.T) {
				if answered == 0 || l.over {
					t.Skip("there is none")
				}
				c := l.calls[0]
				if answered--; !begun[c] || !l.begun(c) {
					t.Fatalf("call %d is first and was not begun", c.number)
				}
				l.leave(c)
			},
			"take back": func(t *rapid.T) {
				c := any(t)
				if l.takeBack(c) && begun[c] {
					t.Fatalf("call %d is begun and was taken back", c.number)
				}
			},
			"clear": func(t *rapid.T) {
				if len(l.calls) == 0 {
					t.Skip("no calls")
				}
				c := rapid.SampledFrom(l.calls).Draw(t, "call")
				if still := l.clear(c); still && c != runs && begun[c] && runs != nil {
					t.Fatalf("call %d is said to run, but %d does", c.number, runs.number)
				}
				if l.join(&call{}, 4) {
					t.Fatal("somebody joined waits it")
				}
			},
			"the worker is lost": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") != 0 || answered > 0 || len(l.calls) == 0 {
					t.Skip("not now")
				}
				waiting := append([]*call{}, l.calls...)
				l.fall()
				for _, c := range waiting {
					if c.begun != begun[c] {
						t.Fatalf("call %d: begun %t, said %t", c.number, begun[c], c.begun)
					}
				}
			},
			"": func(t *rapid.T) {
				lies := 0
				for _, c := range all[came:] {
					b, _ := shmring.AppendFrame(nil, kindCall, c.meta(), c.inv.Input)
					lies += len(b)
				}
				if runs != nil && lies > l.room/2 {
					t.Fatalf("%d bytes lie waits call %d in a pipe that holds %d", lies, runs.number, l.room)
				}
				for _, c := range all {
					if c.changed != nil && c.state == waits && len(c.changed) > 0 || c.changed != nil && c.state != waits && len(c.changed) != 1 {
						t.Fatalf("call %d was told %d times, and stands at %d", c.number, len(c.changed), c.state)
					}
				}
				if len(all) > 0 && newest().number != l.sent {
					t.Fatal("a number is missing")
				}
			},
		})
	})
}

// Calls that were taken back stay in the pipe until the worker has skipped them.
func TestCallsTakenBackStayInThePipe(t *testing.T) {
	shared := testRegion(t).Claims()
	l := &callQueue{claims: shared, room: 1000, send: shmring.NewWriter(idleWire{}, nil, 0), kill: func() {}}
	join := func() (*call, bool) {
		c := &call{inv: sandbox.Invocation{Export: "x", Input: make([]byte, 80)}}
		return c, l.join(c, queueMost)
	}
	one, _ := join()
	two, _ := join()
	for range 3 {
		if c, ok := join(); !ok || !l.takeBack(c) {
			t.Fatal("nobody can wait")
		}
	}
	if !shared.Claim(one.number) || !shared.Claim(two.number) {
		t.Fatal("they cannot be begun with")
	}
	l.leave(one)
	for n := range 2 {
		if _, ok := join(); ok != (n == 0) {
			t.Errorf("%d frames lie waits the call that runs, and one joined: %t", 3+n, ok)
		}
	}
}
