package watch

import "time"

// A pace decides from what looks have seen when to look again and when to tell.
// It knows no clock and no files.
type pace struct {
	quiet   time.Duration // between two looks that must agree
	longest time.Duration // files that change without pause are reported this often

	told   bool      // the latest state was reported
	moving time.Time // since when the files have not rested; zero: they rest
	due    time.Time // when the receiver wants the next report; zero: only after a change
	last   time.Time // of the last look
	poked  bool      // something has happened since
}

// looked takes in a look and says whether to tell now.
func (p *pace) looked(now time.Time, changed bool) (tell bool) {
	p.last, p.poked = now, false
	if changed {
		p.due = time.Time{} // a report follows anyway
	}
	switch {
	case changed && p.moving.IsZero():
		p.told, p.moving = false, now
		return false
	case changed:
		p.told = false
		if now.Sub(p.moving) < p.longest {
			return false
		}
		p.moving = now // told, but not at rest: there will be another look
		return true
	}
	p.moving = time.Time{}
	if p.told && (p.due.IsZero() || now.Before(p.due)) {
		return false
	}
	p.told = true
	return true
}

// again records the receiver's answer: the next report is due after this time, or,
// with 0, after the next change.
func (p *pace) again(now time.Time, after time.Duration) {
	p.due = time.Time{}
	if after > 0 {
		p.due = now.Add(after)
	}
}

// next is how long to wait until the next look; idle is how long when nothing
// is going on.
func (p *pace) next(now time.Time, idle time.Duration) time.Duration {
	at := p.last.Add(idle)
	if !p.told {
		at = p.last.Add(p.quiet)
	}
	if !p.due.IsZero() && p.due.Before(at) {
		at = p.due
	}
	// A first event is looked at at once, a storm of them now and then.
	if p.poked && now.Before(at) {
		at = now
	}
	if soonest := p.last.Add(p.quiet / 3); at.Before(soonest) {
		at = soonest
	}
	return max(at.Sub(now), 0)
}
