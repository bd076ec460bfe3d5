package cancelscope

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever ends a context, all that wait for it are notified once.
func TestEnds(t *testing.T) {
	type ends struct {
		life, parent context.CancelFunc
		own          *Context
	}
	for name, end := range map[string]func(ends){
		"life":   func(e ends) { e.life() },
		"parent": func(e ends) { e.parent() },
		"cancel": func(e ends) { e.own.Cancel() },
		"leave":  func(e ends) { e.own.Leave() },
	} {
		for _, early := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				life, endLife := context.WithCancel(t.Context())
				defer endLife()
				parent, endParent := context.WithCancel(context.WithValue(t.Context(), "key", "value"))
				defer endParent()
				g := NewGroup(life)
				c := g.Enter(parent)
				inner := NewGroup(t.Context()).Enter(c) // as a host's in a server's
				told := 0
				wait := func() (<-chan struct{}, <-chan struct{}, context.Context) {
					c.AfterFunc(func() { told++ })
					stop := inner.AfterFunc(func() { t.Error("a function that was stopped runs") })
					if early && !stop() {
						t.Error("it cannot be stopped")
					}
					child, cancel := context.WithTimeout(inner, time.Hour)
					_ = cancel
					return c.Done(), inner.Done(), child
				}
				var done, deep <-chan struct{}
				var child context.Context
				if early {
					done, deep, child = wait()
					if c.Err() != nil || inner.Err() != nil {
						t.Error("it has ended by itself")
					}
				}
				end(ends{endLife, endParent, c})
				synctest.Wait()
				if !early {
					c.AfterFunc(func() { told++ })
					done, deep = c.Done(), inner.Done()
					child = inner
				}
				<-done
				<-deep
				<-child.Done()
				synctest.Wait()
				if told != 1 || !errors.Is(c.Err(), context.Canceled) || !errors.Is(inner.Err(), context.Canceled) || !errors.Is(context.Cause(child), context.Canceled) {
					t.Errorf("%s, early %t: told %d times, %v, %v, %v", name, early, told, c.Err(), inner.Err(), context.Cause(child))
				}
				if c.Value("key") != "value" {
					t.Error("the value is not the parent's")
				}
				c.Leave()
				inner.Leave()
				if g.first != nil {
					t.Error("it is still in its group")
				}
			})
		}
	}
}

// Contexts leave the group in any order and stay out of it.
func TestLeave(t *testing.T) {
	g := NewGroup(t.Context())
	var all []*Context
	for range 4 {
		all = append(all, g.Enter(t.Context()))
	}
	for _, i := range []int{1, 3, 0, 0, 2} {
		all[i].Leave()
	}
	if g.first != nil {
		t.Error("somebody is left")
	}
}

// A context that enters after the end of life has ended from the beginning.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		g := NewGroup(life)
		end()
		synctest.Wait()
		c := g.Enter(t.Context())
		<-c.Done()
		c.Leave()
	})
}

// The end of a deadline is reported as context.DeadlineExceeded.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := NewGroup(t.Context()).Enter(parent)
		if at, ok := c.Deadline(); !ok || !at.Equal(time.Now().Add(time.Minute)) {
			t.Error(at, ok)
		}
		<-c.Done()
		if c.Err() != context.DeadlineExceeded {
			t.Error(c.Err())
		}
	})
}

// A context that never ends is not watched.
func TestAfterForever(t *testing.T) {
	if After(context.Background(), func() {}) != nil {
		t.Error("somebody watches what never ends")
	}
}

// A context whose parent has ended has ended at its first use, as in package context.
func TestOfAnEndedParent(t *testing.T) {
	for _, of := range []string{"", "inner "} {
		parent, end := context.WithCancel(t.Context())
		end()
		c := NewGroup(t.Context()).Enter(parent)
		if of != "" {
			c = NewGroup(t.Context()).Enter(c)
		}
		select {
		case <-c.Done():
		default:
			t.Errorf("the %scontext seems to go on", of)
		}
		c.Leave()
	}
}
