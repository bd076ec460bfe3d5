package worker

import (
	"fmt"
	"os"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// measureEvery is how long a measured size is used.
const measureEvery = 5 * time.Second

// Weight returns how much memory the module needs while no call runs: its bytes in
// this process, and its idle workers.
func (m *Module) Weight() tool.Bytes {
	sum := tool.Bytes(len(m.plugin.Wasm))
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	for _, i := range m.pool.idle {
		if i.module == m {
			sum += i.w.weight
		}
	}
	return sum
}

// measureMemory measures the child's private memory, without the program that all
// children share. The pool's mu is held.
func (w *process) measureMemory() {
	now := time.Now()
	if now.Sub(w.measured) < measureEvery {
		return
	}
	w.measured = now
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", w.cmd.Process.Pid))
	if err != nil {
		return // it has ended, or the system has no such file
	}
	var all, resident, shared int64 // in pages
	if _, err := fmt.Sscan(string(text), &all, &resident, &shared); err == nil {
		w.weight = tool.Bytes(max(resident-shared, 0) * int64(os.Getpagesize()))
	}
}
