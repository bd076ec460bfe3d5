package host

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/weirhost/weir/host/internal/sandbox"
)

// places are what guests run in, one each, or several one behind the other: so many
// for the whole Host, of these so many for each plugin, and of these so many for each
// tool, so that calls that hang until their deadline leave room for the calls of
// others. When one is free and several plugins wait, the plugin that has the fewest
// gets it; within a plugin, who came first. It is safe for concurrent use.
type places struct {
	all, own int // of the Host, of one plugin

	mu      sync.Mutex
	taken   int
	plugins map[string]int
	tools   map[string]int
	queues  []*queue // of those who wait; none is empty
	came    uint64   // how many have waited
}

// A claim is what a call wants a place for.
type claim struct {
	plugin, tool string
	most         int // of the tool at once, as places.bound gives it
}

// A toolPlace is one of them, as a tool's calls take it. It implements sandbox.Place.
type toolPlace struct {
	*places
	claim
}

func (p *toolPlace) Take(ctx context.Context, over <-chan struct{}) bool {
	return p.take(ctx, over, p.claim) == nil
}

func (p *toolPlace) Give() { p.give(p.claim) }

// Shares reports whether a call may run behind others in their place: no bound that
// holds for it is less than theirs, and nobody who waits for a place, be it one of
// another plugin, and could have theirs is passed by a call that has not waited.
func (p *toolPlace) Shares(with sandbox.Place, waited bool) bool {
	o, ok := with.(*toolPlace)
	if !ok || o.places != p.places || o.plugin != p.plugin {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	alike := o.tool == p.tool || o.most == p.most && p.most >= p.own
	return alike && (waited || !p.wanted(o.claim))
}

// wanted reports whether somebody who waits could have a place that is taken, if it were
// given back; the lock is held.
func (p *places) wanted(taken claim) bool {
	return slices.ContainsFunc(p.queues, func(q *queue) bool {
		ofTool, ofPlugin := p.tools[q.tool], p.plugins[q.plugin]
		if q.tool == taken.tool {
			ofTool--
		}
		if q.plugin == taken.plugin {
			ofPlugin--
		}
		return ofTool < q.most && ofPlugin < max(p.own, q.most)
	})
}

// A waiter is a call without a place.
type waiter struct {
	claim
	came  uint64        // who came before it has a lower one
	ready chan struct{} // closed when it has one
}

// A queue is those who want the same, in the order in which they came: all of
// them may have a place or none.
type queue struct {
	claim
	waiting []*waiter
}

func newPlaces(all int) *places {
	return &places{all: all, own: share(all), plugins: map[string]int{}, tools: map[string]int{}}
}

// share is how many of all places one plugin gets.
func share(all int) int { return min(max(2, all/4), all) }

// Places says how many guests run at once, of all plugins and of one, where Parallel
// is n and plugins run inline or, if the system has them, in processes of their own.
func Places(n int, inline bool) (all, one int) {
	if n <= 0 {
		n = parallel(!inline && CanIsolate())
	}
	return n, share(n)
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
	p.all, p.own = all, share(all)
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

// take waits for a place, until ctx ends or over is closed. The error is that of ctx,
// or errOver; without one, give must be called behind the call.
func (p *places) take(ctx context.Context, over <-chan struct{}, c claim) error {
	if p.now(c) {
		return nil
	}
	w := p.join(c)
	select {
	case <-w.ready: // also when ctx has ended: the guest sees it too
		return nil
	default:
	}
	err := errOver
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-over:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.leave(w) {
		p.free(c) // it was given one at the same moment
	}
	return err
}

// errOver says that what the place was for is over.
var errOver = errors.New("the plugin is being closed")

// now takes a place for which nobody else waits.
func (p *places) now(c claim) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ok := len(p.queues) == 0 && p.taken < p.all && p.may(c)
	if ok {
		p.seat(c)
	}
	return ok
}

func (p *places) join(c claim) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.came++
	w := &waiter{c, p.came, make(chan struct{})}
	i := slices.IndexFunc(p.queues, func(q *queue) bool { return q.claim == c })
	if i < 0 {
		i = len(p.queues)
		p.queues = append(p.queues, &queue{claim: c})
	}
	p.queues[i].waiting = append(p.queues[i].waiting, w)
	p.hand()
	return w
}

// leave takes out who waits; false: it waits no more.
func (p *places) leave(w *waiter) bool {
	i := slices.IndexFunc(p.queues, func(q *queue) bool { return q.claim == w.claim })
	if i < 0 {
		return false
	}
	at := slices.Index(p.queues[i].waiting, w)
	if at >= 0 {
		p.drop(i, at)
	}
	return at >= 0
}

// drop takes somebody out of a queue, and the queue if nobody is left.
func (p *places) drop(i, at int) {
	q := p.queues[i]
	if q.waiting = slices.Delete(q.waiting, at, at+1); len(q.waiting) == 0 {
		p.queues = slices.Delete(p.queues, i, i+1)
	}
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
		for i, q := range p.queues {
			if p.may(q.claim) && (next < 0 || p.before(q, p.queues[next])) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		q := p.queues[next]
		w := q.waiting[0]
		p.drop(next, 0)
		p.seat(q.claim)
		close(w.ready)
	}
}

// before reports whether the first of a is to have a place before the first of b.
func (p *places) before(a, b *queue) bool {
	return cmp.Or(cmp.Compare(p.plugins[a.plugin], p.plugins[b.plugin]), cmp.Compare(a.waiting[0].came, b.waiting[0].came)) < 0
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
