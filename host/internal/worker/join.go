package worker

import (
	"slices"

	"github.com/weirhost/weir/host/internal/sandbox"
)

// take finds a line for a call that has its place, behind ahead others at the most,
// or a waiting worker of the module that was lent the same folders. While there is
// neither the call is a seeker.
func (p *Pool) take(m *Module, key string, c *call, ahead int, patient bool) *seeker {
	for {
		i, s := p.look(m, key, c, ahead, patient)
		switch {
		case s != nil:
			return s
		case i == nil:
			c.giveBack()
			return nil
		case i.w.sound():
			p.open(m, i.w, c)
			return nil
		}
		i.w.discard()
	}
}

// look puts a call that has its place into a line, or else takes a worker out of those
// that wait, or else makes it a seeker.
func (p *Pool) look(m *Module, key string, c *call, ahead int, patient bool) (*idler, *seeker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.squeeze(m, key, c, ahead, true) {
		return nil, nil
	}
	if i := p.pick(m, key); i != nil {
		return i, nil
	}
	return nil, m.note(key, c, patient)
}

// giveBack gives back the place that the call itself has.
func (c *call) giveBack() {
	if c.inv.Place != nil {
		c.inv.Place.Give()
	}
}

// queue puts a call that has no place behind others, in a worker that was lent the same
// folders.
func (p *Pool) queue(m *Module, key string, c *call, ahead int) bool {
	if ahead <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.squeeze(m, key, c, ahead, false)
}

// squeeze puts a call behind others, which have the place that it runs in; waited says
// that it has one itself. p.mu is held.
func (p *Pool) squeeze(m *Module, key string, c *call, ahead int, waited bool) bool {
	if ahead <= 0 {
		return false
	}
	for _, w := range m.lines {
		if w.key == key && c.fits(w, waited) && w.line.join(c, ahead) {
			c.w = w
			return true
		}
	}
	return false
}

// fits reports whether the call may run in the place of a worker's line; the pool's mu
// is held.
func (c *call) fits(w *process, waited bool) bool { return c.runsIn(w.place, waited) }

// runsIn reports whether the call may run in a place that others have.
func (c *call) runsIn(place sandbox.Place, waited bool) bool {
	if c.inv.Place == nil || place == nil {
		return c.inv.Place == place
	}
	return c.inv.Place.Shares(place, waited)
}

// open gives a worker without calls its first one, which has its place.
func (p *Pool) open(m *Module, w *process, c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admit(m, w, c, c.inv.Place)
}

// admit is open in a place; p.mu is held.
func (p *Pool) admit(m *Module, w *process, c *call, in sandbox.Place) {
	c.w = w
	w.line.join(c, 0)
	w.open, w.place = true, in
	m.lines = append(m.lines, w)
}

// shut takes a worker from the lines, and returns the place to give back; p.mu is
// held.
func (p *Pool) shut(m *Module, w *process) (place sandbox.Place) {
	m.lines = slices.DeleteFunc(m.lines, func(o *process) bool { return o == w })
	place, w.place, w.open = w.place, nil, false
	return place
}

// lose lets go of a call's worker, which is lost.
func (p *Pool) lose(m *Module, c *call) {
	w := c.w
	w.line.fall()
	p.mu.Lock()
	place := p.shut(m, w)
	p.mu.Unlock()
	w.discard()
	if place != nil {
		place.Give()
	}
}

// put ends a call. Where there is room then, those who seek a worker come first;
// without any, one that has no other call is kept for later.
func (p *Pool) put(m *Module, c *call) {
	if empty := c.line.leave(c); !empty && m.seeking.Load() == 0 {
		return
	}
	w := c.w
	// Looked at before the lock, which nobody may hold while folders are: without any,
	// for those too who begin to seek in between.
	sound := (w.key == "" || m.seeking.Load() > 0) && w.sound()
	p.mu.Lock()
	if sound {
		m.hand(w)
	}
	if !w.open || !w.line.empty() { // somebody came, who may have gone again
		p.mu.Unlock()
		return
	}
	place := p.shut(m, w)
	surplus := p.keep(m, w)
	p.mu.Unlock()
	if place != nil {
		place.Give()
	}
	for _, w := range surplus {
		w.discard()
	}
}
