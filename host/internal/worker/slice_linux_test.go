package worker

import (
	"errors"
	"os/exec"
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
	defer func() { _ = setThread(unix.Gettid(), polite, false) }()
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

// A worker's threads get into the idle class and out of it where that is allowed, and
// stay where somebody else put them where it is not.
func TestManners(t *testing.T) {
	w := &process{cmd: exec.Command("cat")}
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(in.Close(), w.cmd.Wait()) }()
	policy := func() uint32 {
		a, err := unix.SchedGetAttr(w.cmd.Process.Pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a.Policy
	}
	before := policy()
	if w.yields(humble); policy() != before {
		t.Error("it is humble and may not be")
	}
	if w.mayHumble = mayBeHumble(); w.mayHumble {
		for _, m := range []manners{humble, polite, humble, prompt} {
			if w.yields(m); (policy() == unix.SCHED_IDLE) != (m == humble) {
				t.Errorf("manners %d made it policy %d", m, policy())
			}
			if a, err := unix.SchedGetAttr(w.cmd.Process.Pid, 0); err != nil || time.Duration(a.Runtime) == shortSlice {
				t.Errorf("manners %d gave it the short slice that nobody needs beside humble ones, %v", m, err)
			}
		}
	}
	if a, err := unix.SchedGetAttr(w.cmd.Process.Pid, 0); err != nil || unix.SchedSetAttr(w.cmd.Process.Pid, &unix.SchedAttr{Size: a.Size, Policy: unix.SCHED_IDLE}, 0) != nil {
		t.Fatal(err)
	}
	w.mayHumble = false
	if w.yields(prompt); policy() != unix.SCHED_IDLE {
		t.Error("what somebody else chose was changed")
	}
}
