//go:build !linux

package cpusched

import "time"

// Pause implements Process.
func (*OSProcess) Pause() {}

// Resume implements Process.
func (*OSProcess) Resume() {}

// SetPriority implements Process.
func (*OSProcess) SetPriority(Priority) {}

// CPUTimeOf returns a function that returns 0: this system has no workers.
func CPUTimeOf(int) func() time.Duration { return func() time.Duration { return 0 } }

// CanUseIdleClass reports false: this system has no idle class.
func CanUseIdleClass() bool { return false }

// UseShortSlices does nothing on this system.
func UseShortSlices() {}

// RunPreemptible calls f.
func RunPreemptible(f func()) { f() }
