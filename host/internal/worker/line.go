package worker

import (
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/shmring"
)

// A line is the calls that one worker was given. The first runs, or is about to,
// and its caller reads what the worker says. The others wait in the pipe, so that
// under load a worker wakes once for several of them; who waits behind a call that
// turns out to be long is taken back and given to another worker. It is safe for
// concurrent use.
type line struct {
	send *shmring.Writer
	kill func() // the worker

	mu      sync.Mutex
	claims  shmring.Claims
	calls   []*call
	room    int    // bytes that the pipe holds, of which half may wait in it
	put     uint64 // bytes of all frames so far, long data excepted
	taken   uint64 // those of them that the worker has read for certain
	sent    uint64 // calls, since the worker was made
	over    bool   // it takes no more
	pending []byte // frames that are not written yet
	tail    []byte // and the data of the last one, when it is long
	spare   []byte
	writing bool
}

// A stand is where a call stands in its line.
type stand int

const (
	first  stand = iota // its caller talks to the worker
	behind              // it waits
	moved               // it was taken back, and nothing was done
	fallen              // the worker was lost before it was first
)

// join puts a call at the end of the line, unless more than most others are in it,
// or one that nobody may wait behind.
func (l *line) join(c *call, most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || len(l.calls) > most {
		return false
	}
	if len(l.calls) > 0 && (c.alone || slices.ContainsFunc(l.calls, func(o *call) bool { return o.alone }) || l.sent+1-l.calls[0].number >= shmring.ClaimSlots) {
		return false
	}
	at := len(l.pending)
	l.pending, l.tail = shmring.AppendFrame(l.pending, kindCall, c.meta(), c.inv.Input)
	c.ends = l.put + uint64(len(l.pending)-at)
	if len(l.calls) > 0 {
		if c.ends-l.taken > uint64(l.room/2) { // who writes would have to wait until it is read
			l.pending = l.pending[:at]
			return false
		}
		c.stand, c.news = behind, make(chan struct{}, 1)
	}
	l.put = c.ends
	l.sent++
	c.line, c.number = l, l.sent
	l.claims.Offer(c.number)
	l.calls = append(l.calls, c)
	return true
}

// flush has all calls written that joined; those who join while somebody writes
// leave it to that one.
func (l *line) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing {
		return
	}
	l.writing = true
	for len(l.pending) > 0 {
		head, tail := l.pending, l.tail
		l.pending, l.tail = l.spare[:0], nil
		l.mu.Unlock()
		if err := l.send.WriteFrames(head, tail); err != nil {
			l.kill() // whoever reads notices
		}
		l.mu.Lock()
		if l.spare = head; cap(head) > shmring.MaxKept {
			l.spare = nil
		}
	}
	l.writing = false
}

// leave takes a call out that has ended, and reports whether the worker lives and
// has no other.
func (l *line) leave(c *call) (empty bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) > 0 && l.calls[0] == c {
		l.calls, l.taken = slices.Delete(l.calls, 0, 1), c.ends
		if len(l.calls) > 0 {
			l.calls[0].tell(first)
		}
	}
	return l.free()
}

// free reports whether the worker lives and has no calls; l.mu is held.
func (l *line) free() bool { return len(l.calls) == 0 && !l.over }

// fall is the end of the worker, which the first call tells of: all others are
// told whether they were begun.
func (l *line) fall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for _, c := range l.calls {
		c.begun = c.begun || !l.claims.TakeBack(c.number)
		if c.stand == behind {
			c.tell(fallen)
		}
	}
	l.calls = nil
}

// takeBack takes a call back that waits.
func (l *line) takeBack(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(c)
}

// take is takeBack; l.mu is held.
func (l *line) take(c *call) bool {
	if c.stand != behind || !l.claims.TakeBack(c.number) {
		return false
	}
	l.calls = slices.DeleteFunc(l.calls, func(o *call) bool { return o == c })
	c.tell(moved)
	return true
}

// clear takes all calls back that wait behind one, which nobody joins from then
// on. It reports whether that one may still run: it is in the line, and the worker
// has begun with none of the others.
func (l *line) clear(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.alone = true
	its := slices.Index(l.calls, c)
	for at := len(l.calls) - 1; its >= 0 && at > its; at-- {
		if !l.take(l.calls[at]) {
			return false
		}
	}
	return its >= 0
}

// left reports whether a call was taken out of the line, which may have others now.
// Then it stays so.
func (l *line) left(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.stand == moved || c.stand == fallen
}

// behind reports whether a call is behind another one, and the worker has not
// begun with it.
func (l *line) behind(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.stand == behind && !l.claims.Begun(c.number)
}

// running is the number of the first call when the worker has begun with it, else 0.
func (l *line) running() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) == 0 || !l.claims.Begun(l.calls[0].number) {
		return 0
	}
	return l.calls[0].number
}

// empty reports whether the worker lives and has no calls.
func (l *line) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.free()
}

// begun reports whether the worker has begun with a call.
func (l *line) begun(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claims.Begun(c.number)
}

// close lets go of what the line needed.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.claims.Close()
}

// await waits until the call is first in its line, or was taken out of it.
func (c *call) await() stand {
	if c.news == nil {
		return first
	}
	<-c.news
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	return c.stand
}

// tell says where a call stands that waited; the line's mu is held.
func (c *call) tell(s stand) {
	c.stand = s
	c.news <- struct{}{}
}

// How long a line may be, and how long it is endured.
const (
	lineTime   = 400 * time.Microsecond // that those before the last one are expected to take
	lineMost   = 16                     // calls before the last one
	stuckTime  = time.Millisecond       // how often those who wait look at the first
	stuckLooks = 5                      // after so many they do not ask whether it had a core
)
