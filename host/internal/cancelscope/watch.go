package cancelscope

import "context"

// A Watch runs Do when a context ends, in a goroutine of its own. One Watch serves
// for one context after the other, and is made once for all of them: so Do may get
// to run when the Watch has ended already, or is over another context. Begin and End
// are for one goroutine at a time, and a Watch that has begun must stay where it is.
type Watch struct {
	Do func()

	inner *Context    // ends with what is watched, in the place of Do; nil: Do runs
	of    *Context    // what is watched; nil: nothing, or a context of another kind
	stop  func() bool // ends the watch over one of another kind; nil: there is none

	// The lock of what is watched guards its list.
	before, next *Watch
	in           bool
}

// Begin watches ctx. End must be called before it begins again.
func (w *Watch) Begin(ctx context.Context) {
	if c, ok := ctx.(*Context); ok {
		w.of = c
		c.watch(w)
		return
	}
	if ctx.Done() == nil {
		return
	}
	do := w.Do
	if inner := w.inner; inner != nil {
		do = func() { inner.cancel(ctx.Err()) }
	}
	w.stop = After(ctx, do)
}

// End ends the watch, and holds nothing of the context any more.
func (w *Watch) End() {
	if w.of != nil {
		w.of.forget(w)
	} else if w.stop != nil {
		w.stop()
	}
	w.of, w.stop = nil, nil
}

// watch puts w into the list, or tells it that it has come too late.
func (c *Context) watch(w *Watch) {
	c.link()
	c.mu.Lock()
	err := c.err
	if err == nil {
		if w.next = c.first; w.next != nil {
			w.next.before = w
		}
		c.first, w.in = w, true
	}
	c.mu.Unlock()
	switch {
	case err == nil:
	case w.inner != nil:
		w.inner.cancel(err)
	default:
		go w.Do()
	}
}

// forget takes w out of the list; false: it is told, or has been before.
func (c *Context) forget(w *Watch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := w.in
	if was {
		c.drop(w)
	}
	return was
}

// drop takes w out of the list; c.mu is held.
func (c *Context) drop(w *Watch) {
	if w.before != nil {
		w.before.next = w.next
	} else {
		c.first = w.next
	}
	if w.next != nil {
		w.next.before = w.before
	}
	w.before, w.next, w.in = nil, nil, false
}

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
