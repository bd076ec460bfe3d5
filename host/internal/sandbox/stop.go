package sandbox

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/weirhost/weir/host/internal/instrument"
)

// A stopper stops a guest that runs too long: it raises the flags that the guest's
// code checks. It serves one span after the other; a late stop of one span does not
// affect the next.
type stopper struct {
	flags []api.MutableGlobal // empty: nothing can be stopped

	up atomic.Bool // the flags are raised

	mu       sync.Mutex
	armed    bool
	raised   bool
	deadline time.Time
	timer    *time.Timer
	due      time.Time       // when the timer fires; zero: it is stopped
	outer    context.Context // the span's
	ended    func() bool     // stops watching outer
	closing  func() bool     // stops watching the module's life
}

// add registers the flag of a module, if it has one.
func (s *stopper) add(m api.Module) {
	if m == nil {
		return
	}
	if flag, ok := m.ExportedGlobal(instrument.StopGlobal).(api.MutableGlobal); ok {
		s.flags = append(s.flags, flag)
	}
}

// arm begins a span. Usually the timer of an earlier span still runs and checks the
// new deadline when it fires, so arming is free.
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
	s.ended = context.AfterFunc(outer, s.stopOuter)
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

// look runs when the timer fires.
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

// stop ends the current span.
func (s *stopper) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed {
		s.raise()
	}
}

// stopOuter ends the span whose outer context has ended. It may run late, when the
// next span has begun; then it does nothing.
func (s *stopper) stopOuter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed && s.outer.Err() != nil {
		s.raise()
	}
}

// raise raises the flags; s.mu is held.
func (s *stopper) raise() {
	s.raised = true
	s.up.Store(true)
	for _, f := range s.flags {
		f.Set(1)
	}
}

// disarm ends the span and lowers the flags. It reports whether they were raised.
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
	if s.ended != nil {
		s.ended()
	}
	s.outer, s.ended = nil, nil
	return raised
}

// end stops the timer and the watch over the module.
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

// isStop reports whether an error is that of a stopped guest: it waited too long in
// the host, or it saw its flag, which raised confirms.
func isStop(err error, raised bool) bool {
	return errors.Is(err, errOver) || raised && strings.HasPrefix(err.Error(), "wasm error: unreachable")
}
