package host

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// cacheBytes bounds the answers that are kept to be given again, all tools
// together, in bytes.
const cacheBytes = 64 << 20

// A cache keeps answers of tools that allow it, for as long as they allow. What
// was used longest ago goes first.
type cache struct {
	max int

	mu    sync.Mutex
	made  map[string]chan struct{} // by key: closed when its answer is there, or is not to be had
	size  int
	order *list.List // of *cached, the newest in front
	byKey map[string]*list.Element
}

type cached struct {
	key   string
	out   output
	until time.Time
}

func newCache(bytes int) *cache {
	return &cache{max: bytes, order: list.New(), byKey: map[string]*list.Element{}, made: map[string]chan struct{}{}}
}

// get returns an answer that has not run out.
func (c *cache) get(key string, now time.Time) (output, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return output{}, false
	}
	hit := e.Value.(*cached)
	if !now.Before(hit.until) {
		c.drop(e)
		return output{}, false
	}
	c.order.MoveToFront(e)
	return hit.out, true
}

// join returns an answer, or makes the caller the one who gets it: then done
// must be called, behind put. Whoever wants the same answer meanwhile waits for
// it, once; what the one did not get, each gets for itself.
func (c *cache) join(ctx context.Context, key string, now func() time.Time) (out output, ok bool, done func()) {
	for first := true; ; first = false {
		if out, ok := c.get(key, now()); ok {
			return out, true, func() {}
		}
		c.mu.Lock()
		made := c.made[key]
		if made == nil {
			made = make(chan struct{})
			c.made[key] = made
			c.mu.Unlock()
			return output{}, false, func() {
				c.mu.Lock()
				delete(c.made, key)
				c.mu.Unlock()
				close(made)
			}
		}
		c.mu.Unlock()
		if !first {
			return output{}, false, func() {}
		}
		select {
		case <-made:
		case <-ctx.Done():
			return output{}, false, func() {} // whatever runs next sees it too
		}
	}
}

// put keeps an answer until the given time. One that takes more than a quarter
// of the cache is not kept.
func (c *cache) put(key string, out output, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	if out.bytes() > c.max/4 {
		return
	}
	c.byKey[key] = c.order.PushFront(&cached{key, out, until})
	c.size += out.bytes()
	for c.size > c.max {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	hit := c.order.Remove(e).(*cached)
	delete(c.byKey, hit.key)
	c.size -= hit.out.bytes()
}
