package worker

import (
	"context"
	"errors"
	"slices"

	"github.com/weirhost/weir/host/internal/cpusched"
	"github.com/weirhost/weir/host/internal/jail"
)

// A waiter is a call for which a worker is being started. Beside calls that keep the
// cores busy a start may take long, so the call takes any worker or room in a queue
// that is available earlier. It has a slot, which the others of its plugin lack: it holds
// it only until then.
type waiter struct {
	key     string
	c       *call
	patient bool          // it may wait after other calls
	kept    bool          // its worker runs in its slot
	found   chan struct{} // closed when it is in a queue
}

// A start is a worker that is being started, for the call that waits for it. If that one
// has found another worker, the next waiter adopts the start, else the worker
// becomes idle. So there are never more starts than calls that waited at once. A start
// whose turn comes while no call waits for it starts no process: of many callers that
// begin at the same time the first few workers serve all.
type start struct {
	key    string
	cancel context.CancelFunc
	done   chan struct{} // closed at its end, if a call waits for it
	by     *waiter       // the waiter; nil: none; the pool's mu guards it and the next
	begun  bool          // its turn has come
	ended  bool          // it was cancelled, or is not needed
	w      *process
	task   *cpusched.Task
	err    error
}

// startWorker starts a worker for a call that has its slot, and waits until the call
// is in the queue of that worker or another. After an error the slot was released.
func (m *Module) startWorker(ctx context.Context, s *waiter) (err error) {
	select {
	case <-s.found: // a worker is free already
	default:
		k := m.adoptStart(s)
		if k == nil {
			k = m.beginStart(ctx, s)
		}
		defer context.AfterFunc(ctx, func() { m.cancelStart(s, k) })()
		select {
		case <-k.done:
		case <-s.found:
		}
		err = m.finishStart(s, k)
	}
	if !s.kept {
		s.c.releaseSlot()
	}
	return err
}

// cancelStart cancels a start whose call has ended, unless another call has adopted
// it.
func (m *Module) cancelStart(s *waiter, k *start) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if k.by == s {
		k.ended = true
		k.cancel()
	}
}

// adoptStart returns a start without a waiter; nil: there is none.
func (m *Module) adoptStart(s *waiter) *start {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	at := slices.IndexFunc(m.starting, func(k *start) bool {
		return k.by == nil && !k.ended && k.key == s.key
	})
	if at < 0 {
		return nil
	}
	k := m.starting[at]
	k.by = s
	return k
}

// errNoWaiter is the error of a start that no call waited for.
var errNoWaiter = errors.New("no call waits for the worker")

// beginTurn begins the turn of a start, and reports whether a call waits for it.
func (m *Module) beginTurn(k *start) bool {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	k.begun = true
	k.ended = k.ended || k.by == nil
	return !k.ended
}

// beginStart begins to start a worker for a call.
func (m *Module) beginStart(ctx context.Context, s *waiter) *start {
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	k := &start{key: s.key, cancel: cancel, done: make(chan struct{}), by: s}
	m.pool.mu.Lock()
	m.starting = append(m.starting, k)
	m.pool.mu.Unlock()
	m.pool.tasks.Add(1) // the call itself holds one
	m.starts.Go(func() {
		defer m.pool.tasks.Done()
		defer cancel()
		defer context.AfterFunc(m.calls.Life(), cancel)()
		m.runStart(starting, k, s.c.inv.Grant.Mounts)
	})
	return k
}

// finishStart ends the wait: the call is in a queue, or the start has ended.
func (m *Module) finishStart(s *waiter, k *start) error {
	p := m.pool
	p.mu.Lock()
	sought := m.removeWaiter(s)
	select {
	case <-k.done:
	default:
		k.by = nil
		p.mu.Unlock()
		return nil
	}
	if sought && k.err == nil {
		s.c.task, s.c.exclusive, s.kept = k.task, true, true
		p.assignLocked(m, k.w, s.c)
	}
	p.mu.Unlock()
	if !sought {
		m.keepStarted(k)
		return nil
	}
	return k.err
}

// runStart starts the process. Close of the module does not wait for a start whose
// call went elsewhere, because Life has ended then.
func (m *Module) runStart(ctx context.Context, k *start, mounts []jail.Mount) {
	m.pool.discardIdle(func(i *idleWorker) bool { return i.module == m && i.w.key != k.key }) // with folders that are no longer granted
	k.w, k.task, k.err = m.make(ctx, k, mounts)
	m.pool.mu.Lock()
	m.starting = slices.DeleteFunc(m.starting, func(o *start) bool { return o == k })
	left := k.by == nil
	if !left {
		close(k.done)
	}
	m.pool.mu.Unlock()
	if left {
		m.keepStarted(k)
	}
}

// keepStarted gives a started worker without a waiter to a call that waits for another
// one, which runs in its own slot, and to those that may wait after it. Without any the
// worker becomes idle.
func (m *Module) keepStarted(k *start) {
	if k.err != nil {
		return
	}
	p := m.pool
	p.sched.End(k.task)
	usable := k.w.usable()
	var surplus []*process
	p.mu.Lock()
	at := slices.IndexFunc(m.waiters, func(s *waiter) bool { return usable && s.key == k.key && s.c.outer.Err() == nil })
	if at < 0 {
		surplus = p.addIdle(m, k.w)
	} else {
		s := m.waiters[at]
		s.kept = true
		m.queueLimitOf(s.key, s.c, s.patient)
		p.assignLocked(m, k.w, s.c)
		m.removeWaiter(s)
		close(s.found)
		m.assignWaiters(k.w)
	}
	p.mu.Unlock()
	for _, w := range surplus {
		w.discard()
	}
}

// assignWaiters adds waiters to the queue of a usable worker, as long as there is
// room. It skips those whose caller has gone: the worker would be killed with them.
// The pool's mu is held.
func (m *Module) assignWaiters(w *process) {
	if len(m.waiters) == 0 || !w.attached {
		return
	}
	for _, s := range slices.Clone(m.waiters) {
		if s.key == w.key && s.c.outer.Err() == nil && s.c.fits(w, true) && w.queue.join(s.c, m.queueLimitOf(s.key, s.c, s.patient)) {
			s.c.w = w
			m.removeWaiter(s)
			close(s.found)
		}
	}
}

// addWaiter makes a call a waiter; the pool's mu is held.
func (m *Module) addWaiter(key string, c *call, patient bool) *waiter {
	s := &waiter{key: key, c: c, patient: patient, found: make(chan struct{})}
	m.waiters = append(m.waiters, s)
	m.waiting.Add(1)
	return s
}

// removeWaiter removes a waiter, and reports whether it was still one; the pool's mu
// is held.
func (m *Module) removeWaiter(s *waiter) bool {
	at := slices.Index(m.waiters, s)
	if at < 0 {
		return false
	}
	m.waiters = slices.Delete(m.waiters, at, at+1)
	m.waiting.Add(-1)
	return true
}
