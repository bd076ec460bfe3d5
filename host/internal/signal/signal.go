// Package signal wakes goroutines that wait for an event.
package signal

import "sync"

// A Signal wakes all goroutines that wait for the next event. The zero value is ready;
// it is safe for concurrent use.
type Signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// Next returns a channel that the next Send closes.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Send wakes all that wait.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// One sends to a channel that has room for one value, unless a value is waiting already.
func One(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
