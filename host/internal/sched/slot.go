package sched

import (
	"context"
	"slices"

	"github.com/weirhost/weir/host/internal/sandbox"
)

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

// Shares reports whether a call of s may queue for the guest that runs in the slot
// of with, and so use that slot. Both must belong to the same plugin and be bound
// by the same quota. A call that has not waited yet must not pass one that
// waits, of any plugin, and could use the slot of with.
func (s *Slot) Shares(with sandbox.Slot, waited bool) bool {
	o, ok := with.(*Slot)
	if !ok || o.limiter != s.limiter || o.key.Plugin != s.key.Plugin {
		return false
	}
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	alike := o.key.Tool == s.key.Tool || o.key.Quota == s.key.Quota && s.key.Quota >= l.share
	return alike && (waited || !l.wanted(o.key))
}

// wanted reports whether a waiting call could use a slot that is in use, if it
// were released. The lock is held.
func (l *Limiter) wanted(used Key) bool {
	return slices.ContainsFunc(l.queues, func(q *queue) bool {
		ofTool, ofPlugin := l.tools[q.Tool], l.plugins[q.Plugin]
		if q.Tool == used.Tool {
			ofTool--
		}
		if q.Plugin == used.Plugin {
			ofPlugin--
		}
		return l.fits(q.Key, ofTool, ofPlugin, l.used-1)
	})
}
