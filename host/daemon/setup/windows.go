package setup

import (
	"context"
	"sync"
	"time"
)

// LookTime is how long a view waits for the servers of models that have not said yet how
// long their windows are.
const LookTime = time.Second

// Windows returns the context windows of all models, in tokens, by name; 0: unknown.
func (v View) Windows(ctx context.Context) map[string]int {
	ctx, cancel := context.WithTimeout(ctx, LookTime)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	out := make(map[string]int, len(v.Models))
	for name, m := range v.Models {
		all.Go(func() {
			n := m.Window(ctx)
			mu.Lock()
			defer mu.Unlock()
			out[name] = n
		})
	}
	all.Wait()
	return out
}
