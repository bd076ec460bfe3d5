package store

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/sdk/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main{M: m}) }

// Scope keeps the tests short.
type Scope = archive.Scope

// mine is the scope that most tests use; the others must never see what is in it.
var mine = Scope{Principal: "ann", Conversation: "c1"}

// strangers are scopes that differ from mine in one part or both.
var strangers = []Scope{
	{Principal: "ann", Conversation: "c2"}, // the same person in another conversation
	{Principal: "bob", Conversation: "c1"}, // another person who knows the id
	{Principal: "bob", Conversation: "c2"},
	{Principal: "ann"}, {Conversation: "c1"}, {}, // a half scope finds nothing
}

const someID = "01a201a6-6788-74d2-8012-9a9812d23e20"

// A clock is a time that tests move.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) forward(d time.Duration) { c.at = c.at.Add(d) }

// A fixture is a Store with the archive whose file it shares.
type fixture struct {
	*Store
	archive *archive.SQLite
	path    string
}

// openTest opens a store in a folder of its own; change may alter its Config.
func openTest(t testing.TB, change ...func(*archive.Config)) *fixture {
	t.Helper()
	cfg := archive.Config{Path: filepath.Join(t.TempDir(), "archive.db"), URL: pgtest.URL(t)}
	for _, f := range change {
		f(&cfg)
	}
	return reopen(t, cfg)
}

func reopen(t testing.TB, cfg archive.Config) *fixture {
	t.Helper()
	a, err := archive.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{s, a, cfg.Path}
}

// Append stores messages after those of a conversation, as the end of a turn does.
func (s *fixture) Append(ctx context.Context, sc Scope, msgs []Message) error {
	return s.Finish(ctx, sc, Turn{Messages: msgs})
}

// Replace stores messages in place of those from number from on.
func (s *fixture) Replace(ctx context.Context, sc Scope, from int, msgs []Message) error {
	return s.Finish(ctx, sc, Turn{From: from, Messages: msgs})
}

// SetFingerprints replaces the fingerprints of a conversation.
func (s *fixture) SetFingerprints(ctx context.Context, sc Scope, fingerprints []string) error {
	return s.Finish(ctx, sc, Turn{Fingerprints: fingerprints})
}

// put archives a text of mine and fails the test if it cannot.
func put(t testing.TB, s *fixture, full string) archive.Entry {
	t.Helper()
	return putEntry(t, s, archive.Entry{Scope: mine, Tool: "run", Full: full})
}

func putEntry(t testing.TB, s *fixture, e archive.Entry) archive.Entry {
	t.Helper()
	e, err := s.archive.Put(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// onDisk returns the files of the store that contain a text.
func onDisk(t *testing.T, s *fixture, needle string) []string {
	t.Helper()
	if pgtest.InPostgres() {
		return nil // its files are not weir's
	}
	var in []string
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		b, err := os.ReadFile(s.path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Contains(string(b), needle) {
			in = append(in, suffix)
		}
	}
	return in
}

// wantBadArgs checks that err is one on which a client can act.
func wantBadArgs(t testing.TB, err error) {
	t.Helper()
	bad, ok := errors.AsType[*tool.Error](err)
	if !ok || bad.Code != tool.BadArgs || bad.Msg == "" || bad.Hint == "" {
		t.Fatalf("got %v, want bad_args with a sentence and a hint", err)
	}
}

// quickly lowers the number of checks of a property that syncs to disk at every step.
func quickly(t *testing.T, checks int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f == nil || f.Value.String() != f.DefValue {
		return // the user asked for a number
	}
	old := f.Value.String()
	if err := f.Value.Set(strconv.Itoa(checks)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Value.Set(old) })
}
