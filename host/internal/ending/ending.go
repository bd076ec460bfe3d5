// Package ending makes contexts for calls that take microseconds. One of
// context's own enters itself with its parent, makes a channel and leaves again,
// for every call and each layer that can end one; these do so when somebody
// waits for them, which hardly a call does.
package ending

import (
	"context"
	"sync"
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
	c := &Context{parent: parent, group: g}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		c.err = g.life.Err()
		return c
	}
	if c.next = g.first; c.next != nil {
		c.next.before = c
	}
	g.first, c.in = c, true
	return c
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

	mu     sync.Mutex
	err    error
	linked bool          // parent's end is watched
	unlink func() bool   // ends that; nil: there is nothing to end
	done   chan struct{} // nil until somebody asks for it
	after  []*watcher
}

// A watcher is called when a Context ends.
type watcher struct{ f func() }

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
	if c.done != nil {
		close(c.done)
	}
	after, unlink := c.after, c.unlink
	c.after, c.unlink = nil, nil
	c.mu.Unlock()
	if unlink != nil {
		unlink()
	}
	for _, w := range after {
		go w.f()
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
	c.link()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	w := &watcher{f}
	c.after = append(c.after, w)
	return func() bool { return c.forget(w) }
}

func (c *Context) forget(w *watcher) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.after {
		if x == w {
			c.after = append(c.after[:i:i], c.after[i+1:]...)
			return true
		}
	}
	return false
}

// link has the parent's end end this one, for from now on somebody waits.
func (c *Context) link() {
	c.mu.Lock()
	linked := c.linked || c.err != nil
	c.linked = true
	c.mu.Unlock()
	if linked {
		return
	}
	unlink := After(c.parent, func() { c.cancel(c.parent.Err()) })
	c.mu.Lock()
	over := c.err != nil
	if !over {
		c.unlink = unlink
	}
	c.mu.Unlock()
	if over && unlink != nil {
		unlink()
	}
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Value implements context.Context.
func (c *Context) Value(key any) any { return c.parent.Value(key) }

// After is context.AfterFunc without a context in between, where ctx knows how.
// stop is nil when ctx never ends.
func After(ctx context.Context, f func()) (stop func() bool) {
	if a, ok := ctx.(interface {
		AfterFunc(func()) func() bool
	}); ok {
		return a.AfterFunc(f)
	}
	if ctx.Done() == nil {
		return nil
	}
	return context.AfterFunc(ctx, f)
}
