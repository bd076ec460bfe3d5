package soak

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/weirhost/weir/internal/testtime"
)

// resources are what a process must not lose.
type resources struct {
	memory      uint64 // bytes that are in use
	goroutines  int
	descriptors int
}

// Between two looks the number of waiting workers may differ, each with its
// pipes and those who wait for it, and the heap is never quite the same; what
// leaks with the calls passes these bounds soon.
const (
	moreMemory = 64 << 20
	moreThings = 100
)

func look(t *testing.T) resources {
	t.Helper()
	debug.FreeOSMemory()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib uint64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	r := resources{memory: kib << 10, goroutines: runtime.NumGoroutine(), descriptors: len(entries)}
	t.Logf("%d MiB resident, %d goroutines, %d descriptors", r.memory>>20, r.goroutines, r.descriptors)
	return r
}

// grown complains about what is more than it was.
func (r resources) grown(t *testing.T, now resources) {
	t.Helper()
	if now.memory > r.memory+r.memory/4+moreMemory {
		t.Errorf("%d MiB are resident, and %d were", now.memory>>20, r.memory>>20)
	}
	if now.goroutines > r.goroutines+moreThings {
		t.Errorf("%d goroutines, and there were %d", now.goroutines, r.goroutines)
	}
	if now.descriptors > r.descriptors+moreThings {
		t.Errorf("%d descriptors, and there were %d", now.descriptors, r.descriptors)
	}
}

// left waits until everything is closed is as if nothing had been.
func (r resources) left(t *testing.T) {
	t.Helper()
	var now resources
	gone := testtime.Comes(func() bool {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		now = resources{goroutines: runtime.NumGoroutine(), descriptors: len(entries)}
		return now.goroutines <= r.goroutines && now.descriptors <= r.descriptors
	})
	if gone {
		return
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines and %d descriptors are left, and there were %d and %d\n%s", now.goroutines, now.descriptors, r.goroutines, r.descriptors, stacks[:runtime.Stack(stacks, true)])
}
