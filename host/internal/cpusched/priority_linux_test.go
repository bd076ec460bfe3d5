package cpusched

import (
	"errors"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// UseShortSlices changes the slice only, and RunPreemptible restores the usual slice
// while it runs. A kernel without slices reports 0.
func TestShortSlices(t *testing.T) {
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
	defer func() { _ = setThread(unix.Gettid(), Preemptible, false) }()
	UseShortSlices()
	short := now()
	if short.Policy != before.Policy || short.Nice != before.Nice {
		t.Errorf("%+v became %+v", before, short)
	}
	if short.Runtime != 0 && time.Duration(short.Runtime) != shortSlice {
		t.Errorf("a slice of %s", time.Duration(short.Runtime))
	}
	ran := false
	RunPreemptible(func() {
		ran = true
		if usual := now(); short.Runtime != 0 && usual.Runtime <= short.Runtime {
			t.Errorf("%s and %s", time.Duration(usual.Runtime), time.Duration(short.Runtime))
		}
	})
	if !ran || now() != short {
		t.Errorf("%t, %+v became %+v", ran, short, now())
	}
}

// The threads of a process enter and leave the idle class where that is permitted;
// elsewhere the policy that another program chose stays.
func TestAProcessEntersAndLeavesTheIdleClass(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(in.Close(), cmd.Wait()) }()
	policy := func() uint32 {
		a, err := unix.SchedGetAttr(cmd.Process.Pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a.Policy
	}
	before := policy()
	w := NewOSProcess(cmd.Process, false)
	if w.SetPriority(Idle); policy() != before {
		t.Error("it is in the idle class without permission")
	}
	if w.idleClass = CanUseIdleClass(); w.idleClass {
		for _, m := range []Priority{Idle, Preemptible, Idle, Normal} {
			if w.SetPriority(m); (policy() == unix.SCHED_IDLE) != (m == Idle) {
				t.Errorf("priority %d made it policy %d", m, policy())
			}
			if a, err := unix.SchedGetAttr(cmd.Process.Pid, 0); err != nil || time.Duration(a.Runtime) == shortSlice {
				t.Errorf("priority %d gave it a short slice beside the idle class, %v", m, err)
			}
		}
	}
	if a, err := unix.SchedGetAttr(cmd.Process.Pid, 0); err != nil || unix.SchedSetAttr(cmd.Process.Pid, &unix.SchedAttr{Size: a.Size, Policy: unix.SCHED_IDLE}, 0) != nil {
		t.Fatal(err)
	}
	w.idleClass = false
	if w.SetPriority(Normal); policy() != unix.SCHED_IDLE {
		t.Error("a policy that another program chose was changed")
	}
}
