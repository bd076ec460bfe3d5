package cpusched

import (
	"os"
	"time"
)

// An OSProcess is a Process of the operating system. On other systems than Linux its
// methods do nothing.
type OSProcess struct {
	process   *os.Process
	idleClass bool
	cpuTime   func() time.Duration
}

// NewOSProcess returns the Process of a started child. idleClass is the result of
// CanUseIdleClass.
func NewOSProcess(p *os.Process, idleClass bool) *OSProcess {
	return &OSProcess{process: p, idleClass: idleClass, cpuTime: CPUTimeOf(p.Pid)}
}

// CPUTime implements Process; 0 when the process has ended.
func (p *OSProcess) CPUTime() time.Duration { return p.cpuTime() }
