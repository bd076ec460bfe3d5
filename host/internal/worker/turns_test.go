package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// A fake is a computer that takes a part of the time that it is given.
type fake struct {
	part  float64 // 1: all of it
	off   bool
	now   manners
	since time.Time
	used  time.Duration
}

func newFake(part float64) *fake { return &fake{part: part, since: time.Now()} }

func (f *fake) cpu() time.Duration {
	if !f.off {
		f.used += time.Duration(f.part * float64(time.Since(f.since)))
		f.since = time.Now()
	}
	return f.used
}

func (f *fake) pause()            { f.cpu(); f.off = true }
func (f *fake) resume()           { f.cpu(); f.off, f.since = false, time.Now() }
func (f *fake) yields(to manners) { f.now = to }

func noTime() time.Duration { return 0 }

// using sums up what fakes have used.
func (t *turns) using(fakes ...*fake) (sum time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range fakes {
		sum += f.cpu()
	}
	return sum
}

// computing counts those that run now.
func (t *turns) computing(fakes ...*fake) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range fakes {
		if !f.off {
			n++
		}
	}
	return n
}

// shortCalls makes one short call after the other until the test's time is up,
// and returns in how many of them somebody computed, and how many there were.
func shortCalls(t *turns, end time.Time, think, take time.Duration, fakes ...*fake) (disturbed, all int) {
	for time.Now().Before(end) {
		t.enter()
		time.Sleep(take / 2)
		if t.computing(fakes...) > 0 {
			disturbed++
		}
		time.Sleep(take / 2)
		t.leave()
		all++
		time.Sleep(think)
	}
	return disturbed, all
}

func TestTurnsGoRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2, noTime)
		var fakes []*fake
		var tasks []*task
		for _, plugin := range []string{"p", "p", "p", "q"} {
			fakes = append(fakes, newFake(1))
			tasks = append(tasks, turns.join(plugin, fakes[len(fakes)-1], true))
		}
		if n := turns.computing(fakes...); n != 2 {
			t.Errorf("%d compute at once on 2 cores", n)
		}
		time.Sleep(4 * time.Second)
		if sum := turns.using(fakes...); sum != 8*time.Second {
			t.Errorf("%s of 8 s were used: nobody needed a core for itself", sum)
		}
		for i, share := range []time.Duration{4 * time.Second / 3, 4 * time.Second / 3, 4 * time.Second / 3, 4 * time.Second} {
			if used := turns.using(fakes[i]); used < share-2*turnTime || used > share+2*turnTime {
				t.Errorf("task %d has used %s, and its share is %s", i, used, share)
			}
		}
		for i, k := range tasks {
			if turns.done(k); turns.computing(fakes[i]) != 1 {
				t.Errorf("task %d is left paused", i)
			}
		}
		if len(turns.tasks) != 0 || len(turns.last) != 0 {
			t.Error("something is left")
		}
	})
}

func TestShortCallsHaveTheCores(t *testing.T) {
	for _, row := range []struct {
		what        string
		think, take time.Duration
		disturbed   float64       // of the short calls, at most
		least       time.Duration // that others have had in 10 s
	}{
		{"a caller that thinks", 5 * time.Millisecond, 300 * time.Microsecond, 0, 8 * time.Second},
		{"one that does not", 0, 300 * time.Microsecond, 0.6, 4 * time.Second},
	} {
		t.Run(row.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := newTurns(2, noTime)
				fakes := []*fake{newFake(1), newFake(1), newFake(1)}
				for _, f := range fakes {
					defer turns.done(turns.join("p", f, true))
				}
				disturbed, all := shortCalls(turns, time.Now().Add(10*time.Second), row.think, row.take, fakes...)
				if part := float64(disturbed) / float64(all); part > row.disturbed {
					t.Errorf("others computed during %d of %d short calls", disturbed, all)
				}
				if used := turns.using(fakes...); used < row.least || used > 10*time.Second+turnTime {
					t.Errorf("they have had %s of 20 s, with one core to be kept free", used)
				}
				for _, f := range fakes {
					if used := turns.using(f); used < row.least/4 {
						t.Errorf("one of three has had %s", used)
					}
				}
				time.Sleep(time.Second)
				if n := turns.computing(fakes...); n != 2 {
					t.Errorf("%d compute on 2 cores once no short calls come", n)
				}
			})
		})
	}
}

// Where there are cores enough nobody is held up.
func TestManyCores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(8, noTime)
		var fakes []*fake
		for range 5 {
			fakes = append(fakes, newFake(1))
			defer turns.done(turns.join("p", fakes[len(fakes)-1], true))
		}
		shortCalls(turns, time.Now().Add(time.Second), time.Millisecond, time.Millisecond, fakes...)
		if used := turns.using(fakes...); used != 5*time.Second {
			t.Errorf("five had %s of five seconds", used)
		}
		for range 5 {
			fakes = append(fakes, newFake(1))
			defer turns.done(turns.join("q", fakes[len(fakes)-1], true))
		}
		turns.enter()
		turns.enter()
		if n := turns.computing(fakes...); n != 5 {
			t.Errorf("%d compute beside two short calls on eight cores", n)
		}
		turns.leave()
		turns.leave()
	})
}

// What the host itself computes takes cores too. Others get half of the time of
// the last one at least.
func TestTheHostTakesCoresToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		turns := newTurns(2, func() time.Duration { return time.Since(began) })
		bomb := newFake(1)
		defer turns.done(turns.join("bomb", bomb, true))
		time.Sleep(time.Second)
		if used := turns.using(bomb); used != time.Second {
			t.Errorf("beside a busy host and nobody else it had %s of a second", used)
		}
		disturbed, all := shortCalls(turns, time.Now().Add(10*time.Second), 5*time.Millisecond, time.Millisecond/2, bomb)
		if used := turns.using(bomb) - time.Second; disturbed != 0 || used < 3*time.Second || used > 6*time.Second {
			t.Errorf("with short calls it had %s of 10 s, in %d of %d of them", used, disturbed, all)
		}
	})
}

// Who waits for something else is not held up, and what it was taken for before
// is forgotten.
func TestWhoWaitsNeedsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, noTime)
		busy, sleepy := newFake(1), newFake(0.01)
		one := turns.join("busy", busy, true)
		defer turns.done(one)
		turns.enter()
		other := turns.grow("sleepy", sleepy)
		defer turns.done(other)
		time.Sleep(time.Second)
		if used := turns.using(busy); used != time.Second {
			t.Errorf("beside one that sleeps the other had %s of a second", used)
		}
		if used := turns.using(sleepy); used < 9*time.Millisecond {
			t.Errorf("the one that sleeps had %s", used)
		}
		sleepy.part = 1
		turns.renew(other)
		time.Sleep(time.Second)
		if used := turns.using(sleepy); used < 400*time.Millisecond || used > 700*time.Millisecond {
			t.Errorf("awake it has had %s of a second for two", used)
		}
		if !other.proved || !one.proved {
			t.Error("they were not seen to be hungry")
		}
	})
}

func TestAStartWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, noTime)
		bomb := newFake(1)
		defer turns.done(turns.join("bomb", bomb, true))
		time.Sleep(turnTime / 2)
		began := time.Now()
		k, err := turns.wait(t.Context(), "honest", nil)
		if took := time.Since(began); err != nil || took > turnTime {
			t.Errorf("a start waited for %s, %v", took, err)
		}
		if turns.computing(bomb) != 0 {
			t.Error("two compute on one core")
		}
		time.Sleep(2 * turnTime) // it takes long to start, and its turn is over
		worker := newFake(1)
		turns.bind(k, worker)
		if turns.computing(worker, bomb) != 1 {
			t.Error("two compute on one core")
		}
		time.Sleep(10 * turnTime)
		if a, b := turns.using(worker), turns.using(bomb); a < 4*turnTime || b < 4*turnTime {
			t.Errorf("they have had %s and %s", a, b)
		}
		turns.done(k)

		defer turns.done(turns.join("another", newFake(1), true))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := turns.wait(ctx, "bomb", nil); err != context.Canceled {
			t.Errorf("%v", err)
		}
		if len(turns.tasks) != 2 {
			t.Errorf("%d tasks, and two are left", len(turns.tasks))
		}
	})
}

// What nobody waits for comes after all that computes, until somebody does.
func TestAPatientStartComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, noTime)
		patient := new(atomic.Bool)
		start := func() <-chan *task {
			patient.Store(true)
			had := make(chan *task, 1)
			go func() {
				if k, err := turns.wait(t.Context(), "new", patient); err == nil {
					had <- k
				}
			}()
			return had
		}
		other := turns.join("busy", newFake(1), true)
		had := start()
		time.Sleep(10 * turnTime)
		if len(had) > 0 {
			t.Error("it has had a turn before one that somebody waits for")
		}
		patient.Store(false)
		turns.look()
		time.Sleep(2 * turnTime)
		if len(had) == 0 {
			t.Fatal("it has had no turn since somebody waits for it")
		}
		turns.done(<-had)

		had = start()
		time.Sleep(turnTime)
		turns.done(other)
		synctest.Wait()
		if len(had) == 0 {
			t.Fatal("it has had no turn with nobody else there")
		}
		turns.done(<-had)
	})
}

// Whatever comes and goes: never more compute than there are cores, no core is
// left alone without need, and everybody gets on.
func TestTurnsLaws(t *testing.T) {
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
			turns := newTurns(cores, noTime)
			var fakes []*fake
			var tasks []*task
			var shorts atomic.Int32
			for _, s := range steps {
				switch n := len(tasks); {
				case s.what < 2:
					fakes = append(fakes, newFake(1))
					tasks = append(tasks, turns.join([]string{"p", "q", "r"}[s.plugin], fakes[n], true))
				case s.what == 2 && n > 0:
					i := s.which % n
					if turns.done(tasks[i]); turns.computing(fakes[i]) != 1 {
						wrong = append(wrong, "what is done is left paused")
					}
					tasks, fakes = append(tasks[:i], tasks[i+1:]...), append(fakes[:i], fakes[i+1:]...)
				case s.what == 3:
					turns.enter()
					shorts.Add(1)
					time.AfterFunc(s.take, func() {
						turns.leave()
						shorts.Add(-1)
					})
				}
				time.Sleep(s.wait)
				n, want := turns.computing(fakes...), min(len(fakes), cores)
				if n > want || n < want && shorts.Load() == 0 && time.Since(turns.short) > freshTime+restedTime {
					wrong = append(wrong, fmt.Sprintf("%d of %d compute on %d cores, beside %d short calls", n, len(fakes), cores, shorts.Load()))
				}
			}
			for i, f := range fakes {
				before := turns.using(f)
				time.Sleep(2 * turnTime * time.Duration(len(fakes)+1))
				if turns.using(f) == before {
					wrong = append(wrong, fmt.Sprintf("task %d of %d got nothing", i, len(fakes)))
				}
			}
			for _, k := range tasks {
				turns.done(k)
			}
			synctest.Wait()
		})
		if len(wrong) > 0 {
			rt.Fatal(wrong)
		}
	})
}

// Others interrupt who starts and who computes, and nobody else; while short calls
// come these give way to all others.
func TestWhoYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(4, noTime)
		looks := func(what string, f *fake, want manners) {
			t.Helper()
			turns.mu.Lock()
			defer turns.mu.Unlock()
			if f.now != want {
				t.Errorf("%s has manners %d, not %d", what, f.now, want)
			}
		}
		started, err := turns.wait(t.Context(), "starts", nil)
		if err != nil {
			t.Fatal(err)
		}
		worker := newFake(1)
		turns.bind(started, worker)
		looks("one that starts", worker, polite)
		turns.renew(started)
		time.Sleep(2 * restedTime)
		looks("one that computes", worker, polite)
		idle := newFake(0)
		waits := turns.join("waits", idle, false)
		time.Sleep(2 * restedTime)
		looks("one that waits", idle, prompt)
		known := newFake(1)
		hungry := turns.join("known", known, true)
		looks("one that is known to compute", known, polite)

		shortCalls(turns, time.Now().Add(2*restedTime), time.Millisecond, time.Millisecond)
		looks("one that computes beside short calls", worker, humble)
		looks("another one", known, humble)
		looks("one that waits beside them", idle, prompt)
		late := newFake(1)
		joined := turns.join("late", late, true)
		looks("one that comes then", late, humble)
		time.Sleep(freshTime + 2*restedTime)
		looks("one that computes when none came for a while", worker, polite)
		for k, f := range map[*task]*fake{started: worker, waits: idle, hungry: known, joined: late} {
			turns.done(k)
			looks("one that is done", f, prompt)
		}
	})
}

// Who gives way to all others and gets no core for it is taken for somebody who does
// not compute, gives way no more, and so gets on.
func TestNobodyStarvesOfManners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2, noTime)
		worker := newFake(1)
		task := turns.join("p", worker, true)
		defer turns.done(task)
		others := func() { // take all cores whenever they can
			turns.mu.Lock()
			defer turns.mu.Unlock()
			worker.cpu()
			if worker.part = 0.5; worker.now == humble {
				worker.part = 0
			}
		}
		for range 1000 {
			turns.enter()
			time.Sleep(time.Millisecond / 2)
			turns.leave()
			others()
			time.Sleep(time.Millisecond / 2)
		}
		if used := turns.using(worker); used < 50*time.Millisecond {
			t.Errorf("it has had %s of a second", used)
		}
	})
}
