// Package sched limits how many guests run at the same time and shares the slots
// fairly. A Limiter has a number of slots for the whole host; a plugin can use a
// quarter of them, and a tool its quota, so that calls which hang until their
// deadline leave slots for others. The last quarter is for plugins of which no call
// runs. When a slot becomes free and several plugins
// wait, the plugin with the fewest running calls gets it; within a plugin, calls
// are served in the order of arrival. A Slot connects one tool's calls to the
// sandbox, which acquires a slot only for the time in which the guest runs.
package sched

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
)

// ErrClosing is the error of Acquire when the plugin closes while a call waits.
var ErrClosing = errors.New("the plugin is being closed")

// A Key identifies the plugin and the tool that a call needs a slot for.
type Key struct {
	Plugin, Tool string
	Quota        int // the tool's calls at the same time, from Limiter.Quota
}

// A Limiter is a fair semaphore with a quota per plugin and per tool. It is safe
// for concurrent use.
type Limiter struct {
	mu      sync.Mutex
	size    int  // slots of the host
	share   int  // slots of one plugin
	alone   bool // there is one plugin, which may use all
	used    int
	plugins map[string]int
	tools   map[string]int
	queues  []*queue // none is empty
	arrived uint64   // calls that have waited so far
}

// A waiter is a call that has no slot yet.
type waiter struct {
	Key
	number uint64        // position in the order of arrival
	ready  chan struct{} // closed when the call has a slot
}

// A queue holds the waiting calls of one Key in the order of arrival. Either all
// of them may have a free slot or none.
type queue struct {
	Key
	waiting []*waiter
}

// New returns a Limiter with the given number of slots.
func New(slots int) *Limiter {
	return &Limiter{size: slots, share: PluginShare(slots), plugins: map[string]int{}, tools: map[string]int{}}
}

// Unbounded is the size of a Limiter that lets every call run.
const Unbounded = math.MaxInt

// NewUnshared returns a Limiter for one plugin, which can use every slot.
func NewUnshared(slots int) *Limiter {
	l := New(slots)
	l.share, l.alone = slots, true
	return l
}

// PluginShare returns how many of all slots one plugin can use.
func PluginShare(slots int) int { return min(max(2, slots/4), slots) }

// DefaultSlots returns the number of slots if the operator sets none. Guests in
// worker processes may wait long without slowing down others, so there are more.
func DefaultSlots(isolated bool) int {
	if isolated {
		return max(16, 4*runtime.NumCPU())
	}
	return max(4, 2*runtime.NumCPU())
}

// Resize changes the number of slots. Running calls keep theirs, even if there
// are too many of them.
func (l *Limiter) Resize(slots int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size, l.share = slots, PluginShare(slots)
	if l.alone {
		l.share = slots
	}
	l.assign()
}

// Size returns the number of slots.
func (l *Limiter) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// Quota returns how many calls of a tool can run at the same time. The manifest
// may declare fewer than the plugin's share. The operator's number, if positive,
// replaces both and may exceed the share.
func (l *Limiter) Quota(operator, declared int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case operator > 0:
		return min(operator, l.size)
	case operator == 0 && declared > 0:
		return min(declared, l.share)
	}
	return l.share
}

// Busy returns the number of slots in use.
func (l *Limiter) Busy() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// Load returns how many calls of a tool run and how many calls of all tools wait.
func (l *Limiter) Load(tool string) (running, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.queues {
		waiting += len(q.waiting)
	}
	return l.tools[tool], waiting
}

// Acquire waits for a slot until ctx ends or closing is closed. The error is that
// of ctx, or ErrClosing. After nil the caller must call Release.
func (l *Limiter) Acquire(ctx context.Context, closing <-chan struct{}, k Key) error {
	if l.tryAcquire(k) {
		return nil
	}
	w := l.enqueue(k)
	select {
	case <-w.ready: // also when ctx has ended: the sandbox checks it too
		return nil
	default:
	}
	err := ErrClosing
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closing:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cancel(w) {
		l.release(k) // the slot was assigned at the same moment
	}
	return err
}

// Release frees the slot of one Acquire.
func (l *Limiter) Release(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(k)
}

// tryAcquire takes a slot if no other call waits for one.
func (l *Limiter) tryAcquire(k Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ok := len(l.queues) == 0 && l.used < l.size && l.allows(k)
	if ok {
		l.take(k)
	}
	return ok
}

func (l *Limiter) enqueue(k Key) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrived++
	w := &waiter{k, l.arrived, make(chan struct{})}
	i := slices.IndexFunc(l.queues, func(q *queue) bool { return q.Key == k })
	if i < 0 {
		i = len(l.queues)
		l.queues = append(l.queues, &queue{Key: k})
	}
	l.queues[i].waiting = append(l.queues[i].waiting, w)
	l.assign()
	return w
}

// cancel removes a waiter. It reports false if the waiter has a slot already.
func (l *Limiter) cancel(w *waiter) bool {
	i := slices.IndexFunc(l.queues, func(q *queue) bool { return q.Key == w.Key })
	if i < 0 {
		return false
	}
	at := slices.Index(l.queues[i].waiting, w)
	if at >= 0 {
		l.dequeue(i, at)
	}
	return at >= 0
}

// dequeue removes one waiter of a queue, and the queue when it is empty then.
func (l *Limiter) dequeue(i, at int) {
	q := l.queues[i]
	if q.waiting = slices.Delete(q.waiting, at, at+1); len(q.waiting) == 0 {
		l.queues = slices.Delete(l.queues, i, i+1)
	}
}

func (l *Limiter) release(k Key) {
	l.used--
	decrement(l.plugins, k.Plugin)
	decrement(l.tools, k.Tool)
	l.assign()
}

func decrement(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}

// assign gives free slots to waiting calls.
func (l *Limiter) assign() {
	for l.used < l.size {
		next := -1
		for i, q := range l.queues {
			if l.allows(q.Key) && (next < 0 || l.precedes(q, l.queues[next])) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		q := l.queues[next]
		w := q.waiting[0]
		l.dequeue(next, 0)
		l.take(q.Key)
		close(w.ready)
	}
}

// precedes reports whether the first call of a gets a slot before the first of b.
func (l *Limiter) precedes(a, b *queue) bool {
	return cmp.Or(cmp.Compare(l.plugins[a.Plugin], l.plugins[b.Plugin]), cmp.Compare(a.waiting[0].number, b.waiting[0].number)) < 0
}

func (l *Limiter) take(k Key) {
	l.used++
	l.plugins[k.Plugin]++
	l.tools[k.Tool]++
}

// allows reports whether a call may have a free slot. A quota above the plugin's share,
// which only the operator can set, raises the share for that tool. The last quarter of the
// slots is for plugins of which no call runs: several that hang leave room for the others.
func (l *Limiter) allows(k Key) bool {
	ofPlugin := l.plugins[k.Plugin]
	return l.tools[k.Tool] < k.Quota && ofPlugin < max(l.share, k.Quota) && (l.alone || ofPlugin == 0 || k.Quota > l.share || l.used < l.size-l.size/4)
}
