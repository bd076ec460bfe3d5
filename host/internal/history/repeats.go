package history

import "sync"

// Repeats counts the loads of the current turn of a conversation. The zero value is
// ready to use. It is safe for concurrent use.
type Repeats struct {
	mu    sync.Mutex
	turn  int
	loads map[string]int
}

// count returns how often the part was requested in its turn, this time included. A
// new turn begins at zero.
func (r *Repeats) count(turn int, part string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if turn != r.turn || r.loads == nil {
		r.turn, r.loads = turn, map[string]int{}
	}
	r.loads[part]++
	return r.loads[part]
}
