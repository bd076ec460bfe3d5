// Package ending makes contexts for calls that take microseconds. One of
// context's own enters itself with its parent, makes a channel and leaves again,
// for every call and each layer that can end one; these do so when somebody
// waits for them, which hardly a call does.
package cancelscope

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Group ends what is in it when its life is over. It is safe for concurrent use.
type Group struct {
	life context.Context

	mu    sync.Mutex
	over  bool
	first *Context
}

// NewGroup makes a Group that lives as long as life does.
func NewGroup(life context.Context) *Group {
	g := &Group{life: life}
	context.AfterFunc(life, g.end)
	return g
}

// Enter makes a context that ends with parent, with the Group's life and when it
// is cancelled. Its values are parent's. Leave must be called behind what it is for.
func (g *Group) Enter(parent context.Context) *Context {
	c := new(Context)
	g.Admit(c, parent)
	return c
}

// Admit is Enter for a zero Context that is a part of something, which must stay
// where it is.
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

// end cancels what is in the Group.
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

// A Context is one call's. It is a context.Context, and package context knows its
// AfterFunc.
type Context struct {
	parent context.Context
	group  *Group

	// The lock of the Group guards its list.
	before, next *Context
	in           bool

	over  atomic.Bool // err is there
	mu    sync.Mutex
	err   error
	done  chan struct{} // nil until somebody asks for it
	state linking
	up    Watch  // over parent, once somebody waits
	first *Watch // over this
}

// linking is how far the watch over a Context's parent is.
type linking int

const (
	unlinked linking = iota
	beingLinked
	linked
)

var _ context.Context = (*Context)(nil)

// Cancel ends the context.
func (c *Context) Cancel() { c.cancel(context.Canceled) }

// Leave ends the context and takes it out of its Group.
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
	return c.own() // something else may have ended it at the same moment
}

func (c *Context) own() error {
	if !c.over.Load() { // which costs less than the lock, and is asked often
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} {
	c.link()
	_ = c.Err() // of a parent that has ended link learns a moment later
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

// AfterFunc is context.AfterFunc for this context: f runs in a goroutine of its
// own when the context ends. stop is true if that keeps f from running.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	w := &Watch{Do: f}
	c.watch(w)
	return func() bool { return c.forget(w) }
}

// link has the parent's end end this one, for from now on somebody waits.
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
