package host

import (
	"container/list"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// DefaultLoaded is what Config.Loaded means when it is 0.
const DefaultLoaded = tool.Bytes(512 << 20)

// A shelf holds the slots whose modules are loaded, within a budget of memory:
// when they weigh more, those are let go of that were used longest ago, and
// load again when they are called. It is safe for concurrent use; its lock is
// taken before that of a slot.
type shelf struct {
	budget tool.Bytes // negative: there is none

	mu    sync.Mutex
	order *list.List // of *slot, the one used last in front
	sum   tool.Bytes // of their weights
}

func newShelf(budget tool.Bytes) *shelf {
	if budget == 0 {
		budget = DefaultLoaded
	}
	return &shelf{budget: budget, order: list.New()}
}

// put puts a slot in front, whose module was just used, and returns what is to
// be closed to make room. The one that was used last stays, however heavy it is,
// and so does every one that is in use.
func (f *shelf) put(s *slot) (gone []runner) {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.weigh(s) {
		f.take(s)
		return nil
	}
	if s.place == nil {
		s.place = f.order.PushFront(s)
	} else {
		f.order.MoveToFront(s.place)
	}
	if f.budget >= 0 && f.sum > f.budget {
		gone = f.clear()
	}
	return gone
}

// resize changes the budget, and returns what is to be closed to keep to it.
func (f *shelf) resize(budget tool.Bytes) (gone []runner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.budget = budget; budget >= 0 && f.sum > budget {
		gone = f.clear()
	}
	return gone
}

// weigh takes in what a slot weighs now, and reports whether its module is
// loaded; f.mu is held.
func (f *shelf) weigh(s *slot) bool {
	weight, loaded := s.weighs()
	f.sum += weight - s.weight
	s.weight = weight
	return loaded
}

// clear takes slots off, the one used longest ago first, until the rest is
// within the budget, and returns what is to be closed. What waits, processes for
// example, may have gone by itself since it was weighed. f.mu is held.
func (f *shelf) clear() (gone []runner) {
	for e := f.order.Front(); e != nil; e = e.Next() {
		f.weigh(e.Value.(*slot))
	}
	for e := f.order.Back(); e != f.order.Front() && f.sum > f.budget; {
		s := e.Value.(*slot)
		e = e.Prev()
		m, ok := s.unload()
		if !ok {
			continue
		}
		f.take(s)
		if m != nil {
			gone = append(gone, m)
		}
	}
	return gone
}

// take takes a slot off; f.mu is held.
func (f *shelf) take(s *slot) {
	f.sum -= s.weight
	s.weight = 0
	if s.place != nil {
		f.order.Remove(s.place)
		s.place = nil
	}
}

// remove takes a slot off whose module is closed.
func (f *shelf) remove(s *slot) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.take(s)
}
