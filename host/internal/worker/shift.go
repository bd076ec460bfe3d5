package worker

import (
	"sync"
	"time"
)

// When a call counts as one that computes for long: its worker has used so much CPU time,
// and the parent looks so often.
const (
	lookEvery = 10 * time.Millisecond
	muchCPU   = 4 * time.Millisecond
)

// A shift is the time that a worker works for one call. When it has computed for long, the
// priority of the thread that runs the guest is lowered, so that the kernel prefers short
// calls. Not every user may raise a priority again, so the next call gets a new thread.
type shift struct {
	w    *process
	from time.Duration // CPU time of the worker before

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// beginShift begins a shift, which end must end.
func (w *process) beginShift() *shift {
	s := &shift{w: w, from: w.cpuTime()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(lookEvery, s.look)
	return s
}

// look runs from time to time.
func (s *shift) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	thread := int(s.w.thread.Load())
	switch {
	case s.over:
	case thread != 0 && s.w.cpuTime()-s.from >= muchCPU:
		s.w.low = true
		s.w.lowerThread(thread)
	default:
		s.timer.Reset(lookEvery)
	}
}

// end ends the shift.
func (s *shift) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.Stop()
}
