package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// blocked keeps the writer busy until release is called.
func blocked(t *testing.T, f *fixture) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f.Commit(context.Background(), 0, func(*Batch) error {
			close(begun)
			<-end
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-begun
	return func() {
		close(end)
		wg.Wait()
	}
}

// waitForJobs returns when n jobs wait.
func waitForJobs(f *fixture, n int) {
	for f.queue.len() < n {
		runtime.Gosched()
	}
}

// Writes that arrive while the disk syncs are committed together after it.
func TestWritesAreCommittedTogether(t *testing.T) {
	f := openTest(t, Faults{})
	const n = 40
	release := blocked(t, f)
	var mu sync.Mutex
	batches := map[*Batch]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := f.Commit(t.Context(), 0, func(b *Batch) error {
				mu.Lock()
				batches[b]++
				mu.Unlock()
				return f.add(fmt.Sprint("t", i))(b)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	waitForJobs(f, n)
	release()
	wg.Wait()
	if got := f.all(t); len(got) != n || len(batches) != 1 {
		t.Errorf("%d writes in %d transactions", len(got), len(batches))
	}
}

// A batch is bounded by jobs and by bytes.
func TestBatchesAreBounded(t *testing.T) {
	for _, row := range []struct{ jobs, bytes, want int }{{maxBatchJobs + 1, 0, maxBatchJobs}, {5, maxBatchBytes, 1}, {5, maxBatchBytes / 2, 2}, {3, 0, 3}} {
		var q commitQueue
		for range row.jobs {
			q.enqueue(&job{bytes: row.bytes, done: make(chan signal, 1)})
		}
		if got := len(q.batch()); got != row.want || q.len() != row.jobs-got {
			t.Errorf("%+v: a batch of %d, %d wait", row, got, q.len())
		}
	}
}

// A failed write does not fail the others of its batch, whatever it wrote before.
func TestAFailedWriteFailsAlone(t *testing.T) {
	boom := errors.New("boom")
	for _, row := range []struct {
		why string
		run func(f *fixture) func(b *Batch) error
		err error
	}{
		{"it finds no row", func(f *fixture) func(*Batch) error {
			return func(b *Batch) error { return b.ExecOne(f.drop, errMissing, "x") }
		}, errMissing},
		{"it fails after it wrote", func(f *fixture) func(*Batch) error {
			return func(b *Batch) error { return errors.Join(f.add("half")(b), boom) }
		}, boom},
		{"its statement fails", func(f *fixture) func(*Batch) error { return f.add("bad") }, nil},
	} {
		f := openTest(t, Faults{})
		release := blocked(t, f)
		var wg sync.WaitGroup
		var want []string
		for i := range 5 {
			want = append(want, fmt.Sprint("good", i))
			wg.Go(func() {
				if err := f.Commit(t.Context(), 0, f.add(fmt.Sprint("good", i))); err != nil {
					t.Error(err)
				}
			})
			waitForJobs(f, i+1)
			if i == 2 {
				wg.Go(func() {
					if err := f.Commit(t.Context(), 0, row.run(f)); err == nil || row.err != nil && !errors.Is(err, row.err) {
						t.Errorf("%s: %v", row.why, err)
					}
				})
				waitForJobs(f, i+2)
			}
		}
		release()
		wg.Wait()
		got := f.all(t)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", row.why, got)
		}
	}
}

// A write that does not fit on the disk does not fail those that fit.
func TestAFullDiskFailsOnlyWhatDoesNotFit(t *testing.T) {
	f := openTest(t, Faults{MaxPages: 60})
	release := blocked(t, f)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Wrap(t.Context(), "writing", f.Commit(t.Context(), 0, f.add(strings.Repeat("x", 1<<20)))); !errors.Is(err, ErrFull) {
			t.Errorf("a text that is too large: %v", err)
		}
	})
	waitForJobs(f, 1)
	wg.Go(func() {
		if err := f.Commit(t.Context(), 0, f.add("small")); err != nil {
			t.Errorf("a text that fits: %v", err)
		}
	})
	waitForJobs(f, 2)
	release()
	wg.Wait()
}

// A write whose context ends before its transaction begins is not made.
func TestACancelledWriteIsNotMade(t *testing.T) {
	f := openTest(t, Faults{})
	release := blocked(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error, 1)
	go func() { cancelled <- f.Commit(ctx, 0, f.add("cancelled")) }()
	waitForJobs(f, 1)
	kept := make(chan error, 1)
	go func() { kept <- f.Commit(t.Context(), 0, f.add("kept")) }()
	waitForJobs(f, 2)
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	release()
	if err := <-kept; err != nil {
		t.Error(err)
	}
	if got := f.all(t); len(got) != 1 || got[0] != "kept" {
		t.Errorf("%q", got)
	}
}

// A panic reaches the caller of its write, and the others can still write.
func TestAPanicInAWrite(t *testing.T) {
	f := openTest(t, Faults{})
	release := blocked(t, f)
	died, other := make(chan any, 1), make(chan error, 1)
	go func() {
		defer func() { died <- recover() }()
		_ = f.Commit(t.Context(), 0, func(*Batch) error { panic("boom") })
	}()
	waitForJobs(f, 1)
	go func() { other <- f.Commit(t.Context(), 0, f.add("x")) }()
	waitForJobs(f, 2)
	release()
	if got := <-died; got != "boom" {
		t.Errorf("the caller received %v", got)
	}
	if err := <-other; err == nil {
		t.Error("a write of the transaction that panicked is reported as made")
	}
	if err := f.Commit(t.Context(), 0, f.add("after")); err != nil {
		t.Errorf("the writer is blocked: %v", err)
	}
}

// Writes of every kind wait for each other: a transaction of Commit is no sql.Tx, which
// would keep the connection.
func TestWritesOfAllKindsAtOnce(t *testing.T) {
	f := openTest(t, Faults{})
	kinds := []func(ctx context.Context, text string) error{
		func(ctx context.Context, text string) error { return f.Commit(ctx, 0, f.add(text)) },
		func(ctx context.Context, text string) error {
			return f.Transact(ctx, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO notes VALUES (?)", text)
				return err
			})
		},
		func(ctx context.Context, text string) error {
			_, err := f.ExecContext(ctx, "INSERT INTO notes VALUES (?)", text)
			return err
		},
		func(ctx context.Context, text string) error {
			return errors.Join(f.Commit(ctx, 0, f.add(text)), f.Reclaim(ctx, true))
		},
		func(ctx context.Context, text string) error {
			files := fstest.MapFS{"00001_more.sql": {Data: []byte("-- +goose Up\nCREATE TABLE " + text + " (text TEXT NOT NULL);\n")}}
			return errors.Join(f.Migrate(ctx, Schema{"of_" + text, files}), f.Commit(ctx, 0, f.add(text)))
		},
	}
	const each = 20
	var wg sync.WaitGroup
	for i, write := range kinds {
		for n := range each {
			wg.Go(func() {
				if err := write(t.Context(), fmt.Sprint("t", i, "_", n)); err != nil {
					t.Errorf("kind %d: %v", i, err)
				}
			})
		}
	}
	wg.Wait()
	if got := f.all(t); len(got) != len(kinds)*each {
		t.Errorf("%d notes", len(got))
	}
}

// len returns the number of waiting jobs.
func (q *commitQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
