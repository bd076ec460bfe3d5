package lease

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// shared returns the store of a database, and its URL.
func shared(t *testing.T) (db *store.Store, url string) {
	t.Helper()
	if url = pgtest.URL(t); url == "" {
		t.Skip("PostgreSQL only")
	}
	a, err := archive.Open(t.Context(), archive.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if db, err = store.Open(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return db, url
}

// A process knows that the one before it with the same file is dead, however long that said it
// would live: its turns go on at once, and its requests run no more. What that one still writes
// is not written.
func TestAfterItself(t *testing.T) {
	db, url := shared(t)
	file := filepath.Join(t.TempDir(), "lease")
	taken := make(chan store.Run, 1)
	start := func() *Keeper {
		k := New(Config{Store: db, File: file, Logger: hclog.NewNullLogger(), TakeOver: func(r store.Run, _ func()) { taken <- r }})
		if err := k.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.Stop(context.WithoutCancel(t.Context())) })
		return k
	}
	before := start()
	before.Freeze()
	r := store.Run{Turn: "left", Scope: archive.Scope{Principal: "ann", Conversation: "left"}, Fence: 1, Ask: []byte("{}")}
	if err := db.BeginRun(t.Context(), store.Conversation{ID: "left", Principal: "ann"}, []store.Message{{Role: "user"}}, 0, &r, before.ID()); err != nil {
		t.Fatal(err)
	}
	admit := func(_ time.Time, _ int, recent []time.Time) ([]time.Time, error) { return recent, nil }
	if err := db.Admit(t.Context(), before.ID()+" 1", "ann", admit); err != nil {
		t.Fatal(err)
	}
	if err := db.Admit(t.Context(), "other 1", "ann", admit); err != nil {
		t.Fatal(err)
	}
	direct, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	if _, err := direct.Exec("UPDATE daemons SET expires_at = clock_timestamp() + interval '1 hour'"); err != nil {
		t.Fatal(err)
	}
	start().TakeOver(true)
	select {
	case got := <-taken:
		if got.Turn != "left" || got.Fence != 2 {
			t.Errorf("%+v", got)
		}
	case <-time.After(time.Minute):
		t.Error("the turn waits")
	}
	if err := db.Step(db.Fenced(t.Context(), "left", 1), "left", 1, []byte("{}")); !errors.Is(err, store.ErrFenced) {
		t.Errorf("what the process before writes: %v", err)
	}
	if n, err := db.Running(t.Context(), "ann"); err != nil || n != 1 {
		t.Errorf("%d requests run, %v", n, err)
	}
}

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

// A process that does not stay, as of a short command, takes over no turn, nor does a daemon
// its own.
func TestTakingOver(t *testing.T) {
	db, _ := shared(t)
	var taken []string
	k := New(Config{Store: db, Logger: hclog.NewNullLogger(), TakeOver: func(r store.Run, _ func()) { taken = append(taken, r.Turn) }})
	for turn, owner := range map[string]string{"left": "gone", "own": k.ID()} {
		r := store.Run{Turn: turn, Scope: archive.Scope{Principal: "ann", Conversation: turn}, Fence: 1, Ask: []byte("{}")}
		if err := db.BeginRun(t.Context(), store.Conversation{ID: turn, Principal: "ann"}, []store.Message{{Role: "user"}}, 0, &r, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.claim(t.Context()); err != nil || len(taken) != 0 {
		t.Errorf("%q, %v", taken, err)
	}
	k.TakeOver(true)
	if err := k.claim(t.Context()); err != nil || len(taken) != 1 || taken[0] != "left" {
		t.Errorf("%q, %v", taken, err)
	}
	for range 3 { // it waits for a slot
		if err := k.look(t.Context()); err != nil {
			t.Error(err)
		}
	}
	owned, err := db.Owned(t.Context(), k.ID())
	if err != nil || len(owned) != 1 || owned[0].Turn != "left" {
		t.Errorf("it owns %v, %v", owned, err)
	}
}
