package worker

import (
	"fmt"
	"os"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// measureEvery is how long the weight of a worker is taken for what it was.
const measureEvery = 5 * time.Second

// Weight is how much memory the module takes while no call runs: its bytes in
// this process, and the workers that wait for calls of it.
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

// weigh notes how much memory the child has for itself: not its program, which
// all children share. The pool's mu is held.
func (w *process) measureMemory() {
	now := time.Now()
	if now.Sub(w.measured) < measureEvery {
		return
	}
	w.measured = now
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", w.cmd.Process.Pid))
	if err != nil {
		return // it has ended, or the system does not tell
	}
	var all, resident, shared int64 // in pages
	if _, err := fmt.Sscan(string(text), &all, &resident, &shared); err == nil {
		w.weight = tool.Bytes(max(resident-shared, 0) * int64(os.Getpagesize()))
	}
}
