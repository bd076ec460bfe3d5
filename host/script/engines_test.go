package script

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// TestEngineOfAnotherWeir: a script goes on in the engine that it was started with, which
// is kept; where it is gone or changed, the script says so and ends.
func TestEngineOfAnotherWeir(t *testing.T) {
	current, err := crashEngine()
	if err != nil {
		t.Fatal(err)
	}
	old, err := scriptproc.Open(t.Context(), scriptproc.Options{VM: scriptvm.Options{Files: scriptvm.Files{
		Engine: current.Files().Engine, Prelude: append([]byte("/* an older one */"), current.Files().Prelude...),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close(context.WithoutCancel(t.Context()))
	for name, breaks := range map[string]func(t *testing.T, dir string){
		"kept": func(*testing.T, string) {},
		"gone": func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
		"changed": func(t *testing.T, dir string) {
			path := filepath.Join(dir, old.Digest(), preludeFile)
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, bytes.Replace(text, []byte("older"), []byte("other"), 1), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := t.TempDir()
		engines := filepath.Join(dir, "engines")
		run := func(e *scriptproc.Engine) *process {
			p := boot(t, dir, 0, Options{Patience: -1})
			runner := New(e, nothing{}, Options{Patience: -1}).WithEngines(NewKeptEngines(engines, e, scriptproc.Options{}))
			p.Runs.runner = func(context.Context) (*Runner, error) { return runner, nil }
			return p
		}
		p := run(old)
		id, err := p.Start(t.Context(), Script{Source: "return 'end ' + await tools.ask({n: 1})", Scope: mine, CallID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Wait(t.Context(), "me", id, 0)
		if err != nil || s.State != journal.Waiting {
			t.Fatal(s.State, err)
		}
		p.close(t)
		breaks(t, engines)
		p = run(current)
		s, err = p.goOn(t, &id, "")
		p.close(t)
		if err != nil {
			t.Fatal(err)
		}
		r := s.Outcome.Result
		switch name {
		case "kept":
			if s.State != journal.Done || r.Shown.Text != `end ok{"n":1}` {
				t.Errorf("kept: %s %+v %v", s.State, r.Shown, r.Err)
			}
		default:
			if s.State != journal.Failed || r.Err == nil || !strings.Contains(r.Err.Msg, "is there no more") || len(happened(t, dir)) != 0 {
				t.Errorf("%s: %s %v, %v", name, s.State, r.Err, happened(t, dir))
			}
		}
	}
}

// TestEnginesAreRemoved: at a start the engines are kept that stored scripts need, and
// no others.
func TestEnginesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	engines := filepath.Join(dir, "engines")
	p := boot(t, dir, 0, Options{Patience: -1})
	defer func() { p.close(t) }()
	if err := p.Recover(t.Context(), engines); err != nil {
		t.Fatal("no folder:", err)
	}
	runner, err := p.runner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := runner.WithEngines(NewKeptEngines(engines, runner.engine, scriptproc.Options{}))
	p.Runs.runner = func(context.Context) (*Runner, error) { return kept, nil }
	id, err := p.Start(t.Context(), Script{Source: "await tools.ask({n: 1}); return 'end'", Scope: mine, CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.Wait(t.Context(), "me", id, 0); err != nil || s.State != journal.Waiting {
		t.Fatal(s.State, err)
	}
	for _, name := range []string{"1234", "new-56"} {
		if err := os.MkdirAll(filepath.Join(engines, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (names []string) {
		if err := p.Recover(t.Context(), engines); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(engines)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if got := left(); len(got) != 1 || got[0] != runner.engine.Digest() {
		t.Errorf("a script waits, and the engines are %v", got)
	}
	if err := p.Cancel(t.Context(), "me", id); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context(), "me", id, 0); err != nil {
		t.Fatal(err)
	}
	if got := left(); len(got) != 0 {
		t.Errorf("no script waits, and the engines are %v", got)
	}
}

// TestChangedState: a state that was changed on the disk is refused, and nothing of the
// script runs.
func TestChangedState(t *testing.T) {
	dir := t.TempDir()
	p := boot(t, dir, 0, Options{Patience: -1})
	id, err := p.Start(t.Context(), Script{Source: "await tools.ask({n: 1}); return 'end'", Scope: mine, CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.Wait(t.Context(), "me", id, 0); err != nil || s.State != journal.Waiting {
		t.Fatal(s.State, err)
	}
	if _, err := p.db.ExecContext(t.Context(), "UPDATE scripts SET snapshot = CAST(substr(snapshot, 1, 5000) || CASE WHEN substr(snapshot, 5001, 1) = X'00' THEN X'01' ELSE X'00' END || substr(snapshot, 5002) AS BLOB) WHERE id = ?", id); err != nil {
		t.Fatal(err)
	}
	s, err := p.goOn(t, &id, "")
	if err != nil || s.State != journal.Failed || !strings.Contains(s.Outcome.Result.Err.Msg, "was changed") || len(happened(t, dir)) != 0 {
		t.Errorf("%s %+v %v", s.State, s.Outcome, err)
	}
	p.close(t)
}

// TestForgedState: who can write the database puts no state of their own into a script, and
// not that of another one.
func TestForgedState(t *testing.T) {
	dir := t.TempDir()
	p := boot(t, dir, 0, Options{Patience: -1})
	defer p.close(t)
	ids := make([]string, 2)
	for i := range ids {
		id, err := p.Start(t.Context(), Script{Source: "await tools.ask({n: 1}); return 'end'", Scope: mine, CallID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := p.Wait(t.Context(), "me", id, 0); err != nil || s.State != journal.Waiting {
			t.Fatal(s.State, err)
		}
		ids[i] = id
	}
	engine, err := crashEngine()
	if err != nil {
		t.Fatal(err)
	}
	vm, _, err := engine.Start(t.Context(), scriptproc.Start{Source: "await tools.ask({n: 1}); return 'forged'", Setting: scriptvm.Setting{Tools: []string{"ask"}}})
	if err != nil {
		t.Fatal(err)
	}
	forged, err := vm.Snapshot(t.Context())
	vm.Close()
	if err != nil {
		t.Fatal(err)
	}
	for id, change := range map[string]func() error{
		ids[0]: func() error {
			_, err := p.db.ExecContext(t.Context(), "UPDATE scripts SET snapshot = ? WHERE id = ?", forged, ids[0])
			return err
		},
		ids[1]: func() error {
			third, err := p.Start(t.Context(), Script{Source: "await tools.ask({n: 2}); return 'another'", Scope: mine, CallID: "c"})
			if err == nil {
				_, err = p.Wait(t.Context(), "me", third, 0)
			}
			if err == nil {
				_, err = p.db.ExecContext(t.Context(), "UPDATE scripts SET snapshot = (SELECT snapshot FROM scripts WHERE id = ?) WHERE id = ?", third, ids[1])
			}
			return err
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		s, err := p.Get(t.Context(), "me", id)
		if err == nil {
			err = p.Decide(t.Context(), "me", id, map[int]Verdict{s.Card[0].Number: {Allow: true, By: "me", Digest: s.Card[0].Digest}})
		}
		if err == nil {
			s, err = p.Wait(t.Context(), "me", id, 0)
		}
		if err != nil || s.State != journal.Failed || s.Outcome.Result.Err == nil || len(happened(t, dir)) != 0 {
			t.Errorf("%s %+v %v", s.State, s.Outcome, err)
		}
	}
}

// TestAnotherToken: a script that was stored under a token of the operator that was replaced
// ends, with the reason.
func TestAnotherToken(t *testing.T) {
	dir := t.TempDir()
	p := boot(t, dir, 0, Options{Patience: -1})
	id, err := p.Start(t.Context(), Script{Source: "return 'end ' + await tools.ask({n: 1})", Scope: mine, CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.Wait(t.Context(), "me", id, 0); err != nil || s.State != journal.Waiting {
		t.Fatal(s.State, err)
	}
	p.close(t)
	p = boot(t, dir, 0, Options{Patience: -1})
	defer p.close(t)
	p.sealedFor(t, "new")
	if err := p.Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s, err := p.Get(t.Context(), "me", id)
	if err != nil || s.State != journal.Cancelled || !strings.Contains(s.Outcome.Result.Err.Msg, "another token") {
		t.Errorf("%s %+v %v", s.State, s.Outcome, err)
	}
}

// TestRunTime: a script runs for Options.Time in all, also over pauses, and the time in
// which it waits for a person does not count.
func TestRunTime(t *testing.T) {
	const most = 2 * time.Second // on a busy machine a start takes a tenth of it
	p := boot(t, t.TempDir(), 0, Options{Patience: -1, Time: most})
	defer p.close(t)
	var running sync.WaitGroup
	defer running.Wait()
	for source, want := range map[string]tool.Code{
		"for (;;) await tools.read({slow: 1})":                                            "timed_out",
		"for (let i = 0; ; i++) { await tools.read({slow: 1}); await tools.ask({n: i}) }": "timed_out",
		"await tools.read({slow: 1}); await tools.ask({n: 1}); return 1":                  "",
	} {
		id, err := p.Start(t.Context(), Script{Source: source, Scope: mine, CallID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			for thinks := most + 50*time.Millisecond; ; thinks = 0 {
				s, err := p.Wait(t.Context(), "me", id, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if s.State.Ended() {
					if r := s.Outcome.Result; (r.Err == nil) != (want == "") || r.Err != nil && r.Err.Code != want {
						t.Errorf("%s: %v", source, r.Err)
					}
					return
				}
				time.Sleep(thinks)
				if err := p.Decide(t.Context(), "me", id, map[int]Verdict{s.Card[0].Number: {Allow: true, Digest: s.Card[0].Digest}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
}

// TestPatience: a script that waits for a slow call is put away meanwhile, without its
// memory, and goes on with the result.
func TestPatience(t *testing.T) {
	p := boot(t, t.TempDir(), 0, Options{Patience: 20 * time.Millisecond})
	defer p.close(t)
	s, err := p.goOnce(t, "const r = Math.random(); const a = [await tools.read({slow: 1}), await tools.write({slow: 2})].map(String).join(); return a + (r === Math.random())")
	if err != nil || s.State != journal.Done || s.Outcome.Result.Shown.Text != `ok{"slow":1},ok{"slow":2}false` {
		t.Errorf("%s %+v %v", s.State, s.Outcome, err)
	}
	resumes := 0
	for _, point := range p.points {
		if point == "after resume" {
			resumes++
		}
	}
	if resumes != 2 {
		t.Errorf("it was put away %d times", resumes)
	}
}
