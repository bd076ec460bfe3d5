package cpusched

import (
	"sync/atomic"
	"time"
)

// A Task is one process that computes for long, or may. Its Scheduler's lock guards
// all of it but plugin and ready.
type Task struct {
	plugin string
	ready  chan struct{} // closed at the begin of its first slice

	process    Process      // nil: not started yet
	starting   bool         // it does not serve its call yet
	background *atomic.Bool // true: no caller waits for it; nil: one does
	running    bool
	inSlice    bool // its slice is not over, also while it is paused in the middle of it
	computes   bool
	computed   bool // it computed in some measurement
	priority   Priority
	since      time.Time     // it runs, or is paused
	spent      time.Duration // of its slice, before since
	ended      time.Time     // its last slice
	ran        time.Duration // since the last measurement, before since
	measure    time.Duration // CPU time at the last measurement
}

// urgency is 2 for a task that waited very long and 1 for a process in its first
// slice: a start takes little time, and its caller's deadline does not run yet. It is
// -1 for a background task and 0 for all others.
func (k *Task) urgency(now time.Time) int {
	switch {
	case k.background != nil && k.background.Load():
		return -1
	case !k.running && !k.starting && now.Sub(k.since) >= agedTime:
		return 2
	case k.starting && k.ended.IsZero():
		return 1
	}
	return 0
}

// run resumes a task, or lets it start.
func (k *Task) run(now time.Time) {
	if k.running {
		return
	}
	if !k.inSlice {
		k.spent = 0
	}
	k.running, k.inSlice, k.since = true, true, now
	select {
	case <-k.ready:
	default:
		close(k.ready)
	}
	if k.process != nil {
		k.process.Resume()
	}
}

// stop pauses a task.
func (k *Task) stop(now time.Time) {
	if !k.running {
		return
	}
	k.running = false
	k.spent += now.Sub(k.since)
	k.ran += now.Sub(k.since)
	k.since = now
	if k.process != nil {
		k.process.Pause()
	}
}

// beginSlice begins a new slice.
func (k *Task) beginSlice(now time.Time) {
	if k.running {
		k.ran += now.Sub(k.since)
		k.since = now
	}
	k.inSlice, k.spent = k.running, 0
}

// classify measures whether a task computes, once it has run for checkTime.
func (k *Task) classify(now time.Time, expectShort bool) {
	if !k.running || k.process == nil || k.ran+now.Sub(k.since) < checkTime {
		return
	}
	used := k.process.CPUTime()
	ran := k.ran + now.Sub(k.since)
	k.computes = used-k.measure > ran/computingPart
	k.computed = k.computed || k.computes
	k.setPriority(k.computes, expectShort)
	k.measure, k.ran = used, k.since.Sub(now) // negative: only what runs from now on counts
}

// setPriority sets the priority of the task's process, if it changes.
func (k *Task) setPriority(computes, expectShort bool) {
	to := Normal
	switch {
	case computes && expectShort:
		to = Idle
	case computes:
		to = Preemptible
	}
	if k.priority != to {
		k.priority = to
		k.process.SetPriority(to)
	}
}
