package worker

import (
	"slices"
	"time"
)

// An idleWorker is a worker that waits for a call.
type idleWorker struct {
	module *Module
	w      *process
	since  time.Time
}

// popIdle removes and returns an idle worker; nil: there is none. p.mu is held.
func (p *Pool) popIdle(m *Module, key string) *idleWorker {
	for n, i := range slices.Backward(p.idle) {
		if i.module == m && i.w.key == key {
			p.idle = slices.Delete(p.idle, n, n+1)
			return i
		}
	}
	return nil
}

// addIdle makes a worker idle and returns the workers to discard: the longest idle
// ones if there are too many, or w itself if the Pool is closed. p.mu is held.
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
	if len(p.idle) == 1 { // else a sweep is scheduled already
		p.scheduleSweep(p.cfg.Idle)
	}
	return surplus
}

// scheduleSweep runs sweepIdle after a while; p.mu is held.
func (p *Pool) scheduleSweep(after time.Duration) {
	switch {
	case len(p.idle) == 0:
	case p.sweep == nil:
		p.sweep = time.AfterFunc(after, p.sweepIdle)
	default:
		p.sweep.Reset(after)
	}
}

// sweepIdle discards workers that were idle for too long.
func (p *Pool) sweepIdle() {
	p.discardIdle(func(i *idleWorker) bool { return i.w.dead() || time.Since(i.since) >= p.cfg.Idle })
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.idle) > 0 {
		p.scheduleSweep(max(p.cfg.Idle-time.Since(p.idle[0].since), 10*time.Millisecond))
	}
}

// discardIdle discards the idle workers that meant selects.
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
