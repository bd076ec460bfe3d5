package cpusched

import (
	"slices"
	"time"
)

// assign gives each computing task a core, as long as there are some, pauses the
// others, and sets the timer; s.mu is held.
func (s *Scheduler) assign(now time.Time) {
	if len(s.tasks) == 0 {
		return
	}
	s.measureOwn(now)
	expected := s.expectShort(now)
	start := slices.ContainsFunc(s.tasks, func(k *Task) bool { return k.urgency(now) == 1 && !k.running })
	for _, k := range s.tasks {
		k.classify(now, expected)
		most := sliceTime
		if start && !k.starting {
			most = startSlice
		}
		if k.running && k.spent+now.Sub(k.since) >= most {
			k.beginSlice(now)
			k.inSlice = false // it continues if no other task waits
			k.ended, s.lastSlice[k.plugin] = now, now
		}
	}
	chosen := s.choose(now, s.freeCores(now))
	waiting := false
	for _, k := range s.tasks { // pause first: that frees the cores
		if k.computes && !chosen[k] {
			k.stop(now)
			waiting = true
		}
	}
	for _, k := range s.tasks {
		if !k.computes || chosen[k] {
			k.run(now)
		}
	}
	s.timer.Reset(s.next(now, waiting))
}

// choose returns the computing tasks that get a core, n at most.
func (s *Scheduler) choose(now time.Time, n int) map[*Task]bool {
	chosen, of := make(map[*Task]bool, len(s.tasks)), map[string]int{}
	for len(chosen) < n {
		var next *Task
		for _, k := range s.tasks {
			if k.computes && !chosen[k] && (next == nil || s.precedes(now, k, next, of)) {
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

// precedes reports whether a comes before b: first the task in its slice, then the
// more urgent one, then the plugin with fewer chosen tasks (of counts them), then the
// one that waited longer.
func (s *Scheduler) precedes(now time.Time, a, b *Task, of map[string]int) bool {
	if a.inSlice != b.inSlice {
		return a.inSlice
	}
	if n, m := a.urgency(now), b.urgency(now); n != m {
		return n > m
	}
	if n, m := of[a.plugin], of[b.plugin]; n != m {
		return n < m
	}
	if c := s.lastSlice[a.plugin].Compare(s.lastSlice[b.plugin]); c != 0 {
		return c < 0
	}
	return a.ended.Before(b.ended)
}

// measureOwn measures how many cores this process uses.
func (s *Scheduler) measureOwn(now time.Time) {
	span := now.Sub(s.measured)
	if span < checkTime {
		return
	}
	used := s.own()
	s.ownCores = 0
	if span < 2*idleCheckTime {
		s.ownCores = int((used - s.measure + span/2) / span)
	}
	s.measured, s.measure = now, used
}

// expectShort reports whether short calls run, or ran a moment ago.
func (s *Scheduler) expectShort(now time.Time) bool {
	return s.short.Load() > 0 || now.Sub(s.lastShort) < recentTime
}

// freeCores returns how many tasks may compute now: one per core that this process
// does not use; one fewer while short calls are expected; and one fewer for each
// short call that runs.
func (s *Scheduler) freeCores(now time.Time) int {
	short := int(s.short.Load())
	if short == 0 && now.Sub(s.lastShort) < lingerTime {
		short = 1
	}
	expected := s.expectShort(now)
	free := s.cores - 1 - s.ownCores
	held := s.hold.update(now, short > 0 && short >= free, holdTime)
	crowded := s.crowd.update(now, expected && free <= 0 && s.ownCores > 0, crowdTime)
	switch {
	case held || crowded:
		return 0
	case short > 0 && short < free:
		return free - short
	case expected:
		return max(1, free)
	}
	return s.cores
}

// A pause is a time in which no task computes. Pauses last at most half of the time.
type pause struct {
	since time.Time // zero: there is none
	until time.Time // the next one does not begin before
}

// update begins, continues or ends a pause, and reports whether there is one.
func (p *pause) update(now time.Time, wanted bool, most time.Duration) bool {
	switch began := p.since; {
	case !began.IsZero() && (!wanted || now.Sub(began) >= most):
		p.since, p.until = time.Time{}, now.Add(now.Sub(began))
	case began.IsZero() && wanted && !now.Before(p.until):
		p.since = now
	}
	return !p.since.IsZero()
}

// next returns the time until the next assignment.
func (s *Scheduler) next(now time.Time, waiting bool) time.Duration {
	wait := idleCheckTime
	if waiting || slices.ContainsFunc(s.tasks, func(k *Task) bool { return k.process != nil && !k.computes }) {
		wait = checkTime
	}
	if !s.hold.since.IsZero() {
		wait = min(wait, s.hold.since.Add(holdTime).Sub(now))
		if s.short.Load() == 0 {
			wait = min(wait, s.lastShort.Add(lingerTime).Sub(now))
		}
	} else if s.short.Load() > 0 && now.Before(s.hold.until) {
		wait = min(wait, s.hold.until.Sub(now))
	}
	return max(wait, lingerTime)
}
