package host

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// places are what guests run in: so many for the whole Host, of these so many
// for each plugin, and of these so many for each tool, so that calls that hang
// until their deadline leave room for the calls of others. When one is free and
// several plugins wait, the plugin that has the fewest gets it; within a
// plugin, who came first. It is safe for concurrent use.
type places struct {
	all, own int // of the Host, of one plugin

	mu      sync.Mutex
	taken   int
	plugins map[string]int
	tools   map[string]int
	waiting []*waiter // in the order in which they came
}

// A claim is what a call wants a place for.
type claim struct {
	plugin, tool string
	most         int // of the tool at once, as places.bound gives it
}

// A waiter is a call without a place.
type waiter struct {
	claim
	ready chan struct{} // closed when it has one
}

func newPlaces(all int) *places {
	return &places{all: all, own: min(max(2, all/4), all), plugins: map[string]int{}, tools: map[string]int{}}
}

// parallel is how many guests run at once when nobody says. What runs in
// processes of its own may wait there for long without hurting others.
func parallel(isolated bool) int {
	if isolated {
		return max(16, 4*runtime.NumCPU())
	}
	return max(4, 2*runtime.NumCPU())
}

// resize changes how many places there are. Calls that run stay, also where
// they are too many.
func (p *places) resize(all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.own = all, min(max(2, all/4), all)
	p.hand()
}

// bound is how many places a tool may have. A tool may ask for less than its
// plugin's share; the operator, whose word is positive, for as many as there are.
func (p *places) bound(operator, declared int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case operator > 0:
		return min(operator, p.all)
	case operator == 0 && declared > 0:
		return min(declared, p.own)
	}
	return p.own
}

// take waits for a place. The error is that of ctx; without one, give must be
// called behind the call.
func (p *places) take(ctx context.Context, c claim) error {
	if p.now(c) {
		return nil
	}
	w := p.join(c)
	select {
	case <-w.ready: // also when ctx has ended: the guest sees it too
		return nil
	default:
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else {
		p.free(c) // it was given one at the same moment
	}
	return ctx.Err()
}

// now takes a place for which nobody else waits.
func (p *places) now(c claim) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ok := len(p.waiting) == 0 && p.taken < p.all && p.may(c)
	if ok {
		p.seat(c)
	}
	return ok
}

func (p *places) join(c claim) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{c, make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.hand()
	return w
}

// give gives a place back.
func (p *places) give(c claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(c)
}

func (p *places) free(c claim) {
	p.taken--
	less(p.plugins, c.plugin)
	less(p.tools, c.tool)
	p.hand()
}

func less(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}

// hand gives free places to those who wait.
func (p *places) hand() {
	for p.taken < p.all {
		next := -1
		for i, w := range p.waiting {
			if p.may(w.claim) && (next < 0 || p.plugins[w.plugin] < p.plugins[p.waiting[next].plugin]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := p.waiting[next]
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.seat(w.claim)
		close(w.ready)
	}
}

func (p *places) seat(c claim) {
	p.taken++
	p.plugins[c.plugin]++
	p.tools[c.tool]++
}

// may reports whether a call may have a free place. What the operator gives a
// tool beyond its plugin's share widens that.
func (p *places) may(c claim) bool {
	return p.tools[c.tool] < c.most && p.plugins[c.plugin] < max(p.own, c.most)
}

// busy is how many places are taken.
func (p *places) busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}
