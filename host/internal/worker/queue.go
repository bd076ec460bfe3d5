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
type callQueue struct {
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
type queueState int

const (
	first      queueState = iota // its caller quietIn to the worker
	behind                       // it waits
	moved                        // it was taken back, and nothing was done
	workerLost                   // the worker was lost before it was first
)

// join puts a call at the end of the line, unless more than most others are in it,
// or one that nobody may wait behind.
func (q *callQueue) join(c *call, most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over || len(q.calls) > most {
		return false
	}
	if len(q.calls) > 0 && (c.exclusive || slices.ContainsFunc(q.calls, func(o *call) bool { return o.exclusive }) || q.sent+1-q.calls[0].number >= shmring.ClaimSlots) {
		return false
	}
	at := len(q.pending)
	q.pending, q.tail = shmring.AppendFrame(q.pending, kindCall, c.meta(), c.inv.Input)
	c.ends = q.put + uint64(len(q.pending)-at)
	if len(q.calls) > 0 {
		if c.ends-q.taken > uint64(q.room/2) { // who writes would have to wait until it is read
			q.pending = q.pending[:at]
			return false
		}
		c.state, c.changed = behind, make(chan struct{}, 1)
	}
	q.put = c.ends
	q.sent++
	c.queue, c.number = q, q.sent
	q.claims.Offer(c.number)
	q.calls = append(q.calls, c)
	return true
}

// flush has all calls written that joined; those who join while somebody writes
// leave it to that one.
func (q *callQueue) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing {
		return
	}
	q.writing = true
	for len(q.pending) > 0 {
		head, tail := q.pending, q.tail
		q.pending, q.tail = q.spare[:0], nil
		q.mu.Unlock()
		if err := q.send.WriteFrames(head, tail); err != nil {
			q.kill() // whoever reads notices
		}
		q.mu.Lock()
		if q.spare = head; cap(head) > shmring.MaxKept {
			q.spare = nil
		}
	}
	q.writing = false
}

// leave takes a call out that has ended, and reports whether the worker lives and
// has no other.
func (q *callQueue) leave(c *call) (empty bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) > 0 && q.calls[0] == c {
		q.calls, q.taken = slices.Delete(q.calls, 0, 1), c.ends
		if len(q.calls) > 0 {
			q.calls[0].tell(first)
		}
	}
	return q.free()
}

// free reports whether the worker lives and has no calls; q.mu is held.
func (q *callQueue) free() bool { return len(q.calls) == 0 && !q.over }

// fall is the end of the worker, which the first call tells of: all others are
// told whether they were begun.
func (q *callQueue) fall() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	for _, c := range q.calls {
		c.begun = c.begun || !q.claims.TakeBack(c.number)
		if c.state == behind {
			c.tell(workerLost)
		}
	}
	q.calls = nil
}

// takeBack takes a call back that waits.
func (q *callQueue) takeBack(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(c)
}

// take is takeBack; q.mu is held.
func (q *callQueue) take(c *call) bool {
	if c.state != behind || !q.claims.TakeBack(c.number) {
		return false
	}
	q.calls = slices.DeleteFunc(q.calls, func(o *call) bool { return o == c })
	c.tell(moved)
	return true
}

// clear takes all calls back that wait behind one, which nobody joins from then
// on. It reports whether that one may still run: it is in the line, and the worker
// has begun with none of the others.
func (q *callQueue) clear(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.exclusive = true
	its := slices.Index(q.calls, c)
	for at := len(q.calls) - 1; its >= 0 && at > its; at-- {
		if !q.take(q.calls[at]) {
			return false
		}
	}
	return its >= 0
}

// left reports whether a call was taken out of the line, which may have others now.
// Then it stays so.
func (q *callQueue) left(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return c.state == moved || c.state == workerLost
}

// behind reports whether a call is behind another one, and the worker has not
// begun with it.
func (q *callQueue) behind(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return c.state == behind && !q.claims.Begun(c.number)
}

// running is the number of the first call when the worker has begun with it, else 0.
func (q *callQueue) running() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 || !q.claims.Begun(q.calls[0].number) {
		return 0
	}
	return q.calls[0].number
}

// empty reports whether the worker lives and has no calls.
func (q *callQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free()
}

// begun reports whether the worker has begun with a call.
func (q *callQueue) begun(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.claims.Begun(c.number)
}

// close lets go of what the line needed.
func (q *callQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.claims.Close()
}

// await waits until the call is first in its line, or was taken out of it.
func (c *call) await() queueState {
	if c.changed == nil {
		return first
	}
	<-c.changed
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.state
}

// tell says where a call stands that waited; the line's mu is held.
func (c *call) tell(s queueState) {
	c.state = s
	c.changed <- struct{}{}
}

// How long a line may be, and how long it is endured.
const (
	queueTime       = 400 * time.Microsecond // that those before the last one are expected to take
	queueMost       = 16                     // calls before the last one
	observeEvery    = time.Millisecond       // how often those who wait look at the first
	maxObservations = 5                      // after so many they do not ask whether it had a core
)
