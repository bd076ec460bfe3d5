package worker

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A thread that wakes interrupts one that computes at once when its own slice is
// the shorter one; else it waits until that one's slice is over, for which the
// kernel looks at its next tick, milliseconds later. So this process and the workers
// that wait for calls ask for the shortest slices that there are, and who computes
// for long has those that everybody has: longer ones would be owed to it after a
// pause. The shares of the cores stay the same. Kernels before 6.12 take the wish
// and do nothing.
const (
	shortSlice = 100 * time.Microsecond
	usualSlice = 0
)

// setSlices sets those of all threads of a process, and of all that these will
// make. Where the kernel does not let us, everything goes on, only less evenly.
func setSlices(pid int, of time.Duration) {
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return // it has ended
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			setSlice(tid, of)
		}
	}
}

// setSlice sets that of one thread, unless somebody gave it a policy of its own.
func setSlice(tid int, of time.Duration) {
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return
	}
	attr.Runtime = uint64(of)
	_ = unix.SchedSetAttr(tid, attr, 0)
}

// wakeAtOnce asks for the shortest slices for this process.
func wakeAtOnce() { setSlices(os.Getpid(), shortSlice) }

// Unhurried runs f, which computes for long, so that whoever wakes in this process
// interrupts it. Without a Pool in this process it just runs f.
func Unhurried(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr, err := unix.SchedGetAttr(unix.Gettid(), 0)
	if err == nil && time.Duration(attr.Runtime) == shortSlice {
		setSlice(unix.Gettid(), usualSlice)
		defer setSlice(unix.Gettid(), shortSlice)
	}
	f()
}

// yields implements computer.
func (w *process) yields(to bool) {
	of := shortSlice
	if to {
		of = usualSlice
	}
	setSlices(w.cmd.Process.Pid, of)
}
