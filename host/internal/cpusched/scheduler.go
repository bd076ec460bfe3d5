package cpusched

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ShortCallTime is how long a call counts as a short one.
const ShortCallTime = 5 * time.Millisecond

// How the cores are shared. All are wall-clock times.
const (
	sliceTime     = 40 * time.Millisecond  // one task's slice while others wait
	startSlice    = 10 * time.Millisecond  // the same while a process waits for its start
	agedTime      = 250 * time.Millisecond // a task that waited longer comes before starting processes
	checkTime     = 10 * time.Millisecond  // span over which CPU use is measured
	idleCheckTime = 50 * time.Millisecond  // pause between two checks while no task waits
	lingerTime    = time.Millisecond / 2   // the host still works for a short call after its end
	holdTime      = 10 * time.Millisecond  // longest pause of all tasks for a short call
	crowdTime     = 100 * time.Millisecond // longest pause of all tasks for this process
	recentTime    = 250 * time.Millisecond // short calls are expected for so long after the last one
	computingPart = 4                      // a task that uses more than 1/4 of its time computes
)

// A Process is what a Scheduler pauses and resumes. Each method may be called in any
// state and must return at once.
type Process interface {
	Pause()
	Resume()
	// SetPriority sets how the process gives way to others; it begins as Normal.
	SetPriority(Priority)
	// CPUTime returns the CPU time that the process has used so far.
	CPUTime() time.Duration
}

// A Priority is how a process gives way to others that want its core.
type Priority int

// The priorities, from the highest.
const (
	Normal      Priority = iota // for processes that wait for calls
	Preemptible                 // a thread that wakes up interrupts it
	Idle                        // it runs only while no other thread wants the core
)

// A Scheduler shares the cores among the processes that compute for long. Processes
// that wait for I/O or a timer are not paused. It is safe for concurrent use.
type Scheduler struct {
	cores int
	own   func() time.Duration // CPU time of this process
	short atomic.Int32         // short calls that run
	long  atomic.Int32         // len(tasks)

	mu        sync.Mutex
	tasks     []*Task
	lastSlice map[string]time.Time // by plugin, the end of its last slice
	timer     *time.Timer          // calls Reschedule
	lastShort time.Time            // end of the last short call
	hold      pause                // for short calls
	crowd     pause                // for this process

	measured time.Time     // when the use of this process was measured
	measure  time.Duration // its CPU time then
	ownCores int           // cores that it used before that
}

// New returns a Scheduler for a number of cores. own returns the CPU time of this
// process, which needs some of the cores itself.
func New(cores int, own func() time.Duration) *Scheduler {
	s := &Scheduler{cores: cores, own: own, lastSlice: map[string]time.Time{}}
	s.timer = time.AfterFunc(time.Hour, s.Reschedule)
	s.timer.Stop()
	return s
}

// BeginShort counts a call that is expected to be short. EndShort or Promote must follow.
func (s *Scheduler) BeginShort() {
	if s.short.Add(1); s.long.Load() > 0 {
		s.Reschedule()
	}
}

// EndShort ends a short call.
func (s *Scheduler) EndShort() {
	s.short.Add(-1)
	if s.long.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastShort = time.Now()
	s.assign(s.lastShort)
}

// OneShort reports whether one short call runs, and no task.
func (s *Scheduler) OneShort() bool { return s.short.Load() == 1 && s.long.Load() == 0 }

// Tasks returns the number of tasks.
func (s *Scheduler) Tasks() int { return int(s.long.Load()) }

// Promote makes a task of a short call that has lasted for ShortCallTime.
func (s *Scheduler) Promote(plugin string, p Process) *Task {
	s.short.Add(-1)
	return s.Join(plugin, p, false)
}

// Wait adds a task for a process that is not started yet, and waits for its slice. A
// background task comes after all others until the value becomes false; nil: it is
// not in the background. The error is that of ctx. Without an error, Bind or End must follow.
func (s *Scheduler) Wait(ctx context.Context, plugin string, background *atomic.Bool) (*Task, error) {
	k := s.add(&Task{plugin: plugin, computes: true, starting: true, background: background})
	select {
	case <-k.ready:
		return k, nil
	case <-ctx.Done():
		s.End(k)
		return nil, ctx.Err()
	}
}

// Bind sets the process of a task that Wait returned.
func (s *Scheduler) Bind(k *Task, p Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.process, k.measure = p, p.CPUTime()
	k.setPriority(true, s.expectShort(time.Now()))
	if !k.running {
		p.Pause()
	}
}

// Join adds a task that runs already. computes says that it is known to compute for
// long; else its CPU use is measured first.
func (s *Scheduler) Join(plugin string, p Process, computes bool) *Task {
	return s.add(&Task{plugin: plugin, process: p, computes: computes, measure: p.CPUTime()})
}

func (s *Scheduler) add(k *Task) *Task {
	k.ready = make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if k.process != nil {
		k.running, k.inSlice, k.since = true, true, now
		k.setPriority(k.computes, s.expectShort(now))
	}
	s.tasks = append(s.tasks, k)
	s.long.Store(int32(len(s.tasks)))
	s.assign(now)
	return k
}

// Started marks a task's process as started; its CPU use is measured from now on.
func (s *Scheduler) Started(k *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.beginSlice(time.Now())
	k.starting = false
	k.computed, k.ran, k.measure = false, 0, k.process.CPUTime()
}

// End ends a task; its process runs from then on. It reports whether the task was
// seen to compute.
func (s *Scheduler) End(k *Task) (computed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.tasks = slices.DeleteFunc(s.tasks, func(o *Task) bool { return o == k }); len(s.tasks) == 0 {
		clear(s.lastSlice)
		s.timer.Stop()
	}
	s.long.Store(int32(len(s.tasks)))
	if k.process != nil {
		k.setPriority(false, false)
		if !k.running {
			k.process.Resume()
		}
	}
	if len(s.tasks) > 0 {
		s.lastSlice[k.plugin] = now
		s.assign(now)
	}
	return k.computed
}

// Reschedule assigns the cores again. Callers need it only after the background value
// of a task has changed.
func (s *Scheduler) Reschedule() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assign(time.Now())
}
