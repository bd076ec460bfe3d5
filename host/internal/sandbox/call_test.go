package sandbox

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/sdk/tool"
)

// answer runs an export of the Go guest that must succeed.
func answer(t *testing.T, m *Module, inv Invocation) string {
	t.Helper()
	out, fail := m.Call(t.Context(), inv)
	if fail != nil {
		t.Fatalf("%s: %v", inv.Export, fail)
	}
	return string(out.Bytes)
}

func TestCallAnswers(t *testing.T) {
	m := guest(t)
	big := strings.Repeat("水 flows ", 20_000)
	for _, row := range []struct {
		name string
		inv  Invocation
		want string
	}{
		{"text in several scripts", Invocation{Export: "echo", Input: []byte(`{"q":"大坝 weir"}`)}, `{"q":"大坝 weir"}`},
		{"more than one page each way", Invocation{Export: "echo", Input: []byte(big)}, big},
		{"no input, no output: the caller decides", Invocation{Export: "silent"}, ""},
		{"stdout is not the answer", Invocation{Export: "talk"}, "said"},
		{"a flood of stdout costs nothing but time", Invocation{Export: "flood"}, "done"},
		{"the operator's setting", Invocation{Export: "config", Input: []byte("depth"), Grant: Grant{Config: map[string]string{"depth": "3"}}}, "3"},
		{"the limits in force", Invocation{Export: "config", Input: []byte("weir.max_chars"), Limits: tool.Limits{MaxChars: 5000}}, "5000"},
		{"limits win over a setting of their name", Invocation{Export: "config", Input: []byte("weir.max_lines"),
			Limits: tool.Limits{MaxLines: 7}, Grant: Grant{Config: map[string]string{"weir.max_lines": "9"}}}, "7"},
		{"an unknown setting is empty", Invocation{Export: "config", Input: []byte("other")}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := answer(t, m, row.inv); got != row.want {
				t.Errorf("got %.80q, want %.80q", got, row.want)
			}
		})
	}
}

// Every failure of a guest has a type and a sentence for a model.
func TestCallFails(t *testing.T) {
	m := guest(t)
	for _, row := range []struct {
		name string
		inv  Invocation
		code tool.Code
		says string // a regular expression for the whole message
	}{
		{"an endless loop ends at its deadline", Invocation{Export: "spin", Timeout: 300 * time.Millisecond}, tool.TimedOut, `spin did not finish within 300ms`},
		{"so does a sleep in the host", Invocation{Export: "sleep", Timeout: 300 * time.Millisecond}, tool.TimedOut, `sleep did not finish within 300ms`},
		{"memory without end", Invocation{Export: "bigmem"}, tool.OutOfMemory, `bigmem needs more than its memory limit of 64MiB: .*`},
		{"a panic, in its own words, without colours", Invocation{Export: "panics"}, tool.Trapped, `panics crashed: panic: the disk is missing`},
		{"an exit that looks like success", Invocation{Export: "exit", Input: []byte("0")}, tool.Failed, `exit ended with exit code 0 and returned no result`},
		{"an exit that does not", Invocation{Export: "exit", Input: []byte("3")}, tool.Failed, `exit ended with exit code 3 and returned no result`},
		{"the guest's own error, nothing else", Invocation{Export: "refuses", Input: []byte("no such sheet: 第一页")}, tool.Failed, `no such sheet: 第一页`},
		{"an error text that imitates a trap stays a text", Invocation{Export: "refuses", Input: []byte("wasm error: unreachable\nwasm stack trace:")}, tool.Failed, `wasm error: unreachable wasm stack trace:`},
		{"an error text of nothing", Invocation{Export: "refuses"}, tool.Failed, `refuses failed with code 1 and gave no reason`},
		{"an error and then a crash", Invocation{Export: "hook"}, tool.Trapped, `hook crashed: .+; it reported: index out of range`},
		{"a number for a reason", Invocation{Export: "seven"}, tool.Failed, `seven failed with code 7 and gave no reason; it printed: warming up`},
		{"output that is not there", Invocation{Export: "claims"}, tool.Trapped, `claims returned an output that does not exist`},
		{"a block the host cannot give", Invocation{Export: "hugealloc"}, tool.OutOfMemory, `hugealloc needs more .*`},
		{"input over the host's limit", Invocation{Export: "echo", Input: make([]byte, maxInput+1)}, tool.TooLarge, `the arguments have 16777217 bytes; echo accepts at most 16777216`},
		{"no such export", Invocation{Export: "nothing"}, tool.Failed, `the plugin of nothing does not match its manifest: it exports no function "nothing"; it exports .*`},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, fail := m.Call(t.Context(), row.inv)
			if fail == nil {
				t.Fatalf("answered %.60q", out.Bytes)
			}
			if fail.Code != row.code || !regexp.MustCompile(`^(?:`+row.says+`)$`).MatchString(fail.Msg) {
				t.Errorf("got %v", fail)
			}
			if out.Bytes != nil {
				t.Errorf("output beside an error: %.60q", out.Bytes)
			}
			for _, leak := range []string{"goroutine", "wasm stack", "wazero", "*tool", "0x", "\x1b"} {
				if strings.Contains(fail.Error(), leak) && row.inv.Export != "refuses" {
					t.Errorf("the model would read %q in %q", leak, fail)
				}
			}
		})
	}
	if got := answer(t, m, Invocation{Export: "bigout", Input: []byte("3000"), MaxOutput: 2999}); len(got) != 2999 {
		t.Errorf("%d bytes of an output that is cut off after 2999", len(got))
	}
	// The failures above did not affect other calls.
	if got := answer(t, m, Invocation{Export: "echo", Input: []byte("still here")}); got != "still here" {
		t.Errorf("got %q", got)
	}
}

func TestCallOfACancelledCaller(t *testing.T) {
	m := guest(t)
	for _, export := range []string{"spin", "sleep"} {
		ctx, cancel := context.WithCancel(t.Context())
		if _, fail := m.Call(ctx, Invocation{Export: export, Progress: func(int, int, string) { cancel() }}); fail == nil || fail.Code != tool.Cancelled {
			t.Errorf("%s: got %v", export, fail)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, fail := m.Call(ctx, Invocation{Export: "spin"}); fail == nil || fail.Code != tool.TimedOut {
		t.Errorf("the caller's own deadline: got %v", fail)
	}
}

// A testSlot is a Slot for one guest.
type testSlot struct {
	free  chan struct{}
	taken int // how often
}

func (s *testSlot) Acquire(ctx context.Context, over <-chan struct{}) bool {
	select {
	case <-s.free:
		s.taken++
		return true
	case <-ctx.Done():
	case <-over:
	}
	return false
}

func (s *testSlot) Release() { s.free <- struct{}{} }

// A guest holds its slot exactly while it runs, however it ends; without a slot
// nothing runs.
func TestAGuestHasASlot(t *testing.T) {
	m, s := guest(t), &testSlot{free: make(chan struct{}, 1)}
	s.Release()
	for n, export := range []string{"talk", "spin"} {
		m.Call(t.Context(), Invocation{Export: export, Slot: s, Timeout: time.Second, Progress: func(int, int, string) {
			if len(s.free) != 0 {
				t.Errorf("%s runs without its place", export)
			}
		}})
		if s.taken != n+1 || len(s.free) != 1 {
			t.Errorf("behind %s the place was taken %d times, and %d are free", export, s.taken, len(s.free))
		}
	}
	<-s.free // somebody else has it
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if out, fail := m.Call(gone, Invocation{Export: "echo", Slot: s}); !out.NoSlot || fail == nil || fail.Code != tool.Cancelled {
		t.Errorf("got %+v, %v", out, fail)
	}
	if len(s.free) != 0 {
		t.Error("it gave back what it did not have")
	}
}

// A guest looks for the state of earlier calls in its globals and in Extism's
// variables, with spares too.
func TestAnInstanceHasNoOldState(t *testing.T) {
	for _, spares := range []int{0, 2} {
		m := load(t, newEngine(t, Config{Spares: spares}), Plugin{Name: "spy", Wasm: goGuest})
		for range 6 {
			if got := answer(t, m, Invocation{Export: "spy"}); got != `call 1, var ""` {
				t.Fatalf("%d spares: %s", spares, got)
			}
		}
	}
}

func TestCallsAtTheSameTime(t *testing.T) {
	m := load(t, newEngine(t, Config{Spares: 2}), Plugin{Name: "guest", Wasm: goGuest})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for j := range 4 {
				want := fmt.Sprintf("caller %d, call %d", i, j)
				out, fail := m.Call(t.Context(), Invocation{Export: "echo", Input: []byte(want)})
				if fail != nil || string(out.Bytes) != want {
					t.Errorf("got %q, %v", out.Bytes, fail)
				}
				if out.Memory < 1<<20 || out.Memory > DefaultGoMemory {
					t.Errorf("memory %d", out.Memory)
				}
			}
		})
	}
	wg.Wait()
}

// The guest's clock and random numbers are real, and everything else is empty.
func TestWorld(t *testing.T) {
	t.Setenv("HOST_SECRET", "canary")
	m := guest(t)
	seen := make(map[string]bool)
	for range 3 {
		var now int64
		var random, rest string
		got := answer(t, m, Invocation{Export: "world"})
		if _, err := fmt.Sscanf(got, "%d %s", &now, &random); err != nil {
			t.Fatal(err)
		}
		_, rest, _ = strings.Cut(got, random+" ")
		if guests, ours := time.Unix(now, 0), time.Now(); guests.Before(ours.Add(-time.Minute)) || guests.After(ours.Add(time.Minute)) {
			t.Errorf("the guest's clock says %v at %v", guests, ours)
		}
		if rest != "[] []" {
			t.Errorf("environment and arguments: %s", rest)
		}
		if seen[random] {
			t.Errorf("the same randomness twice: %s", random)
		}
		seen[random] = true
	}
}

func TestTalk(t *testing.T) {
	var book guesttest.LogBook
	t.Setenv(wasiOutput, "1") // would send stdout past the log
	m := load(t, newEngine(t, Config{Logger: book.Logger()}), Plugin{Name: "talker", Wasm: goGuest})
	var steps []string
	answer(t, m, Invocation{Export: "talk", Progress: func(done, total int, msg string) {
		steps = append(steps, fmt.Sprintf("%d/%d %s", done, total, msg))
	}})
	if diff := cmp.Diff([]string{"1/3 step 1", "2/3 step 2", "3/3 step 3"}, steps); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{
		"[INFO]  plugin.talker: by weir_log: from=log", "[ERROR] plugin.talker: beyond the levels: from=log",
		"[WARN]  plugin.talker: by log_warn: from=log", "[DEBUG] plugin.talker: by stdout: from=stdout",
	} {
		if !strings.Contains(book.String(), want) {
			t.Errorf("no %q in\n%s", want, book.String())
		}
	}
}

func TestFloodIsCut(t *testing.T) {
	var book guesttest.LogBook
	m := load(t, newEngine(t, Config{Logger: book.Logger()}), Plugin{Name: "flood", Wasm: goGuest})
	answer(t, m, Invocation{Export: "flood"})
	if n := strings.Count(book.String(), "all work and no play "); n > maxLogLines*maxLogLine/21 || n < maxLogLines {
		t.Errorf("%d repetitions kept", n)
	}
	if !strings.Contains(book.String(), "lines_dropped=1500") {
		t.Errorf("the log does not say what it left out: %s", book.String()[max(0, len(book.String())-200):])
	}
}
