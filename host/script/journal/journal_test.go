package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

func open(t *testing.T) *Journal {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "weir.db"), URL: pgtest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	at := time.UnixMilli(0)
	j, err := Open(t.Context(), db, func() time.Time { at = at.Add(time.Millisecond); return at })
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func script(id string) Script {
	return Script{ID: id, Principal: "me", Conversation: "c", Script: json.RawMessage(`{}`)}
}

// TestSteps: a want begins once, ends once, and not after its script has ended; what fails
// changes nothing.
func TestSteps(t *testing.T) {
	j, ctx := open(t), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	missing := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
	must(j.Add(ctx, script("a")))
	want := func(n int, question string) Want {
		return Want{Number: n, Want: json.RawMessage(`{}`), Question: raw(question)}
	}
	must(j.Save(ctx, "a", Saved{State: Running, Runtime: "r", Snapshot: []byte("one"), Wants: []Want{want(1, ""), want(2, `"?"`), want(3, `"?"`)}, Begun: 1}))
	missing(j.Begin(ctx, "a", 1))
	must(j.Answer(ctx, "a", 1, json.RawMessage(`1`)))
	missing(j.Answer(ctx, "a", 1, json.RawMessage(`2`)))
	missing(j.Decide(ctx, "a", map[int]json.RawMessage{2: json.RawMessage(`true`), 1: json.RawMessage(`true`)}))
	missing(j.Save(ctx, "a", Saved{State: Running, Runtime: "r", Snapshot: []byte("two"), Given: []int{1}, Begun: 1}))
	s, wants, err := j.Get(ctx, "me", "a")
	if err != nil || string(s.Snapshot) != "one" || s.Waits != 2 || len(wants) != 3 || wants[0].Step != Ended || string(wants[0].Answer) != "1" || wants[1].Verdict != nil {
		t.Fatalf("%+v %+v %v", s, wants, err)
	}
	must(j.Decide(ctx, "a", map[int]json.RawMessage{2: json.RawMessage(`true`)}))
	missing(j.Decide(ctx, "a", map[int]json.RawMessage{2: json.RawMessage(`false`)}))
	must(j.Save(ctx, "a", Saved{State: Waiting, Given: []int{1}}))
	if s, wants, err = j.Get(ctx, "me", "a"); err != nil || string(s.Snapshot) != "one" || s.Runtime != "r" || len(wants) != 2 || s.State != Waiting {
		t.Errorf("a state without a snapshot: %+v %+v %v", s, wants, err)
	}
	if _, _, err := j.Get(ctx, "you", "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("somebody else reads it: %v", err)
	}
	end := script("a")
	end.State, end.Outcome = Done, json.RawMessage(`{}`)
	must(j.End(ctx, end))
	missing(j.End(ctx, end))
	missing(j.Begin(ctx, "a", 3))
	missing(j.Save(ctx, "a", Saved{State: Running}))
	if s, wants, err = j.Get(ctx, "me", "a"); err != nil || s.Snapshot != nil || s.Runtime != "" || len(wants) != 0 || s.State != Done {
		t.Errorf("at the end: %+v %+v %v", s, wants, err)
	}
}

// TestBounds: of a principal's scripts a number is under way, and a number is kept.
func TestBounds(t *testing.T) {
	j, ctx := open(t), t.Context()
	for i := range mostUnfinished {
		if err := j.Add(ctx, script(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Add(ctx, script("more")); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	other := script("theirs")
	other.Principal = "you"
	if err := j.Add(ctx, other); err != nil {
		t.Errorf("another principal's: %v", err)
	}
	for round := range 2 {
		for i := range mostUnfinished {
			s := script(fmt.Sprint(i + round*mostUnfinished))
			s.State = Done
			if err := j.End(ctx, s); err != nil {
				t.Fatal(err)
			}
			if err := j.Add(ctx, script(fmt.Sprint(i+(round+1)*mostUnfinished))); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := j.List(ctx, "me")
	if err != nil || len(list) != mostUnfinished+kept {
		t.Errorf("%d are kept: %v", len(list), err)
	}
}

// TestLongScriptsAreKept: a script that ends after many that began later is one of the last
// that have ended: its caller can still read what came of it.
func TestLongScriptsAreKept(t *testing.T) {
	j, ctx := open(t), t.Context()
	if err := j.Add(ctx, script("long")); err != nil {
		t.Fatal(err)
	}
	end := func(id string) {
		t.Helper()
		s := script(id)
		s.State = Done
		if err := j.End(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	for i := range kept {
		if err := j.Add(ctx, script(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		end(fmt.Sprint(i))
	}
	end("long")
	for id, want := range map[string]error{"long": nil, "0": ErrNotFound, "1": nil} {
		if _, _, err := j.Get(ctx, "me", id); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
}
