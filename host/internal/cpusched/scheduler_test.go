package cpusched

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/internal/testtime"
)

// A simulated Process uses a part of the time that it runs.
type simulated struct {
	part  float64 // 1: all of it
	off   bool
	now   Priority
	since time.Time
	used  time.Duration
}

func newSimulated(part float64) *simulated { return &simulated{part: part, since: time.Now()} }

func (f *simulated) CPUTime() time.Duration {
	if !f.off {
		f.used += time.Duration(f.part * float64(testtime.Since(f.since)))
		f.since = time.Now()
	}
	return f.used
}

func (f *simulated) Pause()                  { f.CPUTime(); f.off = true }
func (f *simulated) Resume()                 { f.CPUTime(); f.off, f.since = false, time.Now() }
func (f *simulated) SetPriority(to Priority) { f.now = to }

func noTime() time.Duration { return 0 }

// using returns the CPU time of processes.
func (t *Scheduler) using(processes ...*simulated) (sum time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range processes {
		sum += f.CPUTime()
	}
	return sum
}

// locked calls f when no timer of the scheduler runs: they may run at the very time
// at which a sleep of a test ends.
func (t *Scheduler) locked(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// computing returns how many processes run.
func (t *Scheduler) computing(processes ...*simulated) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range processes {
		if !f.off {
			n++
		}
	}
	return n
}

// shortCalls makes one short call after the other until end. It returns during how
// many of them another process computed, and their number.
func shortCalls(t *Scheduler, end time.Time, think, take time.Duration, processes ...*simulated) (disturbed, all int) {
	for time.Now().Before(end) {
		t.BeginShort()
		testtime.Sleep(take / 2)
		if t.computing(processes...) > 0 {
			disturbed++
		}
		testtime.Sleep(take / 2)
		t.EndShort()
		all++
		testtime.Sleep(think)
	}
	return disturbed, all
}

func TestSlicesGoRoundThePlugins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sched := New(2, noTime)
		var processes []*simulated
		var tasks []*Task
		for _, plugin := range []string{"p", "p", "p", "q"} {
			processes = append(processes, newSimulated(1))
			tasks = append(tasks, sched.Join(plugin, processes[len(processes)-1], true))
		}
		if n := sched.computing(processes...); n != 2 {
			t.Errorf("%d compute at once on 2 cores", n)
		}
		testtime.Sleep(4 * time.Second)
		if sum := sched.using(processes...); sum != 8*time.Second {
			t.Errorf("%s of 8 s were used: no core was reserved", sum)
		}
		for i, share := range []time.Duration{4 * time.Second / 3, 4 * time.Second / 3, 4 * time.Second / 3, 4 * time.Second} {
			if used := sched.using(processes[i]); used < share-2*sliceTime || used > share+2*sliceTime {
				t.Errorf("task %d has used %s, and its share is %s", i, used, share)
			}
		}
		for i, k := range tasks {
			if sched.End(k); sched.computing(processes[i]) != 1 {
				t.Errorf("task %d stays paused", i)
			}
		}
		sched.locked(func() {
			if len(sched.tasks) != 0 || len(sched.lastSlice) != 0 {
				t.Error("the scheduler is not empty")
			}
		})
	})
}

func TestShortCallsGetTheCores(t *testing.T) {
	for _, row := range []struct {
		what        string
		think, take time.Duration
		disturbed   float64       // of the short calls, at most
		least       time.Duration // that others have had in 10 s
	}{
		{"a caller with pauses", 5 * time.Millisecond, 300 * time.Microsecond, 0, 8 * time.Second},
		{"a caller without pauses", 0, 300 * time.Microsecond, 0.6, 4 * time.Second},
	} {
		t.Run(row.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sched := New(2, noTime)
				processes := []*simulated{newSimulated(1), newSimulated(1), newSimulated(1)}
				for _, f := range processes {
					defer sched.End(sched.Join("p", f, true))
				}
				disturbed, all := shortCalls(sched, time.Now().Add(10*time.Second), row.think, row.take, processes...)
				if part := float64(disturbed) / float64(all); part > row.disturbed {
					t.Errorf("tasks computed during %d of %d short calls", disturbed, all)
				}
				if used := sched.using(processes...); used < row.least || used > 10*time.Second+sliceTime {
					t.Errorf("they used %s of 20 s, and one core was to stay free", used)
				}
				for _, f := range processes {
					if used := sched.using(f); used < row.least/4 {
						t.Errorf("one of three used %s", used)
					}
				}
				testtime.Sleep(time.Second)
				if n := sched.computing(processes...); n != 2 {
					t.Errorf("%d compute on 2 cores once no short calls come", n)
				}
			})
		})
	}
}

// With enough cores no task is paused.
func TestNoTaskIsPausedWithEnoughCores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sched := New(8, noTime)
		var processes []*simulated
		for range 5 {
			processes = append(processes, newSimulated(1))
			defer sched.End(sched.Join("p", processes[len(processes)-1], true))
		}
		shortCalls(sched, time.Now().Add(time.Second), time.Millisecond, time.Millisecond, processes...)
		if used := sched.using(processes...); used != 5*time.Second {
			t.Errorf("five used %s of five seconds", used)
		}
		for range 5 {
			processes = append(processes, newSimulated(1))
			defer sched.End(sched.Join("q", processes[len(processes)-1], true))
		}
		sched.BeginShort()
		sched.BeginShort()
		if n := sched.computing(processes...); n != 5 {
			t.Errorf("%d compute beside two short calls on eight cores", n)
		}
		sched.EndShort()
		sched.EndShort()
	})
}

// The host's own CPU time counts. Tasks get at least half of the time of the last core.
func TestTheHostsOwnCPUTimeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		sched := New(2, func() time.Duration { return testtime.Since(began) })
		bomb := newSimulated(1)
		defer sched.End(sched.Join("bomb", bomb, true))
		testtime.Sleep(time.Second)
		if used := sched.using(bomb); used != time.Second {
			t.Errorf("beside a busy host alone it used %s of a second", used)
		}
		disturbed, all := shortCalls(sched, time.Now().Add(10*time.Second), 5*time.Millisecond, time.Millisecond/2, bomb)
		if used := sched.using(bomb) - time.Second; disturbed != 0 || used < 3*time.Second || used > 6*time.Second {
			t.Errorf("with short calls it used %s of 10 s, in %d of %d of them", used, disturbed, all)
		}
	})
}

// A task that waits for I/O is not paused, and Started begins a new measurement.
func TestATaskThatWaitsIsNotPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sched := New(1, noTime)
		busy, sleepy := newSimulated(1), newSimulated(0.01)
		one := sched.Join("busy", busy, true)
		defer sched.End(one)
		sched.BeginShort()
		other := sched.Promote("sleepy", sleepy)
		defer sched.End(other)
		testtime.Sleep(time.Second)
		if used := sched.using(busy); used != time.Second {
			t.Errorf("beside one that sleeps the other used %s of a second", used)
		}
		if used := sched.using(sleepy); used < 9*time.Millisecond {
			t.Errorf("the one that sleeps used %s", used)
		}
		sched.locked(func() { sleepy.part = 1 })
		sched.Started(other)
		testtime.Sleep(time.Second)
		if used := sched.using(sleepy); used < 400*time.Millisecond || used > 700*time.Millisecond {
			t.Errorf("awake it used %s of a second for two", used)
		}
		sched.locked(func() {
			if !other.computed || !one.computed {
				t.Error("they were not seen to compute")
			}
		})
	})
}

func TestAStartWaitsForItsSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sched := New(1, noTime)
		bomb := newSimulated(1)
		defer sched.End(sched.Join("bomb", bomb, true))
		testtime.Sleep(sliceTime / 2)
		began := time.Now()
		k, err := sched.Wait(t.Context(), "honest", nil)
		if took := testtime.Since(began); err != nil || took > sliceTime {
			t.Errorf("a start waited for %s, %v", took, err)
		}
		if sched.computing(bomb) != 0 {
			t.Error("two compute on one core")
		}
		testtime.Sleep(2 * sliceTime) // it takes long to start, and its slice is over
		worker := newSimulated(1)
		sched.Bind(k, worker)
		if sched.computing(worker, bomb) != 1 {
			t.Error("two compute on one core")
		}
		testtime.Sleep(10 * sliceTime)
		if a, b := sched.using(worker), sched.using(bomb); a < 4*sliceTime || b < 4*sliceTime {
			t.Errorf("they used %s and %s", a, b)
		}
		sched.End(k)

		defer sched.End(sched.Join("another", newSimulated(1), true))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := sched.Wait(ctx, "bomb", nil); err != context.Canceled {
			t.Errorf("%v", err)
		}
		sched.locked(func() {
			if len(sched.tasks) != 2 {
				t.Errorf("%d tasks, and two are left", len(sched.tasks))
			}
		})
	})
}

// A background start comes after all other tasks, until a caller waits for it.
func TestABackgroundStartComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sched := New(1, noTime)
		background := new(atomic.Bool)
		start := func() <-chan *Task {
			background.Store(true)
			had := make(chan *Task, 1)
			go func() {
				if k, err := sched.Wait(t.Context(), "new", background); err == nil {
					had <- k
				}
			}()
			return had
		}
		other := sched.Join("busy", newSimulated(1), true)
		had := start()
		testtime.Sleep(10 * sliceTime)
		if len(had) > 0 {
			t.Error("it got a slice before a task with a waiting caller")
		}
		background.Store(false)
		sched.Reschedule()
		testtime.Sleep(2 * sliceTime)
		if len(had) == 0 {
			t.Fatal("it got no slice although a caller waits for it")
		}
		sched.End(<-had)

		had = start()
		testtime.Sleep(sliceTime)
		sched.End(other)
		synctest.Wait()
		if len(had) == 0 {
			t.Fatal("it got no slice without other tasks")
		}
		sched.End(<-had)
	})
}

// Whatever the order of events: at most one task per core computes, no core is idle
// without need, and every task makes progress.
func TestSchedulerProperties(t *testing.T) {
	type step struct {
		what, plugin, which int
		take, wait          time.Duration
	}
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			rapid.IntRange(0, 3).Draw(t, "what"), rapid.IntRange(0, 2).Draw(t, "plugin"), rapid.IntRange(0, 100).Draw(t, "which"),
			time.Duration(rapid.IntRange(0, 4000).Draw(t, "take")) * time.Microsecond, time.Duration(rapid.IntRange(0, 60).Draw(t, "wait")) * time.Millisecond,
		}
	}), 1, 40)
	rapid.Check(t, func(rt *rapid.T) {
		cores, steps := rapid.IntRange(1, 4).Draw(rt, "cores"), steps.Draw(rt, "steps")
		var wrong []string
		synctest.Test(t, func(*testing.T) {
			sched := New(cores, noTime)
			var processes []*simulated
			var tasks []*Task
			var shorts atomic.Int32
			for _, s := range steps {
				switch n := len(tasks); {
				case s.what < 2:
					processes = append(processes, newSimulated(1))
					tasks = append(tasks, sched.Join([]string{"p", "q", "r"}[s.plugin], processes[n], true))
				case s.what == 2 && n > 0:
					i := s.which % n
					if sched.End(tasks[i]); sched.computing(processes[i]) != 1 {
						wrong = append(wrong, "a finished task stays paused")
					}
					tasks, processes = append(tasks[:i], tasks[i+1:]...), append(processes[:i], processes[i+1:]...)
				case s.what == 3:
					sched.BeginShort()
					shorts.Add(1)
					time.AfterFunc(s.take, func() {
						sched.EndShort()
						shorts.Add(-1)
					})
				}
				testtime.Sleep(s.wait)
				n, want := sched.computing(processes...), min(len(processes), cores)
				if n > want || n < want && shorts.Load() == 0 && testtime.Since(sched.lastShort) > recentTime+idleCheckTime {
					wrong = append(wrong, fmt.Sprintf("%d of %d compute on %d cores, beside %d short calls", n, len(processes), cores, shorts.Load()))
				}
			}
			for i, f := range processes {
				before := sched.using(f)
				testtime.Sleep(2 * sliceTime * time.Duration(len(processes)+1))
				if sched.using(f) == before {
					wrong = append(wrong, fmt.Sprintf("task %d of %d made no progress", i, len(processes)))
				}
			}
			for _, k := range tasks {
				sched.End(k)
			}
			synctest.Wait()
		})
		if len(wrong) > 0 {
			rt.Fatal(wrong)
		}
	})
}

// Tasks that start or compute are preemptible, and idle while short calls come; all
// other processes have the normal priority.
func TestPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sched := New(4, noTime)
		looks := func(what string, f *simulated, want Priority) {
			t.Helper()
			sched.mu.Lock()
			defer sched.mu.Unlock()
			if f.now != want {
				t.Errorf("%s has priority %d, not %d", what, f.now, want)
			}
		}
		started, err := sched.Wait(t.Context(), "starts", nil)
		if err != nil {
			t.Fatal(err)
		}
		worker := newSimulated(1)
		sched.Bind(started, worker)
		looks("one that starts", worker, Preemptible)
		sched.Started(started)
		testtime.Sleep(2 * idleCheckTime)
		looks("one that computes", worker, Preemptible)
		idle := newSimulated(0)
		waits := sched.Join("waits", idle, false)
		testtime.Sleep(2 * idleCheckTime)
		looks("one that waits", idle, Normal)
		known := newSimulated(1)
		hungry := sched.Join("known", known, true)
		looks("a task known to compute", known, Preemptible)

		shortCalls(sched, time.Now().Add(2*idleCheckTime), time.Millisecond, time.Millisecond)
		looks("one that computes beside short calls", worker, Idle)
		looks("another one", known, Idle)
		looks("one that waits beside them", idle, Normal)
		late := newSimulated(1)
		joined := sched.Join("late", late, true)
		looks("one that comes then", late, Idle)
		testtime.Sleep(recentTime + 2*idleCheckTime)
		looks("one that computes when none came for a while", worker, Preemptible)
		for k, f := range map[*Task]*simulated{started: worker, waits: idle, hungry: known, joined: late} {
			sched.End(k)
			looks("one that is done", f, Normal)
		}
	})
}

// A task that gets no core in the idle class looks like a caller without pauses compute, so
// it leaves the class and makes progress.
func TestNoTaskStarvesInTheIdleClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sched := New(2, noTime)
		worker := newSimulated(1)
		task := sched.Join("p", worker, true)
		defer sched.End(task)
		others := func() { // use all cores whenever they can
			sched.mu.Lock()
			defer sched.mu.Unlock()
			worker.CPUTime()
			if worker.part = 0.5; worker.now == Idle {
				worker.part = 0
			}
		}
		for range 1000 {
			sched.BeginShort()
			testtime.Sleep(time.Millisecond / 2)
			sched.EndShort()
			others()
			testtime.Sleep(time.Millisecond / 2)
		}
		if used := sched.using(worker); used < 50*time.Millisecond {
			t.Errorf("it used %s of a second", used)
		}
	})
}
