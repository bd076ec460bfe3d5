package worker

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A slice is changed and nothing else, and who works on a long text has the usual
// one for that time. A kernel that knows no slices says 0 for each.
func TestSlices(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() unix.SchedAttr {
		a, err := unix.SchedGetAttr(unix.Gettid(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return *a
	}
	before := now()
	defer setSlice(unix.Gettid(), usualSlice)
	wakeAtOnce()
	short := now()
	if short.Policy != before.Policy || short.Nice != before.Nice {
		t.Errorf("%+v became %+v", before, short)
	}
	if short.Runtime != 0 && time.Duration(short.Runtime) != shortSlice {
		t.Errorf("a slice of %s", time.Duration(short.Runtime))
	}
	ran := false
	Unhurried(func() {
		ran = true
		if usual := now(); short.Runtime != 0 && usual.Runtime <= short.Runtime {
			t.Errorf("%s and %s", time.Duration(usual.Runtime), time.Duration(short.Runtime))
		}
	})
	if !ran || now() != short {
		t.Errorf("%t, %+v became %+v", ran, short, now())
	}
}
