package sandbox

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/weirhost/weir/host/internal/cancelscope"
	"github.com/weirhost/weir/host/internal/instrument"
)

// A stopper ends a guest that runs too long: it raises the flags that the guest's
// code looks at. It serves one span after the other; what comes too late for one
// does not touch the next.
type stopper struct {
	flags []api.MutableGlobal // none: nothing can be stopped

	up atomic.Bool // the flags are

	mu       sync.Mutex
	armed    bool
	raised   bool
	deadline time.Time
	timer    *time.Timer
	due      time.Time         // when the timer fires; zero: it does not run
	outer    context.Context   // the span's
	ended    cancelscope.Watch // over outer
	closing  func() bool       // ends the watch over the module's life
}

// add takes the flag of a module, if it has one.
func (s *stopper) add(m api.Module) {
	if m == nil {
		return
	}
	if flag, ok := m.ExportedGlobal(instrument.StopGlobal).(api.MutableGlobal); ok {
		s.flags = append(s.flags, flag)
	}
}

// arm begins a span. Its deadline costs nothing as a rule: the timer of an earlier
// one is left running, and looks for what is due when it fires.
func (s *stopper) arm(sp span) {
	if len(s.flags) == 0 {
		return
	}
	outer, deadline, life := sp.bounds()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.deadline, s.outer = true, deadline, outer
	if life != nil && s.closing == nil { // once for all spans of an instance
		s.closing = context.AfterFunc(life, s.stop)
	}
	if s.ended.Do == nil {
		s.ended.Do = s.stopOuter
	}
	s.ended.Begin(outer)
	if outer.Err() != nil || life != nil && life.Err() != nil {
		s.raise()
	}
	if !deadline.IsZero() && (s.due.IsZero() || deadline.Before(s.due)) {
		s.wake(time.Until(deadline))
	}
}

// wake sets the timer; s.mu is held.
func (s *stopper) wake(in time.Duration) {
	s.due = s.deadline
	if s.timer == nil {
		s.timer = time.AfterFunc(in, s.look)
		return
	}
	s.timer.Reset(in)
}

// look is the timer's.
func (s *stopper) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = time.Time{}
	if !s.armed || s.deadline.IsZero() {
		return
	}
	if left := time.Until(s.deadline); left > 0 {
		s.wake(left)
		return
	}
	s.raise()
}

// stop ends whatever span there is.
func (s *stopper) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed {
		s.raise()
	}
}

// stopOuter ends the span whose outer context has ended, if there is still one:
// it may come too late, and find the next.
func (s *stopper) stopOuter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed && s.outer.Err() != nil {
		s.raise()
	}
}

// raise sets the flags; s.mu is held.
func (s *stopper) raise() {
	s.raised = true
	s.up.Store(true)
	for _, f := range s.flags {
		f.Set(1)
	}
}

// disarm ends the span and takes the flags back. It reports whether they were up.
func (s *stopper) disarm() (raised bool) {
	if len(s.flags) == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	raised = s.raised
	s.armed, s.raised = false, false
	if raised {
		s.up.Store(false)
		for _, f := range s.flags {
			f.Set(0)
		}
	}
	s.ended.End()
	s.outer = nil
	return raised
}

// end lets go of the timer and of the module.
func (s *stopper) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.closing != nil {
		s.closing()
	}
}

// errOver ends a guest that waited in the host until its span was over.
var errOver = errors.New("the call is over")

// isStop reports whether an error is how a guest ends that waited for too long, or
// that saw its flag, if that was up.
func isStop(err error, raised bool) bool {
	return errors.Is(err, errOver) || raised && strings.HasPrefix(err.Error(), "wasm error: unreachable")
}
