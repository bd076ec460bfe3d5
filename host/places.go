package host

import (
	"context"
	"runtime"
	"sync"
)

// places bounds the guests that run at once: all of them, and those of one
// plugin, so that a plugin whose calls hang until their deadline leaves room for
// the calls of others. It is safe for concurrent use.
type places struct {
	own int // of one plugin

	mu sync.Mutex
	of map[string]chan struct{} // by plugin
}

func newPlaces(all int) *places {
	return &places{own: min(max(2, all/4), all), of: map[string]chan struct{}{}}
}

// parallel is how many guests run at once when nobody says. What runs in
// processes of its own may wait there for long without hurting others.
func parallel(isolated bool) int {
	if isolated {
		return max(16, 4*runtime.NumCPU())
	}
	return max(4, 2*runtime.NumCPU())
}

// enter waits for one of the plugin's places; false: ctx ended first.
func (p *places) enter(ctx context.Context, plugin string) (leave func(), ok bool) {
	p.mu.Lock()
	c := p.of[plugin]
	if c == nil {
		c = make(chan struct{}, p.own)
		p.of[plugin] = c
	}
	p.mu.Unlock()
	select {
	case c <- struct{}{}:
		return func() { <-c }, true
	case <-ctx.Done():
		return nil, false
	}
}
