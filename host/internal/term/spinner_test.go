package term

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/internal/testtime"
)

// A Spinner counts whole seconds from the moment in which it showed something, also when the
// text changes; after it has shown nothing, from the beginning.
func TestSpinnerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		var mu sync.Mutex
		s := NewSpinner(&screen, func() int { return 80 }, &mu)
		shows := func(set, want string, after time.Duration) {
			t.Helper()
			testtime.Sleep(after)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if set != "-" {
				s.Set(set)
			}
			if got := screen.String(); got != want {
				t.Errorf("the terminal receives %q, want %q", got, want)
			}
			screen.Reset()
		}
		const begin, end = "\r\x1b[K\x1b[2m⋯ ", "\x1b[0m"
		shows("-", "", 1700*time.Millisecond)
		shows("one", begin+"one"+end, 0)
		shows("-", begin+"one"+end, 900*time.Millisecond) // a tick comes within the first second
		shows("-", begin+"one · 1.0 s"+end, time.Second)
		shows("two", begin+"two · 2.0 s"+end, 200*time.Millisecond)
		shows("", "\r\x1b[K", 0)
		shows("three", begin+"three"+end, 0)
		shows("-", begin+"three"+end, time.Second)
		shows("-", begin+"three · 1.0 s"+end, time.Second)
		s.Close()
		shows("-", "\r\x1b[K", 5*time.Second)
	})
}
