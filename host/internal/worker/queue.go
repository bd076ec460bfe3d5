package worker

import (
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/shmring"
)

// A callQueue holds the calls that one worker was given. The first runs, or is about
// to, and its caller reads what the worker sends. The others wait in the pipe, so a
// busy worker wakes up once for several calls. A call that waits after a long one is
// taken back and given to another worker. It is safe for concurrent use.
type callQueue struct {
	send *shmring.Writer
	kill func() // the worker

	mu      sync.Mutex
	claims  shmring.Claims
	calls   []*call
	room    int    // capacity of the pipe in bytes; at most half of it may be waiting calls
	put     uint64 // bytes of all frames so far, without long data
	taken   uint64 // those that the worker has certainly read
	sent    uint64 // calls since the worker was started
	over    bool   // it accepts no more calls
	pending []byte // frames that are not sent yet
	tail    []byte // data of the last frame, if it is long
	spare   []byte
	writing bool
}

// A queueState is the state of a call in its queue.
type queueState int

const (
	first      queueState = iota // its caller talks to the worker
	waits                        // it waits
	moved                        // it was taken back and not begun
	workerLost                   // the worker was lost before the call was first
)

// join appends a call, unless more than most calls are in the queue, or an exclusive
// one.
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
		if c.ends-q.taken > uint64(q.room/2) { // the writer would block
			q.pending = q.pending[:at]
			return false
		}
		c.state, c.changed = waits, make(chan struct{}, 1)
	}
	q.put = c.ends
	q.sent++
	c.queue, c.number = q, q.sent
	q.claims.Offer(c.number)
	q.calls = append(q.calls, c)
	return true
}

// flush sends all pending frames. If another goroutine is sending, that one sends
// them.
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
			q.kill() // the reader notices
		}
		q.mu.Lock()
		if q.spare = head; cap(head) > shmring.MaxKept {
			q.spare = nil
		}
	}
	q.writing = false
}

// leave removes a call that has ended. It reports whether the worker is alive and has
// no other call.
func (q *callQueue) leave(c *call) (empty bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) > 0 && q.calls[0] == c {
		q.calls, q.taken = slices.Delete(q.calls, 0, 1), c.ends
		if len(q.calls) > 0 {
			q.calls[0].setState(first)
		}
	}
	return q.free()
}

// free reports whether the worker is alive and has no calls; q.mu is held.
func (q *callQueue) free() bool { return len(q.calls) == 0 && !q.over }

// fall marks the worker as lost. Every call learns whether it had been begun.
func (q *callQueue) fall() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	for _, c := range q.calls {
		c.begun = c.begun || !q.claims.TakeBack(c.number)
		if c.state == waits {
			c.setState(workerLost)
		}
	}
	q.calls = nil
}

// takeBack takes a waiting call back, and reports whether it succeeded.
func (q *callQueue) takeBack(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(c)
}

// take is takeBack; q.mu is held.
func (q *callQueue) take(c *call) bool {
	if c.state != waits || !q.claims.TakeBack(c.number) {
		return false
	}
	q.calls = slices.DeleteFunc(q.calls, func(o *call) bool { return o == c })
	c.setState(moved)
	return true
}

// clear makes a call exclusive and takes back all calls after it. It reports whether
// the call may still run: it is in the queue, and the worker has begun none of the
// others.
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

// left reports whether a call was removed from the queue, which is final.
func (q *callQueue) left(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return c.state == moved || c.state == workerLost
}

// waitsForAnother reports whether a call waits after another one and was not begun.
func (q *callQueue) waitsForAnother(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return c.state == waits && !q.claims.Begun(c.number)
}

// running returns the number of the first call if the worker has begun it, else 0.
func (q *callQueue) running() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 || !q.claims.Begun(q.calls[0].number) {
		return 0
	}
	return q.calls[0].number
}

// empty reports whether the worker is alive and has no calls.
func (q *callQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free()
}

// begun reports whether the worker has begun a call.
func (q *callQueue) begun(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.claims.Begun(c.number)
}

// close releases the shared memory.
func (q *callQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.claims.Close()
}

// await waits until the call is first in its queue, or was removed from it.
func (c *call) await() queueState {
	if c.changed == nil {
		return first
	}
	<-c.changed
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.state
}

// setState sets the state of a waiting call and wakes its caller; the queue's mu is
// held.
func (c *call) setState(s queueState) {
	c.state = s
	c.changed <- struct{}{}
}

// How long a queue may be, and how long a call waits in it.
const (
	queueTime       = 400 * time.Microsecond // expected duration of all calls before the last one
	queueMost       = 16                     // calls before the last one
	observeEvery    = time.Millisecond       // how often waiting calls observe the first one
	maxObservations = 5                      // after so many observations the first call counts as long
)
