package lease

import (
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

// A process that does not stay, as of a short command, takes over no turn, nor does a daemon
// its own.
func TestTakingOver(t *testing.T) {
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	a, err := archive.Open(t.Context(), archive.Config{URL: pgtest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	db, err := store.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
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
