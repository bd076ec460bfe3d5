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
//
// That gets a thread its core, and not for longer than its slice. The kernel's idle
// class would: whoever is in it computes only where nobody else wants to. But it may
// come to nothing there for hours, and getting out again takes privileges. So it is
// for who computes for long while short calls come, if we may take it back; and who
// gets nothing there is taken for somebody who does not compute, and comes out. Where
// it is to be had nobody asks for short slices: with them many callers at once take
// each other's core away so often that a call takes a tenth more of it.
const (
	shortSlice = 100 * time.Microsecond
	usualSlice = 0
)

// setManners sets those of all threads of a process, and of all that these will make.
// Where the kernel does not let us, everything goes on, only less evenly. mayHumble
// says that humble can be had, and that a thread in the idle class got there by it.
func setManners(pid int, m manners, mayHumble bool) {
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return // it has ended
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			_ = setThread(tid, m, mayHumble)
		}
	}
}

// setThread sets those of one thread, unless somebody gave it a policy of its own.
func setThread(tid int, m manners, mayHumble bool) error {
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL && !(mayHumble && attr.Policy == unix.SCHED_IDLE) {
		return err
	}
	attr.Policy, attr.Runtime = unix.SCHED_NORMAL, usualSlice
	switch {
	case m == prompt && !mayHumble:
		attr.Runtime = uint64(shortSlice)
	case m == humble && mayHumble:
		attr.Policy = unix.SCHED_IDLE
	}
	return unix.SchedSetAttr(tid, attr, 0)
}

// mayBeHumble reports whether threads can be made humble and be brought back, for
// which a process needs to be privileged, or to be allowed a nice value of 0 by its
// RLIMIT_NICE. It finds out with a thread that is thrown away if it cannot.
func mayBeHumble() bool {
	can := make(chan bool)
	go tryHumble(can)
	return <-can
}

func tryHumble(can chan<- bool) {
	runtime.LockOSThread()
	self := unix.Gettid()
	if self == os.Getpid() { // the first thread is never thrown away: take another one
		other := make(chan bool)
		go tryHumble(other)
		can <- <-other
		runtime.UnlockOSThread()
		return
	}
	before, err := unix.SchedGetAttr(self, 0)
	if err != nil || before.Policy != unix.SCHED_NORMAL {
		runtime.UnlockOSThread()
		can <- false // whoever started us has chosen
		return
	}
	err = setThread(self, humble, true)
	if err == nil {
		err = unix.SchedSetAttr(self, before, 0)
	}
	if err == nil {
		runtime.UnlockOSThread()
	}
	can <- err == nil
}

// wakeAtOnce asks for the shortest slices for this process.
func wakeAtOnce() { setManners(os.Getpid(), prompt, false) }

// Unhurried runs f, which computes for long, so that whoever wakes in this process
// interrupts it. Without a Pool in this process it just runs f.
func Unhurried(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr, err := unix.SchedGetAttr(unix.Gettid(), 0)
	if err == nil && time.Duration(attr.Runtime) == shortSlice {
		_ = setThread(unix.Gettid(), polite, false)
		defer func() { _ = setThread(unix.Gettid(), prompt, false) }()
	}
	f()
}

// yields implements computer. A thread that another one makes while this goes on may
// miss it, so none is left in the idle class by a second look.
func (w *process) yields(to manners) {
	setManners(w.cmd.Process.Pid, to, w.mayHumble)
	if to == prompt && w.mayHumble {
		setManners(w.cmd.Process.Pid, to, w.mayHumble)
	}
}
