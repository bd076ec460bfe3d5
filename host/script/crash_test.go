package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/installkey"
	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/sdk/tool"
)

// errCrash ends a process of the tests: nothing that comes after it has an effect.
var errCrash = errors.New("the process has ended")

// A process is one that runs stored scripts. Its tools note their effects in a file.
type process struct {
	*Runs
	db      *sqlite.DB
	effects string

	mu     sync.Mutex
	points []string // where it could have ended so far
	end    int      // the number of the point at which it ends, from 1; 0: never
	kill   bool     // it does so by SIGKILL
	tool   string   // the identity of the tools
	// stopAt is the number of the point at which the process is asked to stop; 0: never.
	stopAt  int
	stopped sync.WaitGroup
}

// crashCache holds the compiled engine between the processes of TestKilled.
var crashCache = filepath.Join(os.TempDir(), "weir-script-tests")

var crashEngine = sync.OnceValues(func() (*scriptproc.Engine, error) {
	return scriptproc.Open(context.Background(), scriptproc.Options{VM: scriptvm.Options{CacheDir: crashCache}})
})

// inMemory lets the tests' folders be in memory, where the system has that: only the end
// of a process is tested here, not that of the machine.
func inMemory(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

// boot starts a process on a folder, which ends at a point.
func boot(t testing.TB, dir string, end int, o Options) *process {
	t.Helper()
	engine, err := crashEngine()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "weir.db")})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{db: db, effects: filepath.Join(dir, "effects"), end: end}
	runner := New(engine, nothing{}, o)
	p.Runs = NewRuns(func(context.Context) (*Runner, error) { return runner, nil }, j, p, nil)
	p.at = p.point
	p.sealedFor(t, "token")
	return p
}

// sealedFor seals states with the key for a token of the operator.
func (p *process) sealedFor(t testing.TB, token string) {
	t.Helper()
	key, err := installkey.Open(t.Context(), p.db, token)
	if err != nil {
		t.Fatal(err)
	}
	p.SealWith(key)
}

// point is a place at which the process can end.
func (p *process) point(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.points = append(p.points, name)
	if len(p.points) == p.stopAt {
		p.stopped.Go(p.halt)
	}
	if p.end > 0 && len(p.points) >= p.end {
		if p.kill {
			if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
				select {}
			}
		}
		return errCrash
	}
	return nil
}

// halt is a stop of the process, after which it is gone.
func (p *process) halt() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	p.Stop(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == 0 || p.end > len(p.points) {
		p.end = len(p.points)
	}
}

// identity returns that of the tools, and gives them another one that is not empty.
func (p *process) identity(next string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next != "" {
		p.tool = next
	}
	return p.tool
}

func (p *process) dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end > 0 && len(p.points) >= p.end
}

// close waits for what runs, and closes the file.
func (p *process) close(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if p.dead() {
		cancel()
	}
	p.Stop(ctx)
	cancel()
	if err := p.db.Close(); err != nil {
		t.Error(err)
	}
}

// Open implements Callers.
func (p *process) Open(_ Script, a approval.Approver, begin func(context.Context, tool.Call) error) (Caller, error) {
	var specs []tool.Spec
	for _, name := range []string{"read", "write", "again", "ask"} {
		specs = append(specs, tool.Spec{Name: name})
	}
	return Caller{Session: &fakeSession{p, a, begin}, Tools: specs, Repeats: p.Repeats}, nil
}

// Repeats implements Callers.
func (p *process) Repeats(name string) Repeat {
	return map[string]Repeat{"read": Reads, "again": Idempotent}[name]
}

// nothing is an archive without results.
type nothing struct{}

func (nothing) Get(context.Context, archive.Scope, string) (archive.Entry, error) {
	return archive.Entry{}, archive.ErrNotFound
}

func (nothing) Peek(context.Context, archive.Scope, string, archive.Part) (archive.Page, error) {
	return archive.Page{}, archive.ErrNotFound
}

// A fakeSession calls tools in the order of a host: it asks, begins, runs.
type fakeSession struct {
	p     *process
	asks  approval.Approver
	begin func(context.Context, tool.Call) error
}

func (s *fakeSession) FindToolsAmong(context.Context, string, int, func(string) bool) []string {
	return nil
}

func (s *fakeSession) IngestAs(_ context.Context, _ tool.Spec, c tool.Call, whole []byte, note string) (tool.Result, error) {
	return tool.Result{CallID: c.ID, Tool: c.Tool, Shown: tool.View{Text: string(whole)}, Note: note}, nil
}

func (s *fakeSession) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if c.Tool == "ask" || c.Tool == "write" && strings.Contains(string(c.Args), "asks") {
		a, err := s.asks.Approve(ctx, approval.Request{CallID: c.ID, Tool: c.Tool, Args: c.Args, Identity: s.p.identity("")})
		if err != nil || a.Verdict == approval.Refuse {
			return tool.Result{Err: tool.Errorf(tool.Denied, "", "no")}, nil
		}
	}
	if s.begin(ctx, c) != nil {
		return tool.Result{Err: tool.Errorf(tool.Cancelled, "", "not begun")}, nil
	}
	if strings.Contains(string(c.Args), "slow") {
		time.Sleep(100 * time.Millisecond)
	}
	if err := s.p.point("before effect"); err != nil {
		return tool.Result{}, err
	}
	line := c.Tool + string(c.Args) + "\n"
	s.p.mu.Lock()
	f, err := os.OpenFile(s.p.effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line)
		f.Close()
	}
	s.p.mu.Unlock()
	if err != nil {
		return tool.Result{}, err
	}
	if err := s.p.point("after effect"); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Tool: c.Tool, Shown: tool.View{Text: "ok" + string(c.Args), TotalChars: 2 + len(c.Args)}}, nil
}

// happened counts the effects.
func happened(t testing.TB, dir string) map[string]int {
	t.Helper()
	out := map[string]int{}
	text, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}

var mine = archive.Scope{Principal: "me", Conversation: "c"}

// replay lets processes follow each other until the script has ended: the first at points[0],
// and so on, the last one never. A person allows what waits. It returns the script's
// end, and the points that the first process came to.
func replay(t testing.TB, dir, source string, points ...int) (Status, []string) {
	t.Helper()
	var first []string
	id := ""
	for n := 0; n < 20; n++ {
		end := 0
		if n < len(points) {
			end = points[n]
		}
		p := boot(t, dir, end, Options{Patience: -1})
		s, err := p.goOn(t, &id, source)
		p.close(t)
		if n == 0 {
			first = p.points
		}
		if err == nil && s.State.Ended() {
			return s, first
		}
		if !p.dead() {
			t.Fatalf("after %v: %v, %v", points, s.State, err)
		}
	}
	t.Fatalf("it does not end after %v", points)
	return Status{}, nil
}

// goOn starts the script if it is not stored, and lets it go on to its end.
func (p *process) goOn(t testing.TB, id *string, source string) (s Status, err error) {
	list, err := p.List(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		if *id, err = p.Start(t.Context(), Script{Source: source, Scope: mine, CallID: "c"}); err != nil {
			return s, err
		}
	} else if *id = list[0].ID; p.Recover(t.Context(), "") != nil {
		return s, errCrash
	}
	for {
		if s, err = p.Wait(t.Context(), "me", *id, 0); err != nil || s.State.Ended() || p.dead() {
			return s, err
		}
		verdicts := map[int]Verdict{}
		for _, q := range s.Card {
			verdicts[q.Number] = Verdict{Allow: true, By: "me", Digest: q.Digest}
		}
		if len(verdicts) == 0 {
			return s, fmt.Errorf("it waits for nothing: %+v", s)
		}
		if err = p.Decide(t.Context(), "me", *id, verdicts); err != nil {
			return s, err
		}
	}
}

// crashing is a script with calls at once, one after the other, and one that waits for a
// person. It returns what came of each call that has an effect, in a fixed order.
const crashing = `
const out = [];
const call = async (tool, args) => { try { return String(await tools[tool](args)) } catch (e) { return e.code } };
let random = Math.random();
out.push(...await Promise.all([call("write", {n: 1}), call("ask", {n: 2}), call("again", {n: 3}), call("write", {n: 4})]));
for (let i = 0; i < 4; i++) {
  await tools.read({i, random});
  const r = Math.random();
  out.push(await call("write", {n: 10 + i}));
  if (r === random) throw new Error("the same");
}
out.push(...await Promise.all([call("ask", {n: 20}), call("ask", {n: 21})]));
text(out.join("\n"));
return "end"`

// expectation is what it returns, without a crash.
func expectation() []string {
	var out []string
	for _, c := range []string{`1`, `2`, `3`, `4`, `10`, `11`, `12`, `13`, `20`, `21`} {
		out = append(out, `ok{"n":`+c+`}`)
	}
	return out
}

// checkCrashed checks the answer of a script after crashes, and what happened.
func checkCrashed(t *testing.T, name string, dir string, s Status, crashes int) (unknown int) {
	t.Helper()
	if s.State != journal.Done || s.Outcome == nil || s.Outcome.Result.Err != nil {
		t.Fatalf("%s: %+v", name, s)
	}
	lines := strings.Split(s.Outcome.Result.Shown.Text, "\n")
	effects, expected := happened(t, dir), expectation()
	if len(lines) != len(expected)+1 || lines[len(expected)] != "end" {
		t.Fatalf("%s: %q", name, lines)
	}
	for i, line := range lines[:len(expected)] {
		args := strings.TrimPrefix(expected[i], "ok")
		of := "write"
		switch i {
		case 1, 8, 9:
			of = "ask"
		case 2:
			of = "again"
		}
		n := effects[of+args]
		switch {
		case line == expected[i] && of != "again" && n != 1, line == expected[i] && n < 1:
			t.Errorf("%s: %s%s happened %d times", name, of, args, n)
		case line == string(tool.OutcomeUnknown) && of != "again" && n <= 1:
			unknown++
		case line != expected[i]:
			t.Errorf("%s: %s%s came to %q, and happened %d times", name, of, args, line, n)
		}
	}
	if unknown > crashes*DefaultParallel {
		t.Errorf("%s: of %d calls the outcome is unknown", name, unknown)
	}
	return unknown
}

// TestCrashes: the process ends at each point before and after every commit, effect,
// snapshot and resume. Another one comes to the same answer, and no effect happens twice.
func TestCrashes(t *testing.T) {
	inMemory(t)
	_, points := replay(t, t.TempDir(), crashing)
	kinds := map[string]int{}
	for _, p := range points {
		kinds[p]++
	}
	t.Log(len(points), "points:", kinds)
	unknown, tried := 0, map[string]bool{}
	for n := 1; n <= len(points); n++ {
		if tried[points[n-1]] && n%testsize.Of(5, 1) > 0 {
			continue
		}
		tried[points[n-1]] = true
		dir := t.TempDir()
		s, _ := replay(t, dir, crashing, n)
		unknown += checkCrashed(t, fmt.Sprintf("at %d of %d, %s", n, len(points), points[n-1]), dir, s, 1)
	}
	for n := 1; n <= testsize.Of(20, 150); n++ { // and again, in the process that goes on
		dir := t.TempDir()
		first, second := 1+n*7%len(points), 1+n*5%len(points)
		s, _ := replay(t, dir, crashing, first, second)
		unknown += checkCrashed(t, fmt.Sprintf("at %d and %d of %d", first, second, len(points)), dir, s, 2)
	}
	t.Logf("%d outcomes unknown", unknown)
	if wanted := []string{"before save", "after save", "before begin", "after begin", "before answer", "after answer", "before effect", "after effect", "before snapshot", "before resume", "after resume", "before decide", "after decide", "before end", "after end", "before add", "after add"}; !slices.Equal(slices.Sorted(maps.Keys(kinds)), slices.Sorted(slices.Values(wanted))) {
		t.Errorf("the points are %v", kinds)
	}
}

// TestCrashesAtAStop: the process is asked to stop at a point, and ends while it stops, or
// after it has stopped. Another one comes to the same answer, and no effect happens twice.
func TestCrashesAtAStop(t *testing.T) {
	inMemory(t)
	_, points := replay(t, t.TempDir(), crashing)
	unknown, stops := 0, 0
	for at := 1; at <= len(points); at += testsize.Of(11, 3) {
		for _, later := range []int{0, 1, 3} {
			dir, end := t.TempDir(), 0
			if later > 0 {
				end = at + later
			}
			p := boot(t, dir, end, Options{Patience: -1})
			p.stopAt = at
			var id string
			_, _ = p.goOn(t, &id, crashing) // it ends with an error, or because the process does
			p.stopped.Wait()
			stops++
			p.close(t)
			s, _ := replay(t, dir, crashing)
			unknown += checkCrashed(t, fmt.Sprintf("stopped at %d of %d (%s), %d more", at, len(points), points[at-1], later), dir, s, 1)
		}
	}
	t.Logf("%d stops, %d outcomes unknown", stops, unknown)
}

// TestKilled is TestCrashes with processes that are killed. They are this program, which
// runs the script in its environment's folder until the point of its environment.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("WEIR_CRASH_DIR"); dir != "" {
		end, err := strconv.Atoi(os.Getenv("WEIR_CRASH_AT"))
		if err != nil {
			t.Fatal(err)
		}
		p := boot(t, dir, end, Options{Patience: -1})
		p.kill = true
		var id string
		if _, err := p.goOn(t, &id, crashing); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("a process is killed otherwise")
	}
	inMemory(t)
	unknown := 0
	kills := [][]int{{2}, {9}, {14}, {17}, {23, 11}, {31}, {38, 20}, {46}, {55, 7}, {63}, {74}, {82, 3}}
	if os.Getenv("WEIR_KILL_EVERYWHERE") != "" { // by hand: a minute or two
		_, points := replay(t, t.TempDir(), crashing)
		kills = nil
		for end := range len(points) {
			if kills = append(kills, []int{end + 1}); end < len(points)-20 {
				kills = append(kills, []int{end + 1, 2}, []int{end + 1, 5})
			}
		}
	}
	for _, points := range kills {
		dir := t.TempDir()
		for _, end := range points {
			child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
			child.Env = append(os.Environ(), "WEIR_CRASH_DIR="+dir, "WEIR_CRASH_AT="+strconv.Itoa(end))
			text, err := child.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != -1 {
				t.Fatalf("at %d of %v: %v\n%s", end, points, err, text)
			}
		}
		s, _ := replay(t, dir, crashing)
		unknown += checkCrashed(t, fmt.Sprintf("killed at %v", points), dir, s, len(points))
	}
	t.Logf("%d processes killed, %d outcomes unknown", len(slices.Concat(kills...)), unknown)
}
