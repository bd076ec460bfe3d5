// Package cancelscope provides cheap cancellable contexts for calls that take
// microseconds. A context of package context registers with its parent, allocates a
// channel and unregisters, for every call and each layer that can cancel it: about 1 µs
// and two allocations each. A [Context] of a [Group] registers with its parent only when
// Done or AfterFunc is called, which most calls never do; see BenchmarkWay in package
// worker for what a whole call costs. A [Watch] runs a function at the end of a context
// without an allocation.
package cancelscope

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Group cancels its contexts when its life ends. It is safe for concurrent use.
type Group struct {
	life context.Context

	mu    sync.Mutex
	over  bool
	first *Context
}

// NewGroup returns a Group that lives as long as life.
func NewGroup(life context.Context) *Group {
	g := &Group{life: life}
	context.AfterFunc(life, g.end)
	return g
}

// Enter returns a context that ends with parent, with the Group's life, or when it is
// cancelled. Its values are parent's. Leave must follow.
func (g *Group) Enter(parent context.Context) *Context {
	c := new(Context)
	g.Admit(c, parent)
	return c
}

// Admit is Enter for a zero Context that is a field of another struct, which must not
// be copied.
func (g *Group) Admit(c *Context, parent context.Context) {
	c.parent, c.group = parent, g
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		c.err = g.life.Err()
		c.over.Store(true)
		return
	}
	if c.next = g.first; c.next != nil {
		c.next.before = c
	}
	g.first, c.in = c, true
}

// end cancels all contexts of the Group.
func (g *Group) end() {
	g.mu.Lock()
	g.over = true
	var all []*Context
	for c := g.first; c != nil; c = c.next {
		all = append(all, c)
	}
	g.mu.Unlock()
	for _, c := range all {
		c.cancel(g.life.Err())
	}
}

func (g *Group) leave(c *Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !c.in {
		return
	}
	c.in = false
	if c.before != nil {
		c.before.next = c.next
	} else {
		g.first = c.next
	}
	if c.next != nil {
		c.next.before = c.before
	}
	c.before, c.next = nil, nil
}

// A Context belongs to one call. It is a context.Context with an AfterFunc method that
// package context uses.
type Context struct {
	parent context.Context
	group  *Group

	// Guarded by the lock of the Group.
	before, next *Context
	in           bool

	over  atomic.Bool // err is set
	mu    sync.Mutex
	err   error
	done  chan struct{} // nil until Done is called
	state linking
	up    Watch  // watches parent, after the first wait
	first *Watch // watches this context
}

// linking says whether a Context watches its parent yet.
type linking int

const (
	unlinked linking = iota
	beingLinked
	linked
)

var _ context.Context = (*Context)(nil)

// Cancel ends the context.
func (c *Context) Cancel() { c.cancel(context.Canceled) }

// Leave ends the context and removes it from its Group.
func (c *Context) Leave() {
	c.group.leave(c)
	c.cancel(context.Canceled)
}

func (c *Context) cancel(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	c.over.Store(true)
	if c.done != nil {
		close(c.done)
	}
	var inner []*Context
	for w := c.first; w != nil; w = c.first {
		c.drop(w)
		if w.inner != nil {
			inner = append(inner, w.inner)
		} else {
			go w.Do()
		}
	}
	watches := c.state == linked
	c.mu.Unlock()
	if watches {
		c.up.End()
	}
	for _, i := range inner {
		i.cancel(err)
	}
}

// Err implements context.Context.
func (c *Context) Err() error {
	if err := c.own(); err != nil {
		return err
	}
	err := c.parent.Err()
	if err == nil {
		return nil
	}
	c.cancel(err)
	return c.own() // another goroutine may have ended it with another error
}

func (c *Context) own() error {
	if !c.over.Load() { // cheaper than the lock, and called often
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	c.link()
	_ = c.Err() // a parent that has ended reports to link a moment later
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// AfterFunc is context.AfterFunc for this context: f runs in its own goroutine when
// the context ends. stop returns true if it prevented f from running.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	w := &Watch{Do: f}
	c.watch(w)
	return func() bool { return c.forget(w) }
}

// link begins to watch the parent, because from now on a caller waits.
func (c *Context) link() {
	c.mu.Lock()
	late := c.state != unlinked || c.err != nil
	if !late {
		c.state = beingLinked
	}
	c.mu.Unlock()
	if late {
		return
	}
	c.up.inner = c
	c.up.Begin(c.parent)
	c.mu.Lock()
	c.state = linked
	over := c.err != nil
	c.mu.Unlock()
	if over {
		c.up.End()
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Value implements context.Context.
func (c *Context) Value(key any) any { return c.parent.Value(key) }
