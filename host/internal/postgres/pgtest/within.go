package pgtest

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Within waits until done reports true, for as long as limit says. Time in which programs of
// this machine wait for a processor does not count, up to two minutes.
func Within(t testing.TB, limit time.Duration, done func() bool) {
	t.Helper()
	for began, before := time.Now(), stalled(); !done(); time.Sleep(10 * time.Millisecond) {
		took, waited := time.Since(began), stalled()-before
		if took-waited > limit || took > 2*time.Minute {
			t.Fatalf("it did not happen within %s of %s; programs waited %s", limit, took, waited)
		}
	}
}

// stalled returns how long programs have waited for a processor since the system started; 0
// where the system does not say so: there all time counts.
func stalled() time.Duration {
	text, _ := os.ReadFile("/proc/pressure/cpu") // it may be missing
	some, _, _ := strings.Cut(string(text), "\n")
	_, total, _ := strings.Cut(some, " total=")
	n, _ := strconv.Atoi(total)
	return time.Duration(n) * time.Microsecond
}
