package runner

import (
	"cmp"
	"container/list"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// DefaultLoaded is the budget of a Cache that is given none.
const DefaultLoaded = tool.Bytes(512 << 20)

// A Cache evicts loaded modules, the least recently used first, when all together
// need more memory than its budget. Modules in use stay, and so does the one that
// was used last. It is safe for concurrent use; its lock is taken before that of a
// Module. A nil Cache evicts nothing.
type Cache struct {
	mu     sync.Mutex
	budget tool.Bytes // negative: none
	order  *list.List // of *Module, the most recently used in front
	sum    tool.Bytes // of their weights
}

// NewCache returns a Cache with a budget in bytes; 0: DefaultLoaded, negative:
// without bound.
func NewCache(budget tool.Bytes) *Cache {
	budget = cmp.Or(budget, DefaultLoaded)
	return &Cache{budget: budget, order: list.New()}
}

// Resize changes the budget, as in NewCache, and evicts what exceeds it.
func (c *Cache) Resize(budget tool.Bytes) {
	budget = cmp.Or(budget, DefaultLoaded)
	c.mu.Lock()
	c.budget = budget
	evicted := c.evict()
	c.mu.Unlock()
	closeAll(evicted)
}

// touch notes that a module was just used. The caller must close the Runners that
// it returns.
func (c *Cache) touch(m *Module) (evicted []Runner) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.count(m) {
		c.drop(m)
		return nil
	}
	if m.element == nil {
		m.element = c.order.PushFront(m)
	} else {
		c.order.MoveToFront(m.element)
	}
	return c.evict()
}

// remove takes out a module whose Runner is closed.
func (c *Cache) remove(m *Module) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(m)
}

// count updates the weight of a module and reports whether it is loaded. c.mu is held.
func (c *Cache) count(m *Module) bool {
	weight, loaded := m.size()
	c.sum += weight - m.weight
	m.weight = weight
	return loaded
}

// evict unloads modules until the rest is within the budget. The caller must close
// the Runners that it returns. c.mu is held.
func (c *Cache) evict() (evicted []Runner) {
	if c.budget < 0 || c.sum <= c.budget {
		return nil
	}
	// Weights change: idle worker processes end on their own.
	for e := c.order.Front(); e != nil; e = e.Next() {
		c.count(e.Value.(*Module))
	}
	for e := c.order.Back(); e != c.order.Front() && c.sum > c.budget; {
		m := e.Value.(*Module)
		e = e.Prev()
		r, ok := m.unload()
		if !ok {
			continue
		}
		c.drop(m)
		if r != nil {
			evicted = append(evicted, r)
		}
	}
	return evicted
}

// drop takes a module out of the list; c.mu is held.
func (c *Cache) drop(m *Module) {
	c.sum -= m.weight
	m.weight = 0
	if m.element != nil {
		c.order.Remove(m.element)
		m.element = nil
	}
}
