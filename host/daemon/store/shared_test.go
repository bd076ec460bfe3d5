package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// shared opens stores that share a database, as daemons do; they begin at the same time.
func shared(t *testing.T, n int) []*fixture {
	t.Helper()
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	url, stores := pgtest.URL(t), make([]*fixture, n)
	var opening sync.WaitGroup
	for i := range stores {
		opening.Go(func() {
			a, err := archive.Open(context.Background(), archive.Config{URL: url, Shared: true})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { a.Close() })
			s, err := Open(t.Context(), a)
			if err != nil {
				t.Error(err)
			}
			stores[i] = &fixture{s, a, ""}
		})
	}
	if opening.Wait(); t.Failed() {
		t.FailNow()
	}
	return stores
}

// What a write has read stays true until it is committed, whichever daemon writes.
func TestDaemonsWriteOneAfterTheOther(t *testing.T) {
	t.Parallel()
	stores := shared(t, 3)
	if err := stores[0].Begin(t.Context(), Conversation{ID: mine.Conversation, Principal: mine.Principal}, nil); err != nil {
		t.Fatal(err)
	}
	const each = 30
	var writing sync.WaitGroup
	for i, s := range stores {
		writing.Go(func() {
			for n := range each { // Append reads the last number
				if err := s.Append(t.Context(), mine, []Message{{Role: "user", Content: strconv.Itoa(i*each + n)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	ms, err := stores[1].Messages(t.Context(), mine)
	if err != nil || len(ms) != 3*each || ms[len(ms)-1].Seq != 3*each {
		t.Errorf("%d messages: %v", len(ms), err)
	}
}

// A daemon that is frozen in a transaction keeps the others for two seconds, and then has
// written nothing.
func TestAFrozenTransactionEnds(t *testing.T) {
	t.Parallel()
	stores := shared(t, 2)
	began := time.Now()
	err := stores[0].db.Transact(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO conversations (id, principal, title, profile, created_at, updated_at) VALUES ('frozen', 'ann', '', '', 0, 0)"); err != nil {
			return err
		}
		return stores[1].Begin(t.Context(), Conversation{ID: "other", Principal: "ann"}, nil)
	})
	if err = sqlite.Wrap(t.Context(), "writing", err); !errors.Is(err, archive.ErrUnreachable) || time.Since(began) < time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if list, err := stores[0].Conversations(t.Context(), "ann", 0); err != nil || len(list) != 1 || list[0].ID != "other" {
		t.Errorf("%v %v", list, err)
	}
	if err := stores[0].Begin(t.Context(), Conversation{ID: "again", Principal: "ann"}, nil); err != nil {
		t.Error(err)
	}
}

// A daemon is woken by what another one has committed, and not by what it has not.
func TestDaemonsWakeEachOther(t *testing.T) {
	t.Parallel()
	stores := shared(t, 2)
	woken := make(chan string, 8)
	defer stores[0].db.Wake("run", func(id string) { woken <- id })()
	defer stores[0].db.Wake("other", func(id string) {
		if id != "" {
			t.Errorf("woken by %q", id)
		}
	})()
	next := func() string {
		select {
		case id := <-woken:
			return id
		case <-time.After(10 * time.Second):
			t.Fatal("not woken")
			return ""
		}
	}
	if id := next(); id != "" {
		t.Errorf("the first was %q", id)
	}
	boom := errors.New("boom")
	if err := stores[1].db.Commit(t.Context(), 0, func(b *sqlite.Batch) error {
		return errors.Join(b.Notify("run", "no"), boom)
	}); !errors.Is(err, boom) {
		t.Error(err)
	}
	if err := stores[1].db.Commit(t.Context(), 0, func(b *sqlite.Batch) error { return b.Notify("run", "a b") }); err != nil {
		t.Error(err)
	}
	if id := next(); id != "a b" {
		t.Errorf("woken by %q", id)
	}
}
