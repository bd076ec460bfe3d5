// Package cputime measures the CPU time of other processes, for benchmarks.
package cputime

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Of returns the CPU time of a process and its live children, without threads that
// have ended; 0 if the system does not report it. It reads the kernel's schedstat,
// which is exact; stat counts ticks.
func Of(pid int) (sum time.Duration) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	parent := strconv.Itoa(pid)
	for _, name := range stats {
		b, err := os.ReadFile(name)
		_, rest, ok := strings.Cut(string(b), ") ") // the name before it may contain anything
		if f := strings.Fields(rest); err == nil && ok && len(f) > 1 && (f[1] == parent || name == "/proc/"+parent+"/stat") {
			sum += threads(filepath.Dir(name))
		}
	}
	return sum
}

// threads returns the CPU time of the threads of one process.
func threads(proc string) (sum time.Duration) {
	names, err := filepath.Glob(filepath.Join(proc, "task/*/schedstat"))
	if err != nil {
		return 0
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		ran, _, _ := strings.Cut(string(b), " ")
		if n, err := strconv.ParseInt(ran, 10, 64); err == nil {
			sum += time.Duration(n)
		}
	}
	return sum
}
