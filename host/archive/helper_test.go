package archive

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/sdk/tool"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDirEnv); dir != "" {
		crashChild(dir)
		return
	}
	goleak.VerifyTestMain(pgtest.Main{M: m})
}

// mine is the scope most tests use; the others must never see what is in it.
var mine = Scope{Principal: "ann", Conversation: "c1"}

// strangers are scopes that differ from mine in one part or both.
var strangers = []Scope{
	{Principal: "ann", Conversation: "c2"}, // the same person elsewhere
	{Principal: "bob", Conversation: "c1"}, // another person who knows the id
	{Principal: "bob", Conversation: "c2"},
	{Principal: "ann"}, {Conversation: "c1"}, {}, // half a scope opens nothing
}

// A clock is a time that tests move.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) forward(d time.Duration) { c.at = c.at.Add(d) }

// openTest opens a store in a folder of its own; change may alter its Config.
func openTest(t testing.TB, change ...func(*Config)) *SQLite {
	t.Helper()
	cfg := Config{Path: filepath.Join(t.TempDir(), "archive.db"), URL: pgtest.URL(t)}
	for _, f := range change {
		f(&cfg)
	}
	return reopen(t, cfg)
}

func reopen(t testing.TB, cfg Config) *SQLite {
	t.Helper()
	s, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// put archives a text of mine and fails the test when it cannot.
func put(t testing.TB, s *SQLite, full string) Entry {
	t.Helper()
	return putEntry(t, s, Entry{Scope: mine, Tool: "run", Full: full})
}

func putEntry(t testing.TB, s *SQLite, e Entry) Entry {
	t.Helper()
	e, err := s.Put(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// wantBadArgs checks that err is what a model can act on.
func wantBadArgs(t testing.TB, err error) {
	t.Helper()
	bad, ok := errors.AsType[*tool.Error](err)
	if !ok || bad.Code != tool.BadArgs || bad.Msg == "" || bad.Hint == "" {
		t.Fatalf("got %v, want bad_args with a sentence and a hint", err)
	}
}

// quickly lowers the number of checks of a property that syncs to disk at
// every step.
func quickly(t *testing.T, checks int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f == nil || f.Value.String() != f.DefValue {
		return // somebody asked for a number
	}
	old := f.Value.String()
	if err := f.Value.Set(strconv.Itoa(checks)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Value.Set(old) })
}

// deleteConversation deletes the results of a conversation as package daemon/store does.
func deleteConversation(t testing.TB, s *SQLite, sc Scope) (size Size, err error) {
	t.Helper()
	err = s.db.Transact(t.Context(), func(tx *sql.Tx) (err error) {
		size, err = s.DeleteConversationIn(t.Context(), tx, sc)
		return err
	})
	if err != nil {
		return size, err
	}
	return size, s.db.Reclaim(t.Context(), true)
}
