package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// A sample is what one call needs.
type sample struct{ cpu, p50 time.Duration }

func median(of []sample) sample {
	slices.SortFunc(of, func(a, b sample) int { return cmp.Compare(a.cpu, b.cpu) })
	return of[len(of)/2]
}

// middle returns the median of times.
func middle(of []time.Duration) time.Duration {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// measure makes n calls, after a tenth of them for warming.
func measure(n int, cpu func() time.Duration, call func(i int) error) (s sample, err error) {
	warm := max(n/10, 1)
	for i := range warm {
		if err := call(i); err != nil {
			return s, err
		}
	}
	times, before := make([]time.Duration, n), cpu()
	for i := range n {
		began := time.Now()
		if err := call(warm + i); err != nil {
			return s, err
		}
		times[i] = time.Since(began)
	}
	return sample{(cpu() - before) / time.Duration(n), middle(times)}, nil
}

// put inserts texts into a table with SQLite alone, as durably as weir does.
func (b *bench) put() (s sample, err error) {
	dir, err := os.MkdirTemp(b.dir, "raw-")
	if err != nil {
		return s, err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "raw.db")+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=secure_delete(ON)")
	if err != nil {
		return s, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE raw (id INTEGER PRIMARY KEY, text TEXT)"); err != nil {
		return s, err
	}
	text := strings.Repeat("2026-01-02 03:04:05 INFO request handled by the worker\n", size/50)[:size-12]
	return measure(b.calls, ownCPU, func(i int) error {
		_, err := db.ExecContext(context.Background(), "INSERT INTO raw (text) VALUES (?)", fmt.Sprintf("%012d", i)+text)
		return err
	})
}

// ownCPU returns the CPU time of this process so far.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bytesBelow returns the bytes of the files of a folder whose names begin so.
func bytesBelow(dir, prefix string) (n int64, err error) {
	return n, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), prefix) {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
}
