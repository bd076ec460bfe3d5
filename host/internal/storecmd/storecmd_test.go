package storecmd

import (
	"os"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

// A copy would not have the answers that are under way.
func TestCopyWaitsForAnswers(t *testing.T) {
	url := pgtest.URL(t)
	if url == "" {
		t.Skip("PostgreSQL only")
	}
	a, err := archive.Open(t.Context(), archive.Config{URL: url, Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	s, err := store.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{URL: url, Shared: true}, archive.Schema(), store.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := idle(t.Context(), db); err != nil {
		t.Error(err)
	}
	r := store.Run{Turn: "turn", Scope: archive.Scope{Principal: "ann", Conversation: "c"}, Fence: 1, Ask: []byte("{}")}
	if err := s.BeginRun(t.Context(), store.Conversation{ID: "c", Principal: "ann"}, []store.Message{{Role: "user"}}, 0, &r, "one"); err != nil {
		t.Fatal(err)
	}
	if err := idle(t.Context(), db); err == nil || !strings.Contains(err.Error(), "1 answers are under way") {
		t.Error(err)
	}
}
