package worker

import (
	"slices"
	"time"
)

// idleWorker is a worker that waits for a call.
type idleWorker struct {
	module *Module
	w      *process
	since  time.Time
}

// pick takes a worker out of those that wait; p.mu is held.
func (p *Pool) popIdle(m *Module, key string) *idleWorker {
	for n, i := range slices.Backward(p.idle) {
		if i.module == m && i.w.key == key {
			p.idle = slices.Delete(p.idle, n, n+1)
			return i
		}
	}
	return nil
}

// keep keeps a worker for later, and returns what is to be discarded: it, if the Pool
// is closed, and those that waited longest, when there are too many. p.mu is held.
func (p *Pool) addIdle(m *Module, w *process) (surplus []*process) {
	if p.closed {
		return []*process{w}
	}
	w.measureMemory()
	p.idle = append(p.idle, &idleWorker{m, w, time.Now()})
	if over := len(p.idle) - max(p.cfg.Max, 0); over > 0 {
		for _, i := range p.idle[:over] {
			surplus = append(surplus, i.w)
		}
		p.idle = slices.Delete(p.idle, 0, over)
	}
	if len(p.idle) == 1 { // else tidy comes for the one before it
		p.scheduleSweep(p.cfg.Idle)
	}
	return surplus
}

// wake lets tidy run after a while; p.mu is held.
func (p *Pool) scheduleSweep(after time.Duration) {
	switch {
	case len(p.idle) == 0:
	case p.sweep == nil:
		p.sweep = time.AfterFunc(after, p.sweepIdle)
	default:
		p.sweep.Reset(after)
	}
}

// tidy sends away workers that waited long enough.
func (p *Pool) sweepIdle() {
	p.discardIdle(func(i *idleWorker) bool { return i.w.dead() || time.Since(i.since) >= p.cfg.Idle })
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.idle) > 0 {
		p.scheduleSweep(max(p.cfg.Idle-time.Since(p.idle[0].since), 10*time.Millisecond))
	}
}

// drop sends away the waiting workers that are meant.
func (p *Pool) discardIdle(meant func(*idleWorker) bool) {
	var gone []*idleWorker
	p.mu.Lock()
	p.idle = slices.DeleteFunc(p.idle, func(i *idleWorker) bool {
		if !meant(i) {
			return false
		}
		gone = append(gone, i)
		return true
	})
	p.mu.Unlock()
	for _, i := range gone {
		i.w.discard()
	}
}
