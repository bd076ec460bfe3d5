package worker

import (
	"context"
	"slices"

	"github.com/weirhost/weir/host/internal/cpusched"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/sandbox"
)

// A seeker is a call for which a worker is being made. Beside calls that keep the cores
// busy that may take long, so it takes what it can get before.
type waiter struct {
	key     string
	c       *call
	patient bool          // it may wait behind others
	found   chan struct{} // closed when it is in a line
}

// A making is a worker on its way, and the place that it is to run in. When the call
// that it was begun for has found another one the next seeker takes it up, else the
// worker is kept: so there are never more starts than calls that sought at once.
type start struct {
	key    string
	slot   sandbox.Slot // nil: it needs none
	cancel context.CancelFunc
	done   chan struct{} // closed when it has come to its end, if somebody waits for it
	by     *waiter       // who waits for it; nil: nobody; the pool's mu holds it, and the next
	ended  bool          // it was cancelled
	w      *process
	task   *cpusched.Task
	err    error
}

// seek has a worker made for a call that has its place, and waits until the call is in
// that one's line, or in another's. If it could not be made, the place was given back.
func (m *Module) startWorker(ctx context.Context, s *waiter) error {
	k := m.adoptStart(s)
	if k != nil {
		s.c.releaseSlot()
	} else {
		k = m.beginStart(ctx, s)
	}
	defer context.AfterFunc(ctx, func() { m.cancelStart(s, k) })()
	select {
	case <-k.done:
	case <-s.found:
	}
	return m.finishStart(s, k)
}

// cancelStart ends a making whose call has ended, unless that waits for it no more: then
// it is another's.
func (m *Module) cancelStart(s *waiter, k *start) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if k.by == s {
		k.ended = true
		k.cancel()
	}
}

// adoptStart finds a making that nobody waits for any more; nil: there is none.
func (m *Module) adoptStart(s *waiter) *start {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	at := slices.IndexFunc(m.orphans, func(k *start) bool { return k.key == s.key && s.c.canUse(k.slot, true) })
	if at < 0 {
		return nil
	}
	k := m.orphans[at]
	m.orphans = slices.Delete(m.orphans, at, at+1)
	k.by = s
	return k
}

// begin begins to make a worker in the place of a call.
func (m *Module) beginStart(ctx context.Context, s *waiter) *start {
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	k := &start{key: s.key, slot: s.c.inv.Slot, cancel: cancel, done: make(chan struct{}), by: s}
	m.pool.tasks.Add(1) // within the call's own
	m.starts.Go(func() {
		defer m.pool.tasks.Done()
		defer cancel()
		defer context.AfterFunc(m.calls.Life(), cancel)()
		m.runStart(starting, k, s.c.inv.Grant.Mounts)
	})
	return k
}

// settle ends a search: by now the call is in a line, or the making at its end.
func (m *Module) finishStart(s *waiter, k *start) error {
	p := m.pool
	p.mu.Lock()
	sought := m.removeWaiter(s)
	select {
	case <-k.done:
	default:
		if k.by = nil; !k.ended {
			m.orphans = append(m.orphans, k)
		}
		p.mu.Unlock()
		return nil
	}
	if sought && k.err == nil {
		s.c.task, s.c.exclusive = k.task, true
		p.assignLocked(m, k.w, s.c, k.slot)
	}
	p.mu.Unlock()
	if !sought {
		m.keepStarted(k)
		return nil
	}
	if k.err != nil && k.slot != nil {
		k.slot.Release()
	}
	return k.err
}

// bring makes a worker, which ends with ctx. A module that closes does not wait for one
// whose call went elsewhere, for its life is over then.
func (m *Module) runStart(ctx context.Context, k *start, mounts []jail.Mount) {
	m.pool.discardIdle(func(i *idleWorker) bool { return i.module == m && i.w.key != k.key }) // of grants that no longer hold
	k.w, k.task, k.err = m.make(ctx, mounts)
	m.pool.mu.Lock()
	left := k.by == nil
	if left {
		m.orphans = slices.DeleteFunc(m.orphans, func(o *start) bool { return o == k })
	} else {
		close(k.done)
	}
	m.pool.mu.Unlock()
	if left {
		m.keepStarted(k)
	}
}

// store keeps a worker whose caller has found another one, for whoever seeks one or
// comes later, and gives back its place if nobody takes it.
func (m *Module) keepStarted(k *start) {
	p, slot := m.pool, k.slot
	var surplus []*process
	if k.err == nil {
		p.sched.End(k.task)
		usable := k.w.usable()
		p.mu.Lock()
		m.busy = append(m.busy, k.w)
		k.w.attached, k.w.slot = true, slot
		if usable {
			m.assignWaiters(k.w)
		}
		if k.w.queue.empty() {
			slot = p.detach(m, k.w)
			surplus = p.addIdle(m, k.w)
		} else {
			slot = nil
		}
		p.mu.Unlock()
	}
	if slot != nil {
		slot.Release()
	}
	for _, w := range surplus {
		w.discard()
	}
}

// hand puts those who seek a worker into the line of a usable one, as long as there is
// room, except those whose caller has gone: it would be ended with them. The pool's mu
// is held.
func (m *Module) assignWaiters(w *process) {
	if len(m.waiters) == 0 || !w.attached {
		return
	}
	for _, s := range slices.Clone(m.waiters) {
		if s.key == w.key && s.c.outer.Err() == nil && s.c.fits(w, true) && w.queue.join(s.c, m.aheadOf(s.key, s.c, s.patient)) {
			s.c.w = w
			m.removeWaiter(s)
			close(s.found)
		}
	}
}

// note makes a call a seeker; the pool's mu is held.
func (m *Module) addWaiter(key string, c *call, patient bool) *waiter {
	s := &waiter{key: key, c: c, patient: patient, found: make(chan struct{})}
	m.waiters = append(m.waiters, s)
	m.waiting.Add(1)
	return s
}

// recompile takes a seeker out, and reports whether it was still one; the pool's mu is
// held.
func (m *Module) removeWaiter(s *waiter) bool {
	at := slices.Index(m.waiters, s)
	if at < 0 {
		return false
	}
	m.waiters = slices.Delete(m.waiters, at, at+1)
	m.waiting.Add(-1)
	return true
}
