package cancelscope

import "context"

// A Watch runs Do in its own goroutine when a context ends. One Watch serves for one
// context after the other, so calls allocate none. Do may therefore run after End, or
// when the Watch is over another context. Begin and End are for one goroutine at a
// time; a Watch that has begun must not be copied.
type Watch struct {
	Do func()

	inner *Context    // is cancelled instead of running Do; nil: Do runs
	of    *Context    // the watched context; nil: none, or of another type
	stop  func() bool // ends the watch over a context of another type; nil: none

	// Guarded by the lock of the watched context.
	before, next *Watch
	in           bool
}

// Begin watches ctx. End must be called before the next Begin.
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

// End ends the watch and drops all references to the context.
func (w *Watch) End() {
	if w.of != nil {
		w.of.forget(w)
	} else if w.stop != nil {
		w.stop()
	}
	w.of, w.stop = nil, nil
}

// watch adds w to the list, or runs it at once if the context has ended.
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

// forget removes w from the list; false: it runs or has run.
func (c *Context) forget(w *Watch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := w.in
	if was {
		c.drop(w)
	}
	return was
}

// drop removes w from the list; c.mu is held.
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

// After is context.AfterFunc, without a context in between if ctx has an AfterFunc
// method. stop is nil if ctx never ends.
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
