package sched

import "context"

// A Slot acquires slots of a Limiter for the calls of one tool. It implements
// sandbox.Slot. It is safe for concurrent use.
type Slot struct {
	limiter *Limiter
	key     Key
}

// Slot returns the Slot for the calls of a Key.
func (l *Limiter) Slot(k Key) *Slot { return &Slot{l, k} }

// Acquire waits for a slot until ctx ends or closing is closed. It reports whether
// it acquired one, which Release then releases.
func (s *Slot) Acquire(ctx context.Context, closing <-chan struct{}) bool {
	return s.limiter.Acquire(ctx, closing, s.key) == nil
}

// Release releases the slot.
func (s *Slot) Release() { s.limiter.Release(s.key) }
