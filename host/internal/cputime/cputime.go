// Package cputime tells benchmarks what other processes take.
package cputime

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Of is the time on a processor of a process and its children that live, those of
// threads that have ended left out; 0 where the system does not tell. It reads the
// kernel's schedstat, which is exact; its stat counts ticks.
func Of(pid int) (sum time.Duration) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	parent := strconv.Itoa(pid)
	for _, name := range stats {
		b, err := os.ReadFile(name)
		_, rest, ok := strings.Cut(string(b), ") ") // the name in front of it may hold anything
		if f := strings.Fields(rest); err == nil && ok && len(f) > 1 && (f[1] == parent || name == "/proc/"+parent+"/stat") {
			sum += threads(filepath.Dir(name))
		}
	}
	return sum
}

// threads is the time of the threads of one process.
func threads(proc string) (sum time.Duration) {
	names, err := filepath.Glob(filepath.Join(proc, "task/*/schedstat"))
	if err != nil {
		return 0
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		ran, _, _ := strings.Cut(string(b), " ")
		if n, err := strconv.ParseInt(ran, 10, 64); err == nil {
			sum += time.Duration(n)
		}
	}
	return sum
}
