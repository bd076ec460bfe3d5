package worker

import (
	"slices"

	"github.com/weirhost/weir/host/internal/sandbox"
)

// take finds a line for a call that has its place, behind ahead others at the most,
// or a waiting worker of the module that was lent the same folders. While there is
// neither the call is a seeker.
func (p *Pool) acquire(m *Module, key string, c *call, ahead int, patient bool) *waiter {
	for {
		i, s := p.tryAcquire(m, key, c, ahead, patient)
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

// look puts a call that has its place into a line, or else takes a worker out of those
// that wait, or else makes it a seeker.
func (p *Pool) tryAcquire(m *Module, key string, c *call, ahead int, patient bool) (*idleWorker, *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enqueueLocked(m, key, c, ahead, true) {
		return nil, nil
	}
	if i := p.popIdle(m, key); i != nil {
		return i, nil
	}
	return nil, m.addWaiter(key, c, patient)
}

// releaseSlot gives back the place that the call itself has.
func (c *call) releaseSlot() {
	if c.inv.Slot != nil {
		c.inv.Slot.Release()
	}
}

// queue puts a call that has no place behind others, in a worker that was lent the same
// folders.
func (p *Pool) enqueue(m *Module, key string, c *call, ahead int) bool {
	if ahead <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enqueueLocked(m, key, c, ahead, false)
}

// enqueueLocked puts a call behind others, which have the place that it runs in; waited says
// that it has one itself. p.mu is held.
func (p *Pool) enqueueLocked(m *Module, key string, c *call, ahead int, waited bool) bool {
	if ahead <= 0 {
		return false
	}
	for _, w := range m.busy {
		if w.key == key && c.fits(w, waited) && w.queue.join(c, ahead) {
			c.w = w
			return true
		}
	}
	return false
}

// fits reports whether the call may run in the place of a worker's line; the pool's mu
// is held.
func (c *call) fits(w *process, waited bool) bool { return c.canUse(w.slot, waited) }

// canUse reports whether the call may run in a place that others have.
func (c *call) canUse(slot sandbox.Slot, waited bool) bool {
	if c.inv.Slot == nil || slot == nil {
		return c.inv.Slot == slot
	}
	return c.inv.Slot.Shares(slot, waited)
}

// open gives a worker without calls its first one, which has its place.
func (p *Pool) assign(m *Module, w *process, c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.assignLocked(m, w, c, c.inv.Slot)
}

// admit is open in a place; p.mu is held.
func (p *Pool) assignLocked(m *Module, w *process, c *call, in sandbox.Slot) {
	c.w = w
	w.queue.join(c, 0)
	w.attached, w.slot = true, in
	m.busy = append(m.busy, w)
}

// shut takes a worker from the lines, and returns the place to give back; p.mu is
// held.
func (p *Pool) detach(m *Module, w *process) (slot sandbox.Slot) {
	m.busy = slices.DeleteFunc(m.busy, func(o *process) bool { return o == w })
	slot, w.slot, w.attached = w.slot, nil, false
	return slot
}

// lose lets go of a call's worker, which is lost.
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

// put ends a call. Where there is room then, those who seek a worker come first;
// without any, one that has no other call is kept for later.
func (p *Pool) release(m *Module, c *call) {
	if empty := c.queue.leave(c); !empty && m.waiting.Load() == 0 {
		return
	}
	w := c.w
	// Looked at before the lock, which nobody may hold while folders are: without any,
	// for those too who begin to seek in between.
	usable := (w.key == "" || m.waiting.Load() > 0) && w.usable()
	p.mu.Lock()
	if usable {
		m.assignWaiters(w)
	}
	if !w.attached || !w.queue.empty() { // somebody came, who may have gone again
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
