package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// meaning is an embedding model that knows three subjects.
func meaning(_ context.Context, texts []string) ([][]float32, string, error) {
	var out [][]float32
	for _, t := range texts {
		v := []float32{0.01, 0.01, 0.01}
		for i, words := range []string{"ship boat vessel 船", "bread bakery flour 面包", "engine motor 发动机"} {
			for w := range strings.FieldsSeq(words) {
				if strings.Contains(t, w) {
					v[i]++
				}
			}
		}
		out = append(out, v)
	}
	return out, "three", nil
}

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

func open(t *testing.T, cfg Config) (*archive.SQLite, *Memory, archive.Scope) {
	t.Helper()
	store, err := archive.Open(t.Context(), archive.Config{Path: filepath.Join(t.TempDir(), "a.db"), URL: pgtest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	m := New(store, hclog.NewNullLogger(), func() Config { return cfg })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = store.Close() })
	return store, m, archive.Scope{Principal: "ann", Conversation: "c1"}
}

func put(t *testing.T, store *archive.SQLite, m *Memory, sc archive.Scope, text string) archive.Entry {
	t.Helper()
	e, err := store.Put(t.Context(), archive.Entry{Scope: sc, Tool: "read_file", Input: []byte(`{}`), Query: "q", Full: text})
	if err != nil {
		t.Fatal(err)
	}
	m.Added(e, tool.En)
	return e
}

// TestNear: a result is found by what it means, with the lines that do, in its own
// conversation only, and no longer when its text is gone.
func TestNear(t *testing.T) {
	store, m, sc := open(t, Config{Embed: meaning})
	filler := strings.Repeat("something about flour and bread in every line\n", 60)
	ships := put(t, store, m, sc, filler+"the vessel left the harbour with a new crew\n"+strings.Repeat("a boat and a ship\n", 90)+filler)
	put(t, store, m, sc, filler)
	other := archive.Scope{Principal: "ann", Conversation: "c2"}
	put(t, store, m, other, strings.Repeat("the motor of the engine\n", 100))

	near := func(sc archive.Scope, text string) []archive.Near {
		found, err := m.Near(t.Context(), sc, text, 5)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	everywhere := archive.Scope{Principal: "ann", Conversation: "new", Everywhere: true}
	testtime.Until(t, "three results have vectors", func() bool { return len(near(everywhere, "engine")) == 3 })
	got := near(sc, "Which 船 sailed?")
	if len(got) != 2 || got[0].Entry.UUID != ships.UUID || got[0].First > 100 || got[0].Last < 61 || got[0].Last-got[0].First > 120 || got[0].Score < 0.8 {
		t.Errorf("%+v", got)
	}
	if got := near(archive.Scope{Principal: "bob", Everywhere: true}, "ship"); len(got) != 0 {
		t.Errorf("another principal finds %+v", got)
	}
	if err := store.Delete(t.Context(), sc, ships.UUID); err != nil {
		t.Fatal(err)
	}
	if got := near(sc, "ship"); len(got) != 1 || got[0].Entry.UUID == ships.UUID {
		t.Errorf("what was deleted is found: %+v", got)
	}
	store.Configure(archive.Config{MaxCount: 1})
	if _, err := store.Prune(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := near(everywhere, "engine"); len(got) != 1 || got[0].Entry.Scope.Conversation != "c2" {
		t.Errorf("what was pruned is found: %+v", got)
	}
}

func TestSummaries(t *testing.T) {
	asked := make(chan string, 9)
	store, m, sc := open(t, Config{SummariseOver: 100, Summarise: func(_ context.Context, e archive.Entry, l tool.Locale) (string, error) {
		asked <- e.UUID
		if strings.Contains(e.Full, "broken") {
			return "", errors.New("the model is away")
		}
		return fmt.Sprintf("about %d lines, in %s", e.Lines, l), nil
	}})
	put(t, store, m, sc, "short")
	broken := put(t, store, m, sc, strings.Repeat("broken\n", 100))
	long := put(t, store, m, sc, strings.Repeat("a line\n", 100))
	summary := func(e archive.Entry) string {
		got, err := store.Find(t.Context(), "ann", e.UUID)
		if err != nil {
			t.Fatal(err)
		}
		return got.Summary
	}
	testtime.Until(t, "the summary is there", func() bool { return summary(long) == "about 100 lines, in en" })
	if first, second := <-asked, <-asked; first != broken.UUID || second != long.UUID || len(asked) != 0 {
		t.Error("a short result was summarised")
	}
	if summary(broken) != broken.Summary {
		t.Error("a model that failed changed the summary")
	}
}

// TestFull: a call never waits for a model.
func TestFull(t *testing.T) {
	m := New(nil, hclog.NewNullLogger(), func() Config {
		return Config{Embed: meaning, Summarise: func(context.Context, archive.Entry, tool.Locale) (string, error) { return "", nil }}
	})
	for range 3 * maxQueue {
		m.Added(archive.Entry{UUID: "x", Chars: 5}, tool.En)
	}
	if len(m.vectors) != maxQueue || len(m.summaries) != maxQueue || m.dropped.Load() != 4*maxQueue {
		t.Errorf("%d and %d wait, %d were left out", len(m.vectors), len(m.summaries), m.dropped.Load())
	}
}

func TestPassages(t *testing.T) {
	e := archive.Entry{Tool: "t", Query: "q", Summary: "s"}
	for _, lines := range []int{0, 1, 10, 1000, 100000} {
		e.Full = strings.Repeat("0123456789012345678901234567890123456789\n", lines)
		e.Chars = len(e.Full)
		got, next := passages(e), 1
		for _, p := range got {
			if p.first != next || p.last < p.first || len(p.text) > maxText {
				t.Fatalf("%d lines: %d to %d after %d, %d characters", lines, p.first, p.last, next, len(p.text))
			}
			next = p.last + 1
		}
		if next != lines+1 || len(got) > maxPassages+1 {
			t.Errorf("%d lines: %d passages end at %d", lines, len(got), next-1)
		}
	}
}
