package cpusched

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A thread that wakes up interrupts a computing one at once if its own time slice is
// the shorter of the two; else it waits for the kernel's next tick, milliseconds
// later. Kernels before 6.12 accept a slice and ignore it. The shares of the cores
// stay the same: a longer slice would only be owed to a task after its pause.
//
// A slice gives a thread its core, and for one slice only. The idle class does more: its threads run only
// where no other thread wants the core. A thread that never gets a core there
// looks like one that does not compute, and comes out again. Where the idle class can
// be used no thread gets a short slice: with them 16 concurrent callers take the cores from
// each other so often that each call needs a tenth more CPU time.
const (
	shortSlice = 100 * time.Microsecond
	usualSlice = 0
)

// setPriority sets the priority of all threads of a process, and of those that they
// create. Where the kernel refuses, scheduling is less even and everything else works.
func setPriority(pid int, p Priority, idleClass bool) {
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return // the process has ended
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			_ = setThread(tid, p, idleClass)
		}
	}
}

// setThread sets the priority of one thread, unless somebody else gave it a policy.
// idleClass says that the idle class may be used, so a thread in it got there by us.
func setThread(tid int, p Priority, idleClass bool) error {
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL && !(idleClass && attr.Policy == unix.SCHED_IDLE) {
		return err
	}
	attr.Policy, attr.Runtime = unix.SCHED_NORMAL, usualSlice
	switch {
	case p == Normal && !idleClass:
		attr.Runtime = uint64(shortSlice)
	case p == Idle && idleClass:
		attr.Policy = unix.SCHED_IDLE
	}
	return unix.SchedSetAttr(tid, attr, 0)
}

// CanUseIdleClass reports whether threads can be put into the idle class and taken
// out again. That needs privileges, or an RLIMIT_NICE that allows a nice value of 0.
// It tries with a thread of its own, which ends if it cannot come back.
func CanUseIdleClass() bool {
	can := make(chan bool)
	go tryIdleClass(can)
	return <-can
}

func tryIdleClass(can chan<- bool) {
	runtime.LockOSThread()
	self := unix.Gettid()
	if self == os.Getpid() { // the main thread cannot be thrown away: use another one
		other := make(chan bool)
		go tryIdleClass(other)
		can <- <-other
		runtime.UnlockOSThread()
		return
	}
	before, err := unix.SchedGetAttr(self, 0)
	if err != nil || before.Policy != unix.SCHED_NORMAL {
		runtime.UnlockOSThread()
		can <- false // whoever started this program has chosen a policy
		return
	}
	err = setThread(self, Idle, true)
	if err == nil {
		err = unix.SchedSetAttr(self, before, 0)
	}
	if err == nil {
		runtime.UnlockOSThread()
	}
	can <- err == nil
}

// UseShortSlices asks for the shortest time slices for this process, where the idle
// class cannot be used.
func UseShortSlices() { setPriority(os.Getpid(), Normal, false) }

// RunPreemptible runs f, which computes for long in this process: threads that wake
// up interrupt it. Without UseShortSlices it only calls f.
func RunPreemptible(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr, err := unix.SchedGetAttr(unix.Gettid(), 0)
	if err == nil && time.Duration(attr.Runtime) == shortSlice {
		_ = setThread(unix.Gettid(), Preemptible, false)
		defer func() { _ = setThread(unix.Gettid(), Normal, false) }()
	}
	f()
}

// SetPriority implements Process. A thread that is created meanwhile may be missed,
// so Normal is set twice: no thread is left in the idle class.
func (p *OSProcess) SetPriority(to Priority) {
	setPriority(p.process.Pid, to, p.idleClass)
	if to == Normal && p.idleClass {
		setPriority(p.process.Pid, to, p.idleClass)
	}
}
