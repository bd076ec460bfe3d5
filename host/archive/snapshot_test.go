package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// A snapshot of a store that is being written holds a beginning of what was
// written, whole, and opens as any archive does.
func TestSnapshotWhileWritten(t *testing.T) {
	pgtest.SQLite(t)
	var path string
	s := openTest(t, func(c *Config) { path = c.Path })
	put := func(i int) {
		if _, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "grep", Turn: i, Full: fmt.Sprintf("text %d", i)}); err != nil {
			t.Error(err)
		}
	}
	for i := range 20 {
		put(i)
	}
	stop, first := make(chan struct{}), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 20; ; i++ {
			select {
			case <-stop:
				return
			default:
				if put(i); i == 25 {
					close(first)
				}
			}
		}
	})
	<-first
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := Snapshot(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	close(stop)
	writer.Wait()
	if st, err := os.Stat(to); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	copied := reopen(t, Config{Path: to})
	list, err := copied.List(t.Context(), mine, Filter{Limit: 10000})
	if err != nil || len(list) < 26 {
		t.Fatalf("%d results, %v", len(list), err)
	}
	turns := map[int]bool{}
	for _, e := range list {
		turns[e.Turn] = true
	}
	for i := range len(list) {
		if !turns[i] {
			t.Errorf("%d results without the one of turn %d: not a beginning", len(list), i)
		}
	}
	if _, err := copied.Put(t.Context(), Entry{Scope: mine, Tool: "grep", Full: "more"}); err != nil {
		t.Errorf("writing to the copy: %v", err)
	}
}

func TestSnapshotOfFilesAtRest(t *testing.T) {
	pgtest.SQLite(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "archive.db")
	s := reopen(t, Config{Path: path})
	if _, err := s.Put(t.Context(), Entry{Scope: mine, Tool: "grep", Full: "text"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := Snapshot(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	if after := files(t, dir); len(after) != len(before) {
		t.Errorf("files beside the archive: %v", after)
	}
	if h, err := Examine(t.Context(), to); err != nil || h.Results != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	if err := Snapshot(t.Context(), path, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if err := Snapshot(t.Context(), filepath.Join(dir, "none.db"), filepath.Join(dir, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	other := filepath.Join(dir, "other.db")
	if err := os.WriteFile(other, []byte("SQLite format 3\x00 but not ours, which is longer than a header is"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Snapshot(t.Context(), other, filepath.Join(dir, "y")); !errors.Is(err, ErrForeign) {
		t.Errorf("of another program's file: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Snapshot(ended, path, filepath.Join(dir, "z")); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "z")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a copy stays: %v", err)
	}
}
