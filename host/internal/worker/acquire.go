package worker

import (
	"slices"

	"github.com/weirhost/weir/host/internal/sandbox"
)

// acquire finds a worker for a call that has its slot: a queue with at most limit
// other calls, or an idle worker with the same folders. If there is neither, the call
// becomes a waiter.
func (p *Pool) acquire(m *Module, key string, c *call, limit int, patient bool) *waiter {
	for {
		i, s := p.tryAcquire(m, key, c, limit, patient)
		switch {
		case s != nil:
			return s
		case i == nil:
			c.releaseSlot()
			return nil
		case i.w.usable():
			p.assign(m, i.w, c)
			return nil
		}
		i.w.discard()
	}
}

// tryAcquire adds a call that has its slot to a queue, or else removes an idle worker
// from the list, or else makes the call a waiter.
func (p *Pool) tryAcquire(m *Module, key string, c *call, limit int, patient bool) (*idleWorker, *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enqueueLocked(m, key, c, limit, true) {
		return nil, nil
	}
	if i := p.popIdle(m, key); i != nil {
		return i, nil
	}
	return nil, m.addWaiter(key, c, patient)
}

// releaseSlot releases the call's own slot.
func (c *call) releaseSlot() {
	if c.inv.Slot != nil {
		c.inv.Slot.Release()
	}
}

// enqueue adds a call without a slot to the queue of a worker with the same folders.
func (p *Pool) enqueue(m *Module, key string, c *call, limit int) bool {
	if limit <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enqueueLocked(m, key, c, limit, false)
}

// enqueueLocked adds a call to a queue, in whose slot it then runs. waited reports
// whether the call has a slot of its own. p.mu is held.
func (p *Pool) enqueueLocked(m *Module, key string, c *call, limit int, waited bool) bool {
	if limit <= 0 {
		return false
	}
	for _, w := range m.busy {
		if w.key == key && c.fits(w, waited) && w.queue.join(c, limit) {
			c.w = w
			return true
		}
	}
	return false
}

// fits reports whether the call may run in the slot of a worker's queue. The pool's mu is
// held.
func (c *call) fits(w *process, waited bool) bool {
	if c.inv.Slot == nil || w.slot == nil {
		return c.inv.Slot == w.slot
	}
	return c.inv.Slot.Shares(w.slot, waited)
}

// assign gives an idle worker its first call, which has its slot.
func (p *Pool) assign(m *Module, w *process, c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.assignLocked(m, w, c)
}

// assignLocked is assign; p.mu is held.
func (p *Pool) assignLocked(m *Module, w *process, c *call) {
	c.w = w
	w.queue.join(c, 0)
	w.attached, w.slot = true, c.inv.Slot
	m.busy = append(m.busy, w)
}

// detach removes a worker from the busy ones and returns the slot to release; p.mu is
// held.
func (p *Pool) detach(m *Module, w *process) (slot sandbox.Slot) {
	m.busy = slices.DeleteFunc(m.busy, func(o *process) bool { return o == w })
	slot, w.slot, w.attached = w.slot, nil, false
	return slot
}

// discardLost discards the worker of a call, which is lost.
func (p *Pool) discardLost(m *Module, c *call) {
	w := c.w
	w.queue.fall()
	p.mu.Lock()
	slot := p.detach(m, w)
	p.mu.Unlock()
	w.discard()
	if slot != nil {
		slot.Release()
	}
}

// release ends a call. If its queue has room, the waiters come first; without waiters,
// a worker without calls becomes idle.
func (p *Pool) release(m *Module, c *call) {
	if empty := c.queue.leave(c); !empty && m.waiting.Load() == 0 {
		return
	}
	w := c.w
	// Checked before the lock, because checking folders may take long. Without folders it is also
	// checked for waiters that come meanwhile.
	usable := (w.key == "" || m.waiting.Load() > 0) && w.usable()
	p.mu.Lock()
	if usable {
		m.assignWaiters(w)
	}
	if !w.attached || !w.queue.empty() { // another call came, and may have ended again
		p.mu.Unlock()
		return
	}
	slot := p.detach(m, w)
	surplus := p.addIdle(m, w)
	p.mu.Unlock()
	if slot != nil {
		slot.Release()
	}
	for _, w := range surplus {
		w.discard()
	}
}
