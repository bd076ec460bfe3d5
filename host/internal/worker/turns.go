package worker

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// How the cores are shared. All are time on the clock.
const (
	graceTime  = 5 * time.Millisecond   // for so long a call is taken for a short one
	turnTime   = 40 * time.Millisecond  // how long one computes when others wait
	cutTime    = 10 * time.Millisecond  // how long when one of them is yet to start
	agedTime   = 250 * time.Millisecond // after so long it comes before those
	lookTime   = 10 * time.Millisecond  // over how much of it its hunger is judged
	restedTime = 50 * time.Millisecond  // how often it is looked when nobody waits
	lingerTime = time.Millisecond / 2   // behind a short call its host has work left
	holdTime   = 10 * time.Millisecond  // the longest that a short call holds all others up
	crowdTime  = 100 * time.Millisecond // the longest that this process does, when it takes the last core
	freshTime  = 250 * time.Millisecond // for so long after a short call a core is kept free
	fullPart   = 4                      // who computes more than a fourth of the time is hungry
)

// turns share the cores among the workers that compute for long: calls that go
// on, workers and compilers that start. A worker that does is paused while it
// waits for its turn. With all cores taken by such work every short call would
// wait for the kernel's next tick, several times over. So one core is kept free
// of it while short calls come, beside those that this process itself takes, and
// one more for each of them, also the last one, for half of the time at most.
//
// Who waits for something else, a server or a clock, needs no turn. Turns go
// round among plugins, and among the tasks of each, so that nobody waits for
// ever. It is safe for concurrent use.
type turns struct {
	cores int
	own   func() time.Duration // CPU time of this process
	fresh atomic.Int32         // short calls that run
	long  atomic.Int32         // len(tasks)

	mu    sync.Mutex
	tasks []*task
	last  map[string]time.Time // by plugin, the end of its last turn
	alarm *time.Timer          // calls look
	short time.Time            // when the last short call ended
	hold  pause                // for short calls
	crowd pause                // for this process

	judged time.Time     // when this process was
	base   time.Duration // its CPU time then
	taken  int           // cores that it took before that
}

// A computer is a worker as turns know it. All of it may be called in any state and
// takes no time.
type computer interface {
	pause()
	resume()
	// yields says how it gives way to others; at first it is prompt.
	yields(to manners)
	// cpu is the CPU time that it has used so far.
	cpu() time.Duration
}

// Manners are how a computer gives way to others on its core.
type manners int

const (
	prompt manners = iota // not at all: it takes no time
	polite                // whoever wakes interrupts it
	humble                // and goes on until there is nothing else to do
)

// A task computes for long, or may. All of it belongs to its turns, ready and
// plugin excepted.
type task struct {
	plugin string
	ready  chan struct{} // closed when it has had a turn

	who     computer     // nil: it is not there yet
	starts  bool         // it is not ready for its call yet
	patient *atomic.Bool // nobody waits for it; nil: somebody does
	runs    bool
	turn    bool // it is in its turn, also while it has to wait in the middle of it
	hungry  bool
	manners manners       // what who was told
	proved  bool          // it was seen to be hungry
	since   time.Time     // it runs, or waits
	spent   time.Duration // of its turn, before since
	ended   time.Time     // its last turn
	ran     time.Duration // since it was last judged, before since
	base    time.Duration // CPU time when it was
}

// newTurns makes turns for so many cores, of which this process takes some
// itself: own is its CPU time.
func newTurns(cores int, own func() time.Duration) *turns {
	t := &turns{cores: cores, own: own, last: map[string]time.Time{}}
	t.alarm = time.AfterFunc(time.Hour, t.look)
	t.alarm.Stop()
	return t
}

// enter and leave stand around a call that is taken for a short one; grow stands
// in for leave when it turns out to be none.
func (t *turns) enter() {
	if t.fresh.Add(1); t.long.Load() > 0 {
		t.look()
	}
}

func (t *turns) leave() {
	t.fresh.Add(-1)
	if t.long.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.short = time.Now()
	t.share(t.short)
}

// alone reports whether one short call runs, and nothing else.
func (t *turns) alone() bool { return t.fresh.Load() == 1 && t.long.Load() == 0 }

func (t *turns) grow(plugin string, who computer) *task {
	t.fresh.Add(-1)
	return t.join(plugin, who, false)
}

// wait adds a task that is yet to be started, and waits for its turn; a patient one
// comes after all others that compute, until it is patient no more. The error is
// that of ctx; without one, bind or done must follow.
func (t *turns) wait(ctx context.Context, plugin string, patient *atomic.Bool) (*task, error) {
	k := t.add(&task{plugin: plugin, hungry: true, starts: true, patient: patient})
	select {
	case <-k.ready:
		return k, nil
	case <-ctx.Done():
		t.done(k)
		return nil, ctx.Err()
	}
}

// bind says who the task is that was waited for.
func (t *turns) bind(k *task, who computer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k.who, k.base = who, who.cpu()
	k.yield(true, t.coming(time.Now()))
	if !k.runs {
		who.pause()
	}
}

// join adds a task that runs already. One that is not known to be hungry is
// judged first.
func (t *turns) join(plugin string, who computer, known bool) *task {
	return t.add(&task{plugin: plugin, who: who, hungry: known, base: who.cpu()})
}

func (t *turns) add(k *task) *task {
	k.ready = make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if k.who != nil {
		k.runs, k.turn, k.since = true, true, now
		k.yield(k.hungry, t.coming(now))
	}
	t.tasks = append(t.tasks, k)
	t.long.Store(int32(len(t.tasks)))
	t.share(now)
	return k
}

// renew says that a task is started, and begins a new judgement of it.
func (t *turns) renew(k *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k.begin(time.Now())
	k.starts = false
	k.proved, k.ran, k.base = false, 0, k.who.cpu()
}

// done ends a task, which runs from then on, and reports whether it was seen to
// be hungry.
func (t *turns) done(k *task) (proved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.tasks = slices.DeleteFunc(t.tasks, func(o *task) bool { return o == k }); len(t.tasks) == 0 {
		clear(t.last)
		t.alarm.Stop()
	}
	t.long.Store(int32(len(t.tasks)))
	if k.who != nil {
		k.yield(false, false)
		if !k.runs {
			k.who.resume()
		}
	}
	if len(t.tasks) > 0 {
		t.last[k.plugin] = now
		t.share(now)
	}
	return k.proved
}

// look shares the cores anew.
func (t *turns) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.share(time.Now())
}

// share gives each task that wants one a core, as far as they go, and sets the
// alarm; t.mu is held.
func (t *turns) share(now time.Time) {
	if len(t.tasks) == 0 {
		return
	}
	t.judge(now)
	coming := t.coming(now)
	start := slices.ContainsFunc(t.tasks, func(k *task) bool { return k.urgency(now) == 1 && !k.runs })
	for _, k := range t.tasks {
		k.judge(now, coming)
		most := turnTime
		if start && !k.starts {
			most = cutTime
		}
		if k.runs && k.spent+now.Sub(k.since) >= most {
			k.begin(now)
			k.turn = false // it goes on if nobody waits
			k.ended, t.last[k.plugin] = now, now
		}
	}
	chosen := t.choose(now, t.lanes(now))
	waiting := false
	for _, k := range t.tasks {
		if k.hungry && !chosen[k] {
			k.stop(now)
			waiting = true
		}
	}
	for _, k := range t.tasks {
		if !k.hungry || chosen[k] {
			k.run(now)
		}
	}
	t.alarm.Reset(t.next(now, waiting))
}

// choose finds so many of the hungry: who is in a turn goes on. Then come those
// that waited very long, and those that start, for that takes little time and
// nobody has counted it against the deadline. Then the plugin that has the fewest,
// then who waited longest.
func (t *turns) choose(now time.Time, lanes int) map[*task]bool {
	chosen, of := make(map[*task]bool, len(t.tasks)), map[string]int{}
	for len(chosen) < lanes {
		var next *task
		for _, k := range t.tasks {
			if k.hungry && !chosen[k] && (next == nil || t.before(now, k, next, of)) {
				next = k
			}
		}
		if next == nil {
			break
		}
		chosen[next] = true
		of[next.plugin]++
	}
	return chosen
}

func (t *turns) before(now time.Time, a, b *task, of map[string]int) bool {
	if a.turn != b.turn {
		return a.turn
	}
	if n, m := a.urgency(now), b.urgency(now); n != m {
		return n > m
	}
	if n, m := of[a.plugin], of[b.plugin]; n != m {
		return n < m
	}
	if c := t.last[a.plugin].Compare(t.last[b.plugin]); c != 0 {
		return c < 0
	}
	return a.ended.Before(b.ended)
}

func (k *task) urgency(now time.Time) int {
	switch {
	case k.patient != nil && k.patient.Load():
		return -1
	case !k.runs && !k.starts && now.Sub(k.since) >= agedTime:
		return 2
	case k.starts && k.ended.IsZero(): // one turn of it
		return 1
	}
	return 0
}

// judge finds out how many cores this process takes.
func (t *turns) judge(now time.Time) {
	span := now.Sub(t.judged)
	if span < lookTime {
		return
	}
	used := t.own()
	t.taken = 0
	if span < 2*restedTime {
		t.taken = int((used - t.base + span/2) / span)
	}
	t.judged, t.base = now, used
}

// coming reports whether short calls come.
func (t *turns) coming(now time.Time) bool {
	return t.fresh.Load() > 0 || now.Sub(t.short) < freshTime
}

// lanes is how many tasks may compute now: of the cores that this process leaves,
// all but one while short calls come, and one less for each that runs.
func (t *turns) lanes(now time.Time) int {
	fresh := int(t.fresh.Load())
	if fresh == 0 && now.Sub(t.short) < lingerTime {
		fresh = 1
	}
	coming := t.coming(now)
	free := t.cores - 1 - t.taken
	held := t.hold.lasts(now, fresh > 0 && fresh >= free, holdTime)
	crowded := t.crowd.lasts(now, coming && free <= 0 && t.taken > 0, crowdTime)
	switch {
	case held || crowded:
		return 0
	case fresh > 0 && fresh < free:
		return free - fresh
	case coming:
		return max(1, free)
	}
	return t.cores
}

// A pause is a time in which nobody computes. It is never more than half of the
// time.
type pause struct {
	since time.Time // zero: there is none
	until time.Time // no other one begins before
}

// lasts begins, continues or ends a pause, as it is wanted, and reports whether
// there is one.
func (p *pause) lasts(now time.Time, wanted bool, most time.Duration) bool {
	switch began := p.since; {
	case !began.IsZero() && (!wanted || now.Sub(began) >= most):
		p.since, p.until = time.Time{}, now.Add(now.Sub(began))
	case began.IsZero() && wanted && !now.Before(p.until):
		p.since = now
	}
	return !p.since.IsZero()
}

// next is when to look again.
func (t *turns) next(now time.Time, some bool) time.Duration {
	wait := restedTime
	if some || slices.ContainsFunc(t.tasks, func(k *task) bool { return k.who != nil && !k.hungry }) {
		wait = lookTime
	}
	if !t.hold.since.IsZero() {
		wait = min(wait, t.hold.since.Add(holdTime).Sub(now))
		if t.fresh.Load() == 0 {
			wait = min(wait, t.short.Add(lingerTime).Sub(now))
		}
	} else if t.fresh.Load() > 0 && now.Before(t.hold.until) {
		wait = min(wait, t.hold.until.Sub(now))
	}
	return max(wait, lingerTime)
}

// run lets a task go on.
func (k *task) run(now time.Time) {
	if k.runs {
		return
	}
	if !k.turn {
		k.spent = 0
	}
	k.runs, k.turn, k.since = true, true, now
	select {
	case <-k.ready:
	default:
		close(k.ready)
	}
	if k.who != nil {
		k.who.resume()
	}
}

// stop lets it wait.
func (k *task) stop(now time.Time) {
	if !k.runs {
		return
	}
	k.runs = false
	k.spent += now.Sub(k.since)
	k.ran += now.Sub(k.since)
	k.since = now
	if k.who != nil {
		k.who.pause()
	}
}

// begin begins a turn.
func (k *task) begin(now time.Time) {
	if k.runs {
		k.ran += now.Sub(k.since)
		k.since = now
	}
	k.turn, k.spent = k.runs, 0
}

// judge finds out whether a task computes, once it has run for long enough.
func (k *task) judge(now time.Time, coming bool) {
	if !k.runs || k.who == nil || k.ran+now.Sub(k.since) < lookTime {
		return
	}
	used := k.who.cpu()
	ran := k.ran + now.Sub(k.since)
	k.hungry = used-k.base > ran/fullPart
	k.proved = k.proved || k.hungry
	k.yield(k.hungry, coming)
	k.base, k.ran = used, k.since.Sub(now) // what it runs from now on counts
}

// yield tells a task's worker how to give way to others: as somebody who computes for
// long or not, and whether short calls come.
func (k *task) yield(long, coming bool) {
	to := prompt
	switch {
	case long && coming:
		to = humble
	case long:
		to = polite
	}
	if k.manners != to {
		k.manners = to
		k.who.yields(to)
	}
}
