package answer

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// CacheBytes is the usual size of a Cache, in bytes.
const CacheBytes = 64 << 20

// A Cache holds answers until they expire, within a bound of memory; the least
// recently used are evicted first. It is safe for concurrent use.
type Cache struct {
	max int // bytes

	mu      sync.Mutex
	pending map[string]chan struct{} // by key; closed when the call has ended
	size    int
	order   *list.List // of *entry, the most recently used in front
	byKey   map[string]*list.Element
}

type entry struct {
	key    string
	answer Answer
	until  time.Time
}

// NewCache returns a Cache of at most so many bytes.
func NewCache(bytes int) *Cache {
	return &Cache{max: bytes, order: list.New(), byKey: map[string]*list.Element{}, pending: map[string]chan struct{}{}}
}

// Join returns the stored answer to a call and true. Otherwise the caller must make
// the call, Put its answer and then call done. Callers with the same key wait for
// the first one, once; if that stores no answer, each makes the call. Join also
// returns false when ctx ends. done may always be called.
func (c *Cache) Join(ctx context.Context, key string, now func() time.Time) (a Answer, ok bool, done func()) {
	for first := true; ; first = false {
		if a, ok := c.get(key, now()); ok {
			return a, true, func() {}
		}
		c.mu.Lock()
		pending := c.pending[key]
		if pending == nil {
			pending = make(chan struct{})
			c.pending[key] = pending
			c.mu.Unlock()
			return Answer{}, false, func() {
				c.mu.Lock()
				delete(c.pending, key)
				c.mu.Unlock()
				close(pending)
			}
		}
		c.mu.Unlock()
		if !first {
			return Answer{}, false, func() {}
		}
		select {
		case <-pending:
		case <-ctx.Done():
			return Answer{}, false, func() {} // the next step of the call checks ctx
		}
	}
}

// Put stores an answer until the given time. It ignores an answer that needs more
// than a quarter of the cache.
func (c *Cache) Put(key string, a Answer, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.remove(e)
	}
	if a.bytes() > c.max/4 {
		return
	}
	c.byKey[key] = c.order.PushFront(&entry{key, a, until})
	c.size += a.bytes()
	for c.size > c.max {
		c.remove(c.order.Back())
	}
}

// get returns an answer that has not expired.
func (c *Cache) get(key string, now time.Time) (Answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return Answer{}, false
	}
	hit := e.Value.(*entry)
	if !now.Before(hit.until) {
		c.remove(e)
		return Answer{}, false
	}
	c.order.MoveToFront(e)
	return hit.answer, true
}

func (c *Cache) remove(e *list.Element) {
	hit := c.order.Remove(e).(*entry)
	delete(c.byKey, hit.key)
	c.size -= hit.answer.bytes()
}
