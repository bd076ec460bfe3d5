package scriptproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/internal/testtime"
)

// TestMain is also the process.
func TestMain(m *testing.M) {
	if code, ok := worker.Main(worker.Tasks{worker.Scripts: Serve}); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// open returns an Engine whose slots are processes, if this system has them.
func open(t *testing.T, o Options) *Engine {
	t.Helper()
	if worker.Supported() {
		o.Command = []string{os.Args[0]}
	}
	o.VM.CacheDir = guesttest.Cache(t)
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// slots returns how many slots there are, with a script and without.
func (e *Engine) counts() (used, idle, resting int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.used), len(e.idle), len(e.resting)
}

// answer answers everything with the number of its want.
func answer(wants []scriptvm.Want) (out []scriptvm.Answer) {
	for _, w := range wants {
		out = append(out, scriptvm.Answer{ID: w.ID, Value: json.RawMessage(fmt.Sprintf(`{"tool":"a","uuid":"","chars":1,"lines":1,"text":"%d"}`, w.ID))})
	}
	return out
}

// play runs a script to its end.
func play(ctx context.Context, e *Engine, user, source string) (scriptvm.State, error) {
	s, state, err := e.Start(ctx, Start{Source: source, User: user, Setting: scriptvm.Setting{Tools: []string{"a"}}})
	if err != nil {
		return state, err
	}
	defer s.Close()
	for err == nil && !state.Done {
		state, err = s.Step(ctx, answer(state.Wants))
	}
	return state, err
}

func output(s scriptvm.State) string {
	var out []string
	for _, p := range s.Output {
		out = append(out, string(p))
	}
	return strings.Join(out, ",")
}

// 64 scripts that all call tools end on two slots, whatever order they come in.
func TestManyScriptsOnTwoSlots(t *testing.T) {
	e := open(t, Options{Slots: 2})
	var all sync.WaitGroup
	for n := range 64 {
		all.Go(func() {
			source := fmt.Sprintf("let sum = %d; for (let i = 0; i < 3; i++) sum += Number(String(await tools.a({i}))); return sum", 1000*n)
			state, err := play(t.Context(), e, "me", source)
			if want := fmt.Sprint(`"`, 1000*n+6, `"`); err != nil || output(state) != want {
				t.Errorf("%d: %s, %v; want %s", n, output(state), err, want)
			}
		})
	}
	all.Wait()
	if used, idle, resting := e.counts(); used != 0 || resting != 0 || idle > 2 {
		t.Errorf("%d slots are used, %d idle; %d scripts rest", used, idle, resting)
	}
}

// A script that waits has no process after a moment, and goes on as it was.
func TestAScriptThatWaitsHasNoProcess(t *testing.T) {
	e := open(t, Options{Rest: 20 * time.Millisecond, Idle: 20 * time.Millisecond})
	s, state, err := e.Start(t.Context(), Start{Source: "const x = 'kept'; return x + await tools.a({})", Setting: scriptvm.Setting{Tools: []string{"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	testtime.Until(t, "the script has no process, and nothing else has", func() bool {
		used, idle, resting := e.counts()
		return used+idle+resting == 0
	})
	snapshot, err := s.Snapshot(t.Context())
	if err != nil || scriptvm.RuntimeOf(snapshot) != e.Digest() {
		t.Fatalf("a snapshot of %q, %v", scriptvm.RuntimeOf(snapshot), err)
	}
	if state, err = s.Step(t.Context(), answer(state.Wants)); err != nil || output(state) != `"kept1"` {
		t.Errorf("%s, %v", output(state), err)
	}
}

// A snapshot goes on in another process, and a changed one does not.
func TestResume(t *testing.T) {
	e := open(t, Options{Rest: -1})
	s, state, err := e.Start(t.Context(), Start{Source: "return 'a' + await tools.a({})", Setting: scriptvm.Setting{Tools: []string{"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Snapshot(t.Context())
	s.Close()
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.Resume(snapshot, "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if out, err := again.Step(t.Context(), answer(state.Wants)); err != nil || output(out) != `"a1"` {
		t.Errorf("%s, %v", output(out), err)
	}
	changed := slices.Clone(snapshot)
	changed[len(changed)-1] ^= 1
	if _, err := e.Resume(changed, "me", nil); !errors.Is(err, scriptvm.ErrSnapshot) {
		t.Error(err)
	}
	other := scriptvm.OwnFiles()
	other.Prelude = append([]byte("/* another */"), other.Prelude...)
	if from, err := open(t, Options{VM: scriptvm.Options{Files: other}}).Resume(snapshot, "me", nil); err != nil {
		t.Error(err)
	} else if _, err := from.Step(t.Context(), nil); !errors.Is(err, scriptvm.ErrSnapshot) {
		t.Error(err)
	}
}

// What ends a script ends no other, and the slot serves the next one.
func TestScriptsThatEndBadly(t *testing.T) {
	e := open(t, Options{Slots: 1, VM: scriptvm.Options{StepTime: time.Second, Time: 2 * time.Second}})
	for source, want := range map[string]error{
		"for (;;) {}": scriptvm.ErrTime,
		"const all = []; for (;;) all.push(new Uint8Array(1 << 23))": scriptvm.ErrBroken,
		strings.Repeat("x", scriptvm.MaxSource+1):                    scriptvm.ErrSource,
		"\xff": scriptvm.ErrSource,
	} {
		state, err := play(t.Context(), e, "me", source)
		if want == scriptvm.ErrBroken && err == nil && state.Fault != nil { // it could be caught
			err = want
		}
		if !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", source, err, want)
		}
		if state, err := play(t.Context(), e, "me", "return 6 * 7"); err != nil || output(state) != `"42"` {
			t.Fatalf("after %.40q: %s, %v", source, output(state), err)
		}
	}
	if f, err := e.Check(t.Context(), "\nreturn )"); err != nil || f == nil || f.Line != 2 {
		t.Error(f, err)
	}
}

// A script whose process is killed says so, and the next one runs.
func TestAProcessThatIsKilled(t *testing.T) {
	if !worker.Supported() {
		t.Skip("this system has no workers")
	}
	e := open(t, Options{Slots: 1, Rest: time.Hour})
	s, state, err := e.Start(t.Context(), Start{Source: "return await tools.a({})", Setting: scriptvm.Setting{Tools: []string{"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	process, err := os.FindProcess(s.slot.(*child).helper.PID())
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(t.Context(), answer(state.Wants)); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if state, err := play(t.Context(), e, "me", "return 6 * 7"); err != nil || output(state) != `"42"` {
		t.Fatalf("%s, %v", output(state), err)
	}
}

// The end of the caller, or of weir, ends the wait for a slot.
func TestTheWaitForASlotEnds(t *testing.T) {
	e := open(t, Options{Slots: 1})
	ctx, cancel := context.WithCancel(t.Context())
	computing := make(chan error)
	go func() {
		_, err := play(ctx, e, "me", "for (;;) {}")
		computing <- err
	}()
	testtime.Until(t, "the slot is used", func() bool { used, _, _ := e.counts(); return used == 1 })
	stop, calls := make(chan struct{}), make(chan error, 2)
	go func() {
		_, _, err := e.Start(t.Context(), Start{Source: "return 1", User: "me", Stop: stop})
		calls <- err
	}()
	gone, leave := context.WithCancel(t.Context())
	go func() {
		_, err := play(gone, e, "me", "return 1")
		calls <- err
	}()
	waiting := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.waiting)
	}
	testtime.Until(t, "two wait", func() bool { return waiting() == 2 })
	close(stop)
	if err := <-calls; !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	leave()
	if err := <-calls; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	cancel()
	if err := <-computing; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if state, err := play(t.Context(), e, "me", "return 1"); err != nil {
		t.Error(state, err)
	}
}

// Scripts of one user that compute on all slots do not hold up those of another.
func TestUsersShareTheSlots(t *testing.T) {
	e := open(t, Options{Slots: 2, VM: scriptvm.Options{StepTime: time.Minute, Time: time.Hour}})
	ctx, cancel := context.WithCancel(t.Context())
	var ann sync.WaitGroup
	defer ann.Wait()
	defer cancel()
	for range 6 {
		ann.Go(func() { _, _ = play(ctx, e, "ann", "for (;;) {}") }) // until the test ends
	}
	testtime.Until(t, "ann has all slots", func() bool { used, _, _ := e.counts(); return used == 2 })
	if state, err := play(t.Context(), e, "bob", "return 1"); err != nil || output(state) != `"1"` {
		t.Errorf("%s, %v", output(state), err)
	}
	if used, _, _ := e.counts(); used != 2 {
		t.Errorf("%d slots are used afterwards", used)
	}
}

// The slot that comes free is for who has the fewest, and among those for who came first.
func TestWhoIsNext(t *testing.T) {
	for _, c := range []struct{ used, waiting, next string }{
		{"", "ann bob", "ann"},
		{"ann", "ann bob", "bob"},
		{"ann bob", "bob ann", "bob"},
		{"ann ann bob", "ann bob", "none"},
		{"ann ann ann", "ann bob", "bob"},
		{"ann ann bob", "ann cy dan", "cy"},
		{"ann ann bob cy dan eve", "fay", "none"},
		{"ann", "", "none"},
	} {
		e := &Engine{slots: 3, used: strings.Fields(c.used)}
		for _, user := range strings.Fields(c.waiting) {
			e.waiting = append(e.waiting, &waiter{user: user})
		}
		got := "none"
		if at := e.next(); at >= 0 {
			got = e.waiting[at].user
		}
		if got != c.next {
			t.Errorf("of %q beside %q: %s, want %s", c.waiting, c.used, got, c.next)
		}
	}
}

// A process has no more than its pipe: no environment, no working folder, and no file of the
// caller.
func TestAProcessHasNothing(t *testing.T) {
	if !worker.Supported() {
		t.Skip("this system has no workers")
	}
	e := open(t, Options{Rest: time.Hour})
	s, _, err := e.Start(t.Context(), Start{Source: "await tools.a({})", Setting: scriptvm.Setting{Tools: []string{"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	proc := filepath.Join("/proc", fmt.Sprint(s.slot.(*child).helper.PID()))
	if text, err := os.ReadFile(filepath.Join(proc, "environ")); err == nil && len(text) > 0 {
		t.Errorf("its environment is %q", text)
	}
	if dir, err := os.Readlink(filepath.Join(proc, "cwd")); err == nil && dir != "/" {
		t.Errorf("its working folder is %s", dir)
	}
}
