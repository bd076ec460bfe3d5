package worker

import (
	"context"
	"slices"

	"github.com/weirhost/weir/host/internal/sandbox"
)

// A seeker is a call for which a worker is being made. Beside calls that keep the cores
// busy that may take long, so it takes what it can get before.
type seeker struct {
	key     string
	c       *call
	patient bool          // it may wait behind others
	found   chan struct{} // closed when it is in a line
}

// A making is a worker on its way. It has the place of the call that it is made for;
// when that went elsewhere the worker is kept for others.
type making struct {
	done chan struct{} // closed when it has come to its end, unless left
	left bool          // nobody waits for it; the pool's mu holds it
	w    *process
	turn *task
	err  error
}

// seek has a worker made for a call that has its place, and waits until the call is in
// that one's line, or in another's. If it could not be made, the place was given back.
func (m *Module) seek(ctx context.Context, s *seeker) error {
	p := m.pool
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer context.AfterFunc(ctx, cancel)() // only while the call waits for it
	k := &making{done: make(chan struct{})}
	p.tasks.Add(1) // within the call's own
	m.makings.Go(func() {
		defer p.tasks.Done()
		defer cancel()
		defer context.AfterFunc(m.calls.Life(), cancel)()
		m.bring(starting, k, s)
	})
	select {
	case <-k.done:
	case <-s.found:
	}
	return m.settle(s, k)
}

// settle ends a search: by now the call is in a line, or the making at its end.
func (m *Module) settle(s *seeker, k *making) error {
	p := m.pool
	p.mu.Lock()
	sought := m.forget(s)
	select {
	case <-k.done:
	default:
		k.left = true
		p.mu.Unlock()
		return nil
	}
	if sought && k.err == nil {
		s.c.turn, s.c.alone = k.turn, true
		p.admit(m, k.w, s.c)
	}
	p.mu.Unlock()
	if sought {
		if k.err != nil {
			s.c.giveBack()
		}
		return k.err
	}
	m.store(k, s.c.inv.Place)
	return nil
}

// bring makes a worker, which ends with ctx. A module that closes does not wait for one
// whose call went elsewhere, for its life is over then.
func (m *Module) bring(ctx context.Context, k *making, s *seeker) {
	m.pool.drop(func(i *idler) bool { return i.module == m && i.w.key != s.key }) // of grants that no longer hold
	k.w, k.turn, k.err = m.make(ctx, s.c.inv.Grant.Mounts)
	m.pool.mu.Lock()
	left := k.left
	if !left {
		close(k.done)
	}
	m.pool.mu.Unlock()
	if left {
		m.store(k, s.c.inv.Place)
	}
}

// store keeps a worker whose caller has found another one, for whoever seeks one or
// comes later, and gives back its place if nobody takes it.
func (m *Module) store(k *making, place sandbox.Place) {
	p := m.pool
	var surplus []*process
	if k.err == nil {
		p.turns.done(k.turn)
		sound := k.w.sound()
		p.mu.Lock()
		m.lines = append(m.lines, k.w)
		k.w.open, k.w.place = true, place
		if sound {
			m.hand(k.w)
		}
		if k.w.line.empty() {
			place = p.shut(m, k.w)
			surplus = p.keep(m, k.w)
		} else {
			place = nil
		}
		p.mu.Unlock()
	}
	if place != nil {
		place.Give()
	}
	for _, w := range surplus {
		w.discard()
	}
}

// hand puts those who seek a worker into the line of a sound one, as long as there is
// room; the pool's mu is held.
func (m *Module) hand(w *process) {
	if len(m.seekers) == 0 || !w.open {
		return
	}
	for _, s := range slices.Clone(m.seekers) {
		if s.key == w.key && s.c.fits(w, true) && w.line.join(s.c, m.aheadOf(s.key, s.c, s.patient)) {
			s.c.w = w
			m.forget(s)
			close(s.found)
		}
	}
}

// note makes a call a seeker; the pool's mu is held.
func (m *Module) note(key string, c *call, patient bool) *seeker {
	s := &seeker{key: key, c: c, patient: patient, found: make(chan struct{})}
	m.seekers = append(m.seekers, s)
	m.seeking.Add(1)
	return s
}

// forget takes a seeker out, and reports whether it was still one; the pool's mu is
// held.
func (m *Module) forget(s *seeker) bool {
	at := slices.Index(m.seekers, s)
	if at < 0 {
		return false
	}
	m.seekers = slices.Delete(m.seekers, at, at+1)
	m.seeking.Add(-1)
	return true
}
