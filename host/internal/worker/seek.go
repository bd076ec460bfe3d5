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
type seeker struct {
	key     string
	c       *call
	patient bool          // it may wait behind others
	found   chan struct{} // closed when it is in a line
}

// A making is a worker on its way, and the place that it is to run in. When the call
// that it was begun for has found another one the next seeker takes it up, else the
// worker is kept: so there are never more makings than calls that sought at once.
type making struct {
	key    string
	place  sandbox.Place // nil: it needs none
	cancel context.CancelFunc
	done   chan struct{} // closed when it has come to its end, if somebody waits for it
	by     *seeker       // who waits for it; nil: nobody; the pool's mu holds it, and the next
	ended  bool          // it was cancelled
	w      *process
	turn   *cpusched.Task
	err    error
}

// seek has a worker made for a call that has its place, and waits until the call is in
// that one's line, or in another's. If it could not be made, the place was given back.
func (m *Module) seek(ctx context.Context, s *seeker) error {
	k := m.takeUp(s)
	if k != nil {
		s.c.giveBack()
	} else {
		k = m.begin(ctx, s)
	}
	defer context.AfterFunc(ctx, func() { m.giveUp(s, k) })()
	select {
	case <-k.done:
	case <-s.found:
	}
	return m.settle(s, k)
}

// giveUp ends a making whose call has ended, unless that waits for it no more: then
// it is another's.
func (m *Module) giveUp(s *seeker, k *making) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if k.by == s {
		k.ended = true
		k.cancel()
	}
}

// takeUp finds a making that nobody waits for any more; nil: there is none.
func (m *Module) takeUp(s *seeker) *making {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	at := slices.IndexFunc(m.left, func(k *making) bool { return k.key == s.key && s.c.runsIn(k.place, true) })
	if at < 0 {
		return nil
	}
	k := m.left[at]
	m.left = slices.Delete(m.left, at, at+1)
	k.by = s
	return k
}

// begin begins to make a worker in the place of a call.
func (m *Module) begin(ctx context.Context, s *seeker) *making {
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	k := &making{key: s.key, place: s.c.inv.Place, cancel: cancel, done: make(chan struct{}), by: s}
	m.pool.tasks.Add(1) // within the call's own
	m.makings.Go(func() {
		defer m.pool.tasks.Done()
		defer cancel()
		defer context.AfterFunc(m.calls.Life(), cancel)()
		m.bring(starting, k, s.c.inv.Grant.Mounts)
	})
	return k
}

// settle ends a search: by now the call is in a line, or the making at its end.
func (m *Module) settle(s *seeker, k *making) error {
	p := m.pool
	p.mu.Lock()
	sought := m.forget(s)
	select {
	case <-k.done:
	default:
		if k.by = nil; !k.ended {
			m.left = append(m.left, k)
		}
		p.mu.Unlock()
		return nil
	}
	if sought && k.err == nil {
		s.c.turn, s.c.alone = k.turn, true
		p.admit(m, k.w, s.c, k.place)
	}
	p.mu.Unlock()
	if !sought {
		m.store(k)
		return nil
	}
	if k.err != nil && k.place != nil {
		k.place.Give()
	}
	return k.err
}

// bring makes a worker, which ends with ctx. A module that closes does not wait for one
// whose call went elsewhere, for its life is over then.
func (m *Module) bring(ctx context.Context, k *making, mounts []jail.Mount) {
	m.pool.drop(func(i *idler) bool { return i.module == m && i.w.key != k.key }) // of grants that no longer hold
	k.w, k.turn, k.err = m.make(ctx, mounts)
	m.pool.mu.Lock()
	left := k.by == nil
	if left {
		m.left = slices.DeleteFunc(m.left, func(o *making) bool { return o == k })
	} else {
		close(k.done)
	}
	m.pool.mu.Unlock()
	if left {
		m.store(k)
	}
}

// store keeps a worker whose caller has found another one, for whoever seeks one or
// comes later, and gives back its place if nobody takes it.
func (m *Module) store(k *making) {
	p, place := m.pool, k.place
	var surplus []*process
	if k.err == nil {
		p.sched.End(k.turn)
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
// room, except those whose caller has gone: it would be ended with them. The pool's mu
// is held.
func (m *Module) hand(w *process) {
	if len(m.seekers) == 0 || !w.open {
		return
	}
	for _, s := range slices.Clone(m.seekers) {
		if s.key == w.key && s.c.outer.Err() == nil && s.c.fits(w, true) && w.line.join(s.c, m.aheadOf(s.key, s.c, s.patient)) {
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
