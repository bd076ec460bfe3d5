package script

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/lease"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/internal/testtime"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m, Part: "^TestDaemons"}.Run()) }

// A daemon is a process that shares the scripts of a database.
type daemon struct {
	*process
	leases *lease.Keeper
}

// daemons returns processes that share a database and the file of effects.
func daemons(t *testing.T) (list [2]daemon, dir string) {
	t.Helper()
	if !pgtest.InPostgres() {
		t.Skip("PostgreSQL only")
	}
	engine, err := crashEngine()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	url := pgtest.URL(t)
	for i := range list {
		a, err := archive.Open(t.Context(), archive.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		j, err := s.Scripts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &process{effects: filepath.Join(dir, "effects")}
		runner := New(engine, nothing{}, Options{Patience: 100 * time.Millisecond})
		p.Runs = NewRuns(func(context.Context) (*Runner, error) { return runner, nil }, j, p, nil)
		k := lease.New(lease.Config{Store: s, Logger: hclog.NewNullLogger(), TakeOver: func(_ store.Run, release func()) {}})
		if err := k.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Share(k)
		t.Cleanup(func() {
			p.Stop(context.Background())
			if err := k.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			a.Close()
		})
		list[i] = daemon{p, k}
	}
	return list, dir
}

func (d daemon) begin(t *testing.T, source string) string {
	t.Helper()
	id, err := d.Start(t.Context(), Script{Source: source, Scope: mine, CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (d daemon) recover(t *testing.T) {
	t.Helper()
	if err := d.Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// until waits for a script to be of a state, and returns it.
func (d daemon) until(t *testing.T, id string, state journal.State) Status {
	t.Helper()
	var s Status
	testtime.Until(t, "the script is "+string(state), func() bool {
		var err error
		if s, err = d.Get(t.Context(), "me", id); err != nil {
			t.Fatal(err)
		}
		return s.State == state || s.State.Ended()
	})
	if s.State != state {
		t.Fatalf("it is %s: %+v", s.State, s.Outcome)
	}
	return s
}

// effects waits for a number of effects.
func effects(t *testing.T, dir string, n int) {
	t.Helper()
	if !testtime.Comes(func() bool { return len(happened(t, dir)) >= n }) {
		t.Fatalf("%v", happened(t, dir))
	}
}

// once holds that each of n effects happened once.
func once(t *testing.T, dir string, n int) {
	t.Helper()
	effects := happened(t, dir)
	for what, times := range effects {
		if times != 1 {
			t.Errorf("%s happened %d times", what, times)
		}
	}
	if len(effects) != n {
		t.Errorf("%d effects, not %d", len(effects), n)
	}
}

const slowWrites = "for (let i = 0; i < %d; i++) try { await tools.write({slow: i}) } catch (e) { if (e.code != 'outcome_unknown') throw e }; return 'end'"

// A daemon that starts leaves a script alone that runs on another one, and waits for it. When
// that stops, the script goes on here.
func TestDaemonsRunAScriptOnce(t *testing.T) {
	d, dir := daemons(t)
	id := d[0].begin(t, fmt.Sprintf(slowWrites, 10))
	d[1].recover(t)
	effects(t, dir, 5)
	d[0].Stop(t.Context())
	if s, err := d[1].Wait(t.Context(), "me", id, 0); err != nil || s.State != journal.Done || s.Outcome.Result.Shown.Text != "end" {
		t.Errorf("%+v, %v", s, err)
	}
	once(t, dir, 10)
}

// A daemon goes on with the script of one that is frozen, which changes nothing when it comes
// back.
func TestDaemonsTakeOverAScript(t *testing.T) {
	d, dir := daemons(t)
	d[1].recover(t)
	id := d[0].begin(t, fmt.Sprintf(slowWrites, 45))
	effects(t, dir, 1)
	d[0].leases.Freeze()
	s := d[1].until(t, id, journal.Done)

	if text := s.Outcome.Result.Shown.Text; text != "end" {
		t.Errorf("it returned %q", text)
	}
	once(t, dir, 45)
}

// An answer that a person gives at any daemon counts, and any daemon ends a script.
func TestDaemonsAnswerAScript(t *testing.T) {
	d, dir := daemons(t)
	both := d[0].begin(t, "await Promise.all([tools.ask({n: 1}), tools.read({slow: 1}).then(() => tools.ask({n: 2}))]); return 'end'")
	answer := func(at daemon, s Status) {
		t.Helper()
		for _, q := range s.Card {
			if err := at.Decide(t.Context(), "me", both, map[int]Verdict{q.Number: {Allow: true, By: "me", Digest: q.Digest}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := d[1].until(t, both, journal.Waiting)
	for !s.State.Ended() {
		answer(d[1], s)
		var err error
		if s, err = d[1].Wait(t.Context(), "me", both, 0); err != nil {
			t.Fatal(err)
		}
	}
	if s.State != journal.Done {
		t.Errorf("%+v", s.Outcome)
	}
	if effects := happened(t, dir); effects[`ask{"n":1}`] != 1 || effects[`ask{"n":2}`] != 1 {
		t.Errorf("%v", effects)
	}
	long := d[0].begin(t, fmt.Sprintf(slowWrites, 100))
	effects(t, dir, 3)
	if err := d[1].Cancel(t.Context(), "me", long); err != nil {
		t.Fatal(err)
	}
	testtime.Until(t, "the script is gone", func() bool {
		d[0].Runs.mu.Lock()
		defer d[0].Runs.mu.Unlock()
		return len(d[0].active) == 0
	})
}
