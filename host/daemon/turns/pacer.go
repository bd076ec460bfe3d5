package turns

import (
	"sync"
	"time"
)

// progressPause is how long a call's next report of progress must wait, but for
// the last one.
const progressPause = 100 * time.Millisecond

// A pacer lets one report of each call through at a time. It is safe for
// concurrent use.
type pacer struct {
	mu   sync.Mutex
	last map[string]time.Time // by call
}

// may reports whether a report of this call is due.
func (p *pacer) may(call string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.last[call]; ok && now.Sub(last) < progressPause {
		return false
	}
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[call] = now
	return true
}
