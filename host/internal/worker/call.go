package worker

import (
	"context"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/cpusched"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/shmring"
	"github.com/weirhost/weir/sdk/tool"
)

// A call is one Invocation in one worker.
type call struct {
	module   *Module
	inv      sandbox.Invocation
	outer    context.Context // the caller's: distinguishes its cancellation from our deadline
	gone     func() bool     // stops watching outer
	deadline time.Time
	w        *process

	// Owned by the queue, whose mu guards state and exclusive.
	queue     *callQueue
	number    uint64
	ends      uint64 // offset of its frame's end in all that was queued
	state     queueState
	exclusive bool          // no call may wait after it
	changed   chan struct{} // receives the end of waiting; nil: the call never waited

	mu       sync.Mutex
	timer    *time.Timer
	short    bool           // counted as a short call
	waited   bool           // in a queue, and was not seen to run since
	task     *cpusched.Task // else
	observed observation    // of the call before it
	ended    bool
	lost     bool      // the worker is lost
	late     time.Time // when it should have ended; zero: it may run

	begun    bool // the guest may have begun
	moved    bool // it was taken back from a queue
	undone   bool // another worker must run it
	lines    int
	reports  int
	requests int
	held     []progressMeta // progress reports that arrived after the next call had begun
}

// run passes the call to the worker and serves it until its result arrives.
func (c *call) run() (sandbox.Output, *tool.Error) {
	began := time.Now()
	c.deadline = began.Add(c.inv.Timeout)
	defer c.begin()()
	if c.module.calls.Life().Err() != nil { // endAll may have run before this call
		c.w.kill()
	}
	c.queue.flush()
	switch c.await() {
	case moved:
		c.moved = true
		if !c.over() {
			c.undone = true
			return sandbox.Output{}, nil
		}
		return sandbox.Output{}, c.interrupted()
	case workerLost:
		return c.loss(errWorkerLost)
	}
	allowed := fromChild(c.inv.MaxOutput, c.inv.MCP)
	beside := !c.module.pool.sched.OneShort()
	c.w.read.Poll(c.pollTime(beside), beside)
	for {
		f, err := c.w.read.Read(&allowed, nil)
		if err != nil {
			return c.loss(err)
		}
		c.begun = true
		if f.Kind == kindResult {
			if !c.queue.begun(c) {
				return c.loss(shmring.ErrProtocol)
			}
			out, fail, err := c.result(f, time.Since(began))
			if err != nil {
				return c.loss(err)
			}
			return out, fail
		}
		if err := c.serve(f); err != nil {
			return c.loss(err)
		}
	}
}

// How long the two sides poll the shared memory before they sleep. Waking a sleeping
// thread takes 5 to 50 µs, longer than most calls: polling for that long costs at most
// the same again.
const (
	childPoll      = 20 * time.Microsecond // for the next call, after one
	parentPoll     = 50 * time.Microsecond // for a result
	concurrentPoll = 5 * time.Microsecond  // for a result beside other calls, which run meanwhile
)

// pollTime returns how long the caller polls for the result. It is 0 beside calls that
// compute for long, and for an export whose calls take longer than polling.
func (c *call) pollTime(concurrent bool) time.Duration {
	c.mu.Lock()
	short := c.short
	c.mu.Unlock()
	if !short || c.module.pool.sched.Tasks() > 0 || c.module.cost(c.inv.Export).Load() > int64(parentPoll) {
		return 0
	}
	if concurrent {
		return concurrentPoll
	}
	return parentPoll
}

// meta returns the small part of the call's frame.
func (c *call) meta() *callMeta {
	return &callMeta{
		Export: c.inv.Export, Tool: c.inv.Tool, MaxChars: c.inv.Limits.MaxChars, MaxLines: c.inv.Limits.MaxLines, Config: c.inv.Grant.Config,
		MaxOutput: c.inv.MaxOutput, HTTP: c.inv.Grant.HTTP != nil, Progress: c.inv.Progress != nil, Fresh: c.inv.Fresh, MCP: c.inv.MCP,
	}
}

// begin registers the call with the CPU scheduler and arranges for the worker's kill
// at the deadline or when the caller's context ends. The returned function ends both.
func (c *call) begin() (end func()) {
	t := c.module.pool.sched
	next := c.inv.Timeout
	switch {
	case c.task != nil: // its worker was started for it
		t.Started(c.task)
	case c.changed == nil && c.module.computes.Load():
		c.queue.clear(c)
		c.task = t.Join(c.module.plugin.Name, c.w.sched, true)
	default:
		c.short, next = true, min(next, c.module.pool.grace)
		if c.changed != nil {
			c.waited, next = true, min(next, c.module.pool.observeEvery)
		}
		t.BeginShort()
	}
	c.mu.Lock()
	c.timer = time.AfterFunc(next, c.wake)
	c.mu.Unlock()
	c.gone = context.AfterFunc(c.outer, c.kill)
	return c.end
}

// wake runs regularly while the call waits in a queue, when it has lasted long, and at
// its deadline.
func (c *call) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := max(time.Until(c.deadline), 0)
	switch {
	case c.ended || c.queue.left(c):
	case c.queue.waitsForAnother(c):
		if (c.blocked() || left == 0) && c.queue.takeBack(c) {
			return
		}
		c.timer.Reset(min(c.module.pool.observeEvery, left))
	case !c.late.IsZero() || left == 0:
		c.stop()
	case c.waited: // its own time has just begun
		c.waited = false
		c.timer.Reset(min(left, c.module.pool.grace))
	case c.short && c.queue.clear(c):
		c.short = false
		c.task = c.module.pool.sched.Promote(c.module.plugin.Name, c.w.sched)
		c.timer.Reset(left)
	default:
		c.timer.Reset(min(left, c.module.pool.grace))
	}
}

// An observation is what a waiting call has seen of the first call in its queue.
type observation struct {
	first uint64        // number of that call
	looks int           // how often it was seen
	used  time.Duration // CPU time of the worker when it was first seen
}

// blocked reports whether the first call in the queue is long: it computes or is idle.
// A first call without a core would have none in another worker either.
func (c *call) blocked() bool {
	now := c.queue.running()
	if now == 0 || now != c.observed.first {
		c.observed = observation{first: now, used: c.w.sched.CPUTime()}
		return false
	}
	c.observed.looks++
	return c.observed.looks >= maxObservations || c.w.sched.CPUTime()-c.observed.used >= observeEvery/2
}

// kill takes the call out of its queue, or kills the worker, unless the call has
// ended.
func (c *call) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended && !c.queue.left(c) && !c.queue.takeBack(c) {
		c.stop()
	}
}

// stop kills the worker for this call alone; the calls after it are taken back first.
// If the worker has already begun one of them, this call has ended, and its result is
// about to be read; that is believed for resultGrace.
func (c *call) stop() {
	now := time.Now()
	if !c.late.IsZero() && now.Sub(c.late) >= resultGrace || c.queue.clear(c) {
		c.lost = true
		c.w.kill()
		return
	}
	if c.late.IsZero() {
		c.late = now
	}
	c.timer.Reset(resultGrace - now.Sub(c.late)) // the reader of the result may come first
}

// resultGrace is how long a result may stay unread after the deadline.
const resultGrace = time.Second

// end ends the call's timer and its share of the cores.
func (c *call) end() {
	c.gone()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.timer.Stop()
	proved := false
	if c.short {
		c.module.pool.sched.EndShort()
	} else {
		proved = c.module.pool.sched.End(c.task)
	}
	if !c.moved && c.module.computes.Load() != proved {
		c.module.computes.Store(proved)
	}
}

// over reports whether the call's time has ended for any reason.
func (c *call) over() bool {
	return c.outer.Err() != nil || c.expired() || c.module.calls.Life().Err() != nil
}

// interrupted returns the failure of a call that is over.
func (c *call) interrupted() *tool.Error {
	return sandbox.Interrupted(c.inv, c.outer.Err(), c.expired(), c.module.calls.Life().Err() != nil)
}

func (c *call) expired() bool { return !time.Now().Before(c.deadline) }
