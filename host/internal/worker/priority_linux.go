package worker

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lowerBy is by how much the nice value of a thread grows. It leaves the thread a tenth of a
// core beside one that wants all of it: with the kernel's idle class, or the largest value,
// a guest would miss its deadline on a busy machine.
const lowerBy = 10

// hasThread reports whether a thread belongs to the child.
func (w *process) hasThread(id int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", w.cmd.Process.Pid, id))
	return id > 0 && err == nil
}

// lowerThread lowers the priority of one thread of the child, for good.
func (w *process) lowerThread(id int) {
	if own, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil { // 20 minus the nice value
		_ = unix.Setpriority(unix.PRIO_PROCESS, id, min(20-own+lowerBy, 19)) // an error means that it has ended
	}
}

// lower lowers the priority of all threads of the child, and of those that they create.
func (w *process) lower() {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", w.cmd.Process.Pid)) // none: it has ended
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			w.lowerThread(id)
		}
	}
}

// cpuTime returns the CPU time that the child has used; 0 when it has ended.
func (w *process) cpuTime() time.Duration { return cpuTimeOf(w.cmd.Process.Pid) }

func cpuTimeOf(pid int) time.Duration {
	const allThreads, scheduled = ^0, 2 // the kernel's encoding of a process clock
	var at unix.Timespec
	if err := unix.ClockGettime(int32((allThreads^pid)<<3|scheduled), &at); err != nil {
		return 0
	}
	return time.Duration(at.Nano())
}

// threadID returns the number of the calling thread.
func threadID() int { return unix.Gettid() }
