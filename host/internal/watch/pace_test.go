package watch

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at is a moment of a made-up clock.
func at(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func newPace() *pace { return &pace{quiet: 300 * time.Millisecond, longest: 5 * time.Second} }

func TestPaceTellsAtTheBeginning(t *testing.T) {
	p := newPace()
	if !p.looked(at(0), false) {
		t.Error("the first look must be told")
	}
	if got := p.next(at(0), 30*time.Second); got != 30*time.Second {
		t.Errorf("then it is quiet: the next look is after %s", got)
	}
}

func TestPaceWaitsForTwoLooksThatAgree(t *testing.T) {
	p := newPace()
	p.looked(at(0), false)
	p.poked = true
	if got := p.next(at(1000), time.Minute); got != 0 {
		t.Errorf("a first event must be looked at at once, not after %s", got)
	}
	for ms := 1000; ms <= 2200; ms += 300 {
		if p.looked(at(ms), true) {
			t.Fatalf("told at %d ms, while files change", ms)
		}
		if got := p.next(at(ms), time.Minute); got != 300*time.Millisecond {
			t.Fatalf("the next look after %s", got)
		}
	}
	if !p.looked(at(2500), false) {
		t.Error("at rest, and not told")
	}
	if p.looked(at(2800), false) {
		t.Error("told twice")
	}
}

func TestPaceTellsOfFilesThatNeverRest(t *testing.T) {
	p := newPace()
	p.looked(at(0), false)
	told := 0
	for ms := 300; ms <= 20000; ms += 300 {
		if p.looked(at(ms), true) {
			told++
		}
	}
	if told != 3 {
		t.Errorf("told %d times in 20 s; every 5 s is meant", told)
	}
	if !p.looked(at(20300), false) {
		t.Error("what came to rest in the end was not told")
	}
}

func TestPaceComesBackWhenAsked(t *testing.T) {
	p := newPace()
	p.looked(at(0), false)
	p.again(at(0), time.Second)
	if got := p.next(at(0), time.Minute); got != time.Second {
		t.Errorf("asked for a second: %s", got)
	}
	if p.looked(at(500), false) {
		t.Error("too early")
	}
	if !p.looked(at(1000), false) {
		t.Error("not told again")
	}
	p.again(at(1000), 0)
	if p.looked(at(9000), false) {
		t.Error("told without being asked")
	}
	p.again(at(9000), time.Second)
	p.looked(at(10500), true)
	if got := p.next(at(10500), time.Minute); got != 300*time.Millisecond {
		t.Errorf("what is due with files on the move must not hurry: %s", got)
	}
}

// Whatever happens: every change is reported in the end, scans are never closer
// than a third of the quiet span, and an unreported state is not at rest.
func TestPaceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPace()
		now, dirty := at(0), true
		var last time.Time
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			p.poked = rapid.Bool().Draw(t, "poked")
			wait := p.next(now, 30*time.Second)
			if wait < 0 || wait > 30*time.Second {
				t.Fatalf("wait %s", wait)
			}
			now = now.Add(wait)
			if !last.IsZero() && now.Before(last.Add(100*time.Millisecond)) {
				t.Fatalf("a look at %s, and another at %s", last, now)
			}
			last = now
			changed := rapid.Bool().Draw(t, "changed")
			dirty = dirty || changed
			told := p.looked(now, changed)
			if !changed && dirty && !told {
				t.Fatal("at rest and not told")
			}
			if told {
				dirty = changed
				p.again(now, time.Duration(rapid.IntRange(0, 3000).Draw(t, "again"))*time.Millisecond)
				if rapid.Bool().Draw(t, "long") {
					now = now.Add(time.Duration(rapid.IntRange(0, 60000).Draw(t, "took")) * time.Millisecond)
				}
			}
		}
	})
}
