// Package testtime is what tests do with time: they wait for a condition, or let the time of
// a bubble of testing/synctest pass. A test that sleeps instead depends on what else the
// machine does; waits_test.go in the root of the repository counts those that do.
package testtime

import (
	"testing"
	"time"
)

// patience is how long a test waits for what is to happen. It is there for a test that
// fails, and long enough for a machine with thirty times as much to do.
const patience = 3 * time.Minute

// Until waits until ok holds. The test fails, naming what it waited for, if that takes
// three minutes.
func Until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	if !Comes(ok) {
		tb.Fatalf("waited for this, and it did not come: %s", what)
	}
}

// Comes waits until ok holds, and reports whether it did within three minutes. It is for
// processes that a test starts and goroutines that may not end it; tests call Until.
func Comes(ok func() bool) bool {
	pause := time.Millisecond
	for end := time.Now().Add(patience); !ok(); pause = min(2*pause, 10*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Sleep lets time pass in a bubble of testing/synctest, where it passes at once when all
// goroutines wait. It panics outside of a bubble.
func Sleep(d time.Duration) {
	inBubble()
	time.Sleep(d)
}

// Since returns the time that has passed in a bubble of testing/synctest, which is exact.
// It panics outside of a bubble.
func Since(began time.Time) time.Duration {
	inBubble()
	return time.Since(began)
}

// inBubble panics unless the clock is that of a bubble, which begins with the year 2000.
func inBubble() {
	if time.Now().Year() > 2020 {
		panic("testtime: this is the machine's time, not that of a bubble of testing/synctest")
	}
}
