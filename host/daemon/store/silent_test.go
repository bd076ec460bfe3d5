package store

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// A database that stops answering, with its connections open, fails what is asked within
// seconds, and works again when it answers. A statement that is only long goes on.
func TestSilentDatabase(t *testing.T) {
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	t.Parallel()
	direct := strings.Replace(pgtest.URL(t), "connect_timeout=60", "connect_timeout=3", 1)
	var silent atomic.Bool // the server takes what comes, and passes nothing on, also for new connections
	s := reopen(t, archive.Config{URL: pgtest.Between(t, direct, func(to io.Writer, piece []byte, _ bool) error {
		if silent.Load() {
			return nil
		}
		_, err := to.Write(piece)
		return err
	})})
	e := put(t, s, "before")
	if err := s.db.Each(t.Context(), "SELECT pg_sleep(4)::text", nil, func(sqlite.Row) error { return nil }); err != nil {
		t.Fatalf("a long statement: %v", err)
	}
	silent.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // for a test that fails
	defer cancel()
	var asked sync.WaitGroup
	for name, ask := range map[string]func(context.Context) error{
		"read": func(ctx context.Context) error { _, err := s.archive.Get(ctx, mine, e.UUID); return err },
		"write": func(ctx context.Context) error {
			_, err := s.archive.Put(ctx, archive.Entry{Scope: mine, Tool: "run", Full: "x"})
			return err
		},
	} {
		asked.Go(func() {
			if err := ask(ctx); !errors.Is(err, archive.ErrUnreachable) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	asked.Wait()
	silent.Store(false)
	put(t, s, "after")
	if _, err := s.archive.Get(ctx, mine, e.UUID); err != nil {
		t.Errorf("when it answers again: %v", err)
	}
}

// A write that takes long does not make the database one that cannot be reached.
func TestPingWhileWriting(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	if err := s.db.Transact(t.Context(), func(*sql.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return s.Ping(ctx)
	}); err != nil {
		t.Error(err)
	}
}
