package worker

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weirhost/weir/internal/testtime"
)

// niceOf returns the nice value of the thread that runs a worker's guest.
func niceOf(t *testing.T, w *process) int {
	t.Helper()
	n, err := unix.Getpriority(unix.PRIO_PROCESS, int(w.thread.Load()))
	if err != nil {
		t.Fatal(err)
	}
	return 20 - n
}

// A call that computes for long gives way to others. The next call of the same worker has a
// thread of the usual priority, whatever this user may do with priorities.
func TestALongCallGivesWay(t *testing.T) {
	s := newStage(t, 1)
	s.now(t.Context(), "warm", patience, s.answered("warm"))
	s.m.pool.mu.Lock()
	w := s.m.pool.idle[0].w
	s.m.pool.mu.Unlock()
	usual := niceOf(t, w)
	if own, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid()); err != nil || usual != 20-own {
		t.Fatalf("a worker begins with %d, %v", usual, err)
	}
	s.call(t.Context(), "compute "+s.door, s.answered("compute "+s.door))
	testtime.Until(t, "it gives way", func() bool { return niceOf(t, w) > usual })
	before := w.thread.Load()
	s.have(s.door)
	s.calls.Wait()
	s.now(t.Context(), "after", patience, s.answered("after"))
	if w.thread.Load() == before || niceOf(t, w) != usual || w.dead() {
		t.Errorf("the next call has thread %d after %d, and %d after %d", w.thread.Load(), before, niceOf(t, w), usual)
	}
	s.rests(1)
}
