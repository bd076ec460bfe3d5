//go:build linux

package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// patience is how long a test waits for an event.
const patience = time.Minute

func echo(t *testing.T, m *Module, text string) {
	t.Helper()
	if out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "echo", Input: []byte(text)}); fail != nil || string(out.Bytes) != text {
		t.Errorf("got %q, %v, want %q", out.Bytes, fail, text)
	}
}

// A worker is killed during a call.
func TestKilledWhileItRuns(t *testing.T) {
	p := newPool(t, nil)
	m := load(t, p, sandbox.Plugin{Name: "guest", Wasm: goGuest})
	before := childrenOf(os.Getpid())
	_, fail := m.Call(t.Context(), sandbox.Invocation{Export: "spin", Timeout: patience, Progress: func(int, int, string) {
		for _, pid := range childrenOf(os.Getpid()) {
			if !slices.Contains(before, pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}})
	if fail == nil || fail.Code != tool.Failed || fail.Msg != "spin was stopped by another program while it ran" {
		t.Errorf("got %v", fail)
	}
	echo(t, m, "after it")
}

// Workers are killed between calls: the next call gets a new one, also if this process has
// not noticed yet.
func TestKilledWhileItWaits(t *testing.T) {
	p := newPool(t, nil)
	m := load(t, p, sandbox.Plugin{Name: "guest", Wasm: goGuest})
	for range 5 {
		echo(t, m, "once more")
		p.mu.Lock()
		w := p.idle[0].w
		p.mu.Unlock()
		w.kill()
		testtime.Until(t, "it has ended", func() bool { return w.dead() || w.send.Write(kindLog, logMeta{}, nil) != nil })
	}
}

// A host whose worker computes is killed: the worker ends with it.
func TestWorkersEndWithTheirHost(t *testing.T) {
	dir := t.TempDir()
	wasm := filepath.Join(dir, "guest.wasm")
	if err := os.WriteFile(wasm, goGuest, 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, newPool(t, nil), sandbox.Plugin{Name: "guest", Wasm: goGuest}) // so that it is compiled
	for _, export := range []string{"spin", "sleep"} {
		role := asRole("host:" + export)
		host := exec.Command(role[0], role[1], command[0], guesttest.Cache(t), filepath.Join(dir, "quarantine.json"), wasm)
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		var pids []int
		if err != nil || json.Unmarshal([]byte(line), &pids) != nil || len(pids) == 0 {
			t.Fatalf("the host said %q, %v", line, err)
		}
		if err := host.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = host.Wait()
		testtime.Until(t, "the worker is gone", func() bool {
			return !slices.ContainsFunc(pids, func(pid int) bool { return isWorker(pid) })
		})
	}
}

// isWorker reports whether a process is a live worker.
func isWorker(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline"))
	return err == nil && strings.Contains(string(line), Argument)
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

// Guests use all that they can get: their worker is lost, and the next call succeeds.
func TestBombs(t *testing.T) {
	grow := []byte{0x03, 0x40, 0x41, 0x10, 0x40, 0x00, 0x41, 0x7f, 0x46, 0x04, 0x40, 0x00, 0x0b, 0x0c, 0x00, 0x0b, 0x00} // loop: memory.grow by 16 pages, trap at -1
	pages := wasmtest.New().Types(wasmtest.Func(nil, []byte{wasmtest.I32})).Functions(0).
		Memories(wasmtest.Limits(1, -1)).Exports(wasmtest.ExportFunc("run", 0)).Code(wasmtest.Body(grow...)).Bytes()
	for _, row := range []struct {
		name  string
		wasm  []byte
		most  tool.Bytes // of memory, as the sandbox counts it
		fresh bool
		code  tool.Code
		says  string // one of these, apart by "|"
	}{
		{"memory", pages, 0, false, tool.OutOfMemory, "it asked for more and crashed"},
		// At the kernel's bound the guest is refused, or its process is, whoever asks first.
		{"memory that the kernel refuses", pages, 2 << 30, false, tool.OutOfMemory, "it asked for more and crashed|its process ran out of memory"},
		{"memory that the sandbox does not count", pages, 2 << 30, true, tool.OutOfMemory, "its process ran out of memory"},
		{"recursion", wasmtest.Exporting("run", 0x10, 0x00), 0, false, tool.Trapped, "its calls were nested without end"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := load(t, newPool(t, nil), sandbox.Plugin{Name: "bomb", Wasm: row.wasm, Exports: []string{"run"}})
			m.plugin.Memory = row.most // the kernel's bound stays that of the default
			for range 2 {
				out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Timeout: patience, Fresh: row.fresh})
				if fail == nil || fail.Code != row.code || !slices.ContainsFunc(strings.Split(row.says, "|"), func(s string) bool { return strings.Contains(fail.Msg, s) }) {
					t.Errorf("got %q, %v, want %s", out.Bytes, fail, row.code)
				}
			}
		})
	}
}

// Calls are answered beside guests that never end.
func TestOtherCallsAreAnsweredBesideAnEndlessOne(t *testing.T) {
	m := load(t, newPool(t, nil), sandbox.Plugin{Name: "guest", Wasm: goGuest})
	ctx, cancel := context.WithCancel(t.Context())
	var spinning sync.WaitGroup
	for range 2 {
		started := make(chan struct{})
		spinning.Go(func() {
			_, fail := m.Call(ctx, sandbox.Invocation{Export: "spin", Timeout: time.Hour, Progress: func(int, int, string) { close(started) }})
			if fail == nil || fail.Code != tool.Cancelled || fail.Msg != "the call of spin was cancelled" {
				t.Errorf("got %v", fail)
			}
		})
		<-started
	}
	for range 20 {
		echo(t, m, "beside it")
	}
	cancel()
	spinning.Wait()
}

// A child finds no environment and no descriptors, before it is sealed.
func TestAWorkerFindsNoSecrets(t *testing.T) {
	t.Setenv("WEIR_CANARY", "secret")
	file := filepath.Join(t.TempDir(), "found")
	p := newPool(t, func(c *Config) { c.Command = asRole("spy:" + file) })
	lent := t.TempDir()
	left, other, err := os.Pipe() // as whoever starts a host may leave one open
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	defer other.Close()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, left.Fd(), syscall.F_SETFD, 0); errno != 0 {
		t.Fatal(errno)
	}
	w, err := p.spawn("spy", []jail.Mount{{Guest: "/w", Host: lent}})
	if err != nil {
		t.Fatal(err)
	}
	<-w.gone
	w.discard()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if pre, _, ok := strings.Cut(line, "pipe:"); ok {
			line = pre + "pipe"
		}
		seen = append(seen, line)
	}
	want := []string{"dir /", "environ []", "fd 0 /dev/null", "fd 1 /dev/null", "fd 2 pipe", "fd 3 pipe", "fd 4 pipe", "fd 5 " + lent, "NoNewPrivs:\t1"}
	slices.Sort(want)
	slices.Sort(seen)
	if !slices.Equal(seen, want) {
		t.Errorf("a worker finds %q, want %q", seen, want)
	}
}

// Children break the protocol: each is killed, with a typed failure.
func TestWorkersThatBreakTheProtocol(t *testing.T) {
	broken := "run was stopped: its process violated the protocol with its host"
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl) // so that it is compiled
	for _, row := range []struct {
		lie  string
		code tool.Code // empty: the call answers
		says string
	}{
		{"a huge length", tool.Failed, broken},
		{"a huge small part", tool.Failed, broken},
		{"an unknown kind", tool.Failed, broken},
		{"a parent's kind", tool.Failed, broken},
		{"a result that is none", tool.Failed, broken},
		{"no JSON", tool.Failed, broken},
		{"nothing small", tool.Failed, broken},
		{"too much output", tool.Failed, broken},
		{"an answer in JSON", tool.Failed, broken},
		{"a flat answer that is none", tool.Failed, broken},
		{"an answer that is flat and a text", tool.Failed, broken},
		{"an unknown code", tool.Failed, broken},
		{"output beside an error", tool.Failed, broken},
		{"log lines without end", tool.Failed, broken},
		{"reports without end", tool.Failed, broken},
		{"zeros without end", tool.Failed, broken},
		{"a request that is not granted", tool.Failed, broken},
		{"a thread of another", tool.Failed, broken},
		{"half a frame", tool.Trapped, "run crashed together with its process"},
		{"nothing", tool.Trapped, "run crashed together with its process"},
		{"an heir", tool.Trapped, "run crashed together with its process"},
		{"a closed pipe", tool.Failed, "run was stopped by another program while it ran"},
		{"words of another", tool.OutOfMemory, "run needs more than its memory limit of 32MiB: its process ran out of memory"},
		{"odd values", "", "fine"},
		{"odd words", tool.Failed, "ab c"},
	} {
		t.Run(row.lie, func(t *testing.T) {
			p := newPool(t, func(c *Config) { c.Command = asRole("liar:" + row.lie) })
			m := load(t, p, pl)
			out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Timeout: patience, MaxOutput: 1000, MCP: strings.Contains(row.lie, "answer")})
			switch {
			case row.code == "" && (fail != nil || string(out.Bytes) != row.says || out.Memory != 0 || out.Instance > patience):
				t.Errorf("got %+v, %v", out, fail)
			case row.code != "" && (fail == nil || fail.Code != row.code || fail.Msg != row.says):
				t.Errorf("got %v, want %s: %s", fail, row.code, row.says)
			}
		})
	}
}

// A call whose worker was lost goes to another one only if its guest was not begun.
func TestACallRunsOnce(t *testing.T) {
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl) // so that it is compiled
	for lie, tries := range map[string]string{"takes no call and dies": "xxxx", "reads the call and dies": "x"} {
		file := filepath.Join(t.TempDir(), "tries")
		m := load(t, newPool(t, func(c *Config) { c.Command = asRole("liar:" + lie + "=" + file) }), pl)
		_, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Timeout: patience})
		if fail == nil || fail.Code != tool.Trapped {
			t.Errorf("%s: %v", lie, fail)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != tries {
			t.Errorf("%s: tried %q, want %q, %v", lie, text, tries, err)
		}
	}
}

// A call is given to workers that do not begin it: after its deadline it goes to no
// other worker.
func TestNoWorkerBeginsACallAfterItsDeadline(t *testing.T) {
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl) // so that it is compiled
	for how, timeout := range map[string]time.Duration{"reads the call": 50 * time.Millisecond, "takes no call": 500 * time.Millisecond} {
		file := filepath.Join(t.TempDir(), "tries")
		m := load(t, newPool(t, func(c *Config) { c.Command = asRole("liar:" + how + " and sleeps=" + file) }), pl)
		_, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Timeout: timeout})
		if fail == nil || fail.Code != tool.TimedOut {
			t.Errorf("%s: %v", how, fail)
		}
		if text, _ := os.ReadFile(file); len(text) > 1 { // none: a slow machine had not got that far
			t.Errorf("%s: tried %q", how, text)
		}
	}
}

// Many calls of several kinds run, some are cancelled, and workers are killed at
// random: each call has its own answer, with its own settings and folders, or a
// failure.
func TestCallsWhileWorkersAreKilled(t *testing.T) {
	p := newPool(t, func(c *Config) { c.Spares = 1 })
	m := load(t, p, sandbox.Plugin{Name: "guest", Wasm: goGuest})
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "private")
	var answered, ended, givenUp atomic.Int32
	stop := make(chan struct{})
	var fire, callers sync.WaitGroup
	fire.Go(func() {
		for before := int32(0); ; {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			now := answered.Load()
			if pids := childrenOf(os.Getpid()); len(pids) > 0 && now > before { // a slow machine has to come to something as well
				_ = syscall.Kill(pids[rand.IntN(len(pids))], syscall.SIGKILL)
				before = now
			}
		}
	})
	const sorts, each = 5, 50
	for c := range sorts {
		callers.Go(func() {
			for n := range each {
				ctx, text := t.Context(), strings.Repeat("call "+itoa(c)+"/"+itoa(n)+" ", 1+n*20)
				inv := sandbox.Invocation{Export: "echo", Input: []byte(text), Timeout: patience, MaxOutput: 1 << 20}
				switch {
				case c == 1:
					inv.Export, inv.Input, inv.Grant.Config = "config", []byte("mine"), map[string]string{"mine": text}
				case c == 2:
					short, cancel := context.WithTimeout(ctx, rand.N(3*time.Millisecond))
					defer cancel()
					ctx = short
				case c > 2 && n%5 == 0:
					inv.Export, inv.Input, text = "cat", []byte("/w/f"), "private"
					if c == 3 {
						inv.Grant.Mounts = []jail.Mount{{Guest: "/w", Host: dir}}
					} else {
						text = "what nobody has"
					}
				}
				out, fail := m.Call(ctx, inv)
				switch {
				case fail == nil && string(out.Bytes) == text:
					answered.Add(1)
				case fail != nil && (fail.Code == tool.Failed || fail.Code == tool.Trapped):
					ended.Add(1)
				case fail != nil && ctx.Err() != nil:
					givenUp.Add(1)
				default:
					t.Errorf("call %d/%d: got %d bytes, %v", c, n, len(out.Bytes), fail)
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	fire.Wait()
	t.Logf("%d answered, %d ended, %d given up", answered.Load(), ended.Load(), givenUp.Load())
	if answered.Load() == 0 {
		t.Error("nothing was answered")
	}
	testtime.Until(t, "the last one killed is noticed", func() bool {
		out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "echo", Input: []byte("after the fire")})
		return fail == nil && string(out.Bytes) == "after the fire"
	})
}

// A closed Pool leaves no goroutines, descriptors or children.
func TestNothingIsLeft(t *testing.T) {
	here := goleak.IgnoreCurrent()
	fds := descriptors(t)
	p, err := New(t.Context(), Config{Command: command, CacheDir: guesttest.Cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, p, sandbox.Plugin{Name: "guest", Wasm: goGuest})
	dir := t.TempDir()
	var calls sync.WaitGroup
	for _, export := range []string{"echo", "spin", "panics", "echo", "exit"} {
		calls.Go(func() {
			_, _ = m.Call(t.Context(), sandbox.Invocation{Export: export, Timeout: 300 * time.Millisecond,
				Grant: sandbox.Grant{Mounts: []jail.Mount{{Guest: "/w", Host: dir}}}})
		})
	}
	calls.Wait()
	going := make(chan struct{})
	calls.Go(func() {
		_, fail := m.Call(t.Context(), sandbox.Invocation{Export: "spin", Timeout: time.Hour, Progress: func(int, int, string) { close(going) }})
		if fail == nil || fail.Code != tool.Cancelled {
			t.Errorf("a call that outlasts its pool: %v", fail)
		}
	})
	<-going
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	calls.Wait()
	if left := childrenOf(os.Getpid()); len(left) > 0 {
		t.Errorf("children are left: %v", left)
	}
	if now := descriptors(t); now > fds {
		t.Errorf("%d descriptors were open before, %d are now", fds, now)
	}
	if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "echo"}); fail == nil || fail.Code != tool.Failed {
		t.Errorf("a call behind the end: %v", fail)
	}
	goleak.VerifyNone(t, here)
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Idle workers end after a while, or at once if there are too many.
func TestIdleWorkersGo(t *testing.T) {
	p := newPool(t, func(c *Config) { c.Idle, c.Max = 50*time.Millisecond, 1 })
	m := load(t, p, sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")})
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("x")}); fail != nil {
				t.Error(fail)
			}
		})
	}
	calls.Wait()
	testtime.Until(t, "no worker is left", func() bool { return len(childrenOf(os.Getpid())) == 0 })
	if out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("x")}); fail != nil || string(out.Bytes) != "x" {
		t.Errorf("got %q, %v", out.Bytes, fail)
	}
}

// A plugin's idle worker ends although another plugin is called all the time.
func TestIdleWorkersGoBesideBusyOnes(t *testing.T) {
	p := newPool(t, func(c *Config) { c.Idle = 200 * time.Millisecond })
	call := func(m *Module) {
		if _, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte("x")}); fail != nil {
			t.Error(fail)
		}
	}
	quiet := load(t, p, sandbox.Plugin{Name: "quiet", Wasm: wasmtest.Echo("run")})
	busy := load(t, p, sandbox.Plugin{Name: "busy", Wasm: wasmtest.Echo("run")})
	call(quiet)
	testtime.Until(t, "the worker without calls is gone", func() bool {
		call(busy)
		p.mu.Lock()
		defer p.mu.Unlock()
		return !slices.ContainsFunc(p.idle, func(i *idleWorker) bool { return i.module == quiet })
	})
}

// A worker is checked while it is discarded.
func TestAWorkerIsCheckedWhileItIsDiscarded(t *testing.T) {
	p := newPool(t, nil)
	w, err := p.spawn("p", nil)
	if err != nil {
		t.Fatal(err)
	}
	var looks sync.WaitGroup
	looks.Go(func() {
		for w.usable() {
			continue
		}
	})
	w.discard()
	looks.Wait()
}

// A granted folder is replaced between calls, and another one is granted.
func TestAReplacedFolderIsSeen(t *testing.T) {
	m := load(t, newPool(t, func(c *Config) { c.Spares = 1 }), sandbox.Plugin{Name: "guest", Wasm: goGuest})
	dir := filepath.Join(t.TempDir(), "work")
	for _, text := range []string{"first", "second", "third"} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "f"), text)
		for range 2 {
			out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "cat", Input: []byte("/w/f"),
				Grant: sandbox.Grant{Mounts: []jail.Mount{{Guest: "/w", Host: dir}}}})
			if fail != nil || string(out.Bytes) != text {
				t.Fatalf("got %q, %v, want %q", out.Bytes, fail, text)
			}
		}
	}
	if out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "cat", Input: []byte("/w/f")}); fail == nil {
		t.Errorf("a call without the grant reads %q", out.Bytes)
	}
}

// The caller of a start that is never ready goes when it wants.
func TestSlowStart(t *testing.T) {
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl)
	m := load(t, newPool(t, func(c *Config) { c.Command = asRole("liar:never ready") }), pl)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, fail := m.Call(ctx, sandbox.Invocation{Export: "run"})
	if fail == nil || fail.Code != tool.TimedOut {
		t.Errorf("got %v", fail)
	}
}

// A worker that cannot be started is a typed failure.
func TestNoSuchProgram(t *testing.T) {
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	load(t, newPool(t, nil), pl)
	m := load(t, newPool(t, func(c *Config) { c.Command = []string{"/no/such/program"} }), pl)
	fds := descriptors(t)
	_, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run"})
	if fail == nil || fail.Code != tool.Failed || !strings.Contains(fail.Msg, "its process was not ready") {
		t.Errorf("got %v", fail)
	}
	if now := descriptors(t); now > fds {
		t.Errorf("it left %d descriptors, and found %d", now, fds)
	}
}

// A shutdown is no error: not of a call that finds the pool closed, and not of a worker
// that SIGTERM ended together with this process.
func TestShutdownIsNoError(t *testing.T) {
	for range 50 {
		p := newPool(t, nil)
		go func() { _ = p.Close(context.Background()) }() // an error is that of the next Close
		for p.enter() {
			p.tasks.Done()
		}
		if p.ending.Err() == nil {
			t.Fatal("a call finds the pool closed and does not know that it ends")
		}
	}
	var log strings.Builder
	pl := sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")}
	m := load(t, newPool(t, func(c *Config) { c.Logger = hclog.New(&hclog.LoggerOptions{Output: &log}) }), pl)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	_ = child.Process.Signal(syscall.SIGTERM) // it is there until Wait
	_ = child.Wait()                          // the state says how it ended
	if fail := m.notStarted(t.Context(), sandbox.Invocation{Export: "run"}, &lossError{state: child.ProcessState}); !strings.Contains(fail.Msg, "its process was not ready") {
		t.Errorf("got %v", fail)
	}
	if s := log.String(); !strings.Contains(s, "[WARN]") || strings.Contains(s, "[ERROR]") {
		t.Errorf("the log has %q", s)
	}
}

// In a call with a secret neither the request nor the echoed response that goes to the
// worker contains it.
func TestSecretsStayInTheParent(t *testing.T) {
	const secret = "sk-canary-0123456789"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "key %s", r.Header.Get("Authorization"))
	}))
	defer server.Close()
	p := newPool(t, nil)
	m := load(t, p, sandbox.Plugin{Name: "guest", Wasm: goGuest})
	w, err := m.spawn(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.discard()
	var sent bytes.Buffer
	w.send = frames.NewWriter(io.MultiWriter(&sent, w.link.In))
	request, _ := json.Marshal(map[string]any{"url": server.URL + "/", "headers": map[string]string{"X-A": "b"}})
	c := &call{module: m, outer: t.Context(), w: w, inv: sandbox.Invocation{
		Export: "http", Input: request, Timeout: patience, MaxOutput: 1 << 20,
		Grant: sandbox.Grant{HTTP: client(t, server.URL, egress.Secret{Name: "KEY", Header: "Authorization", Format: "Bearer {}", Host: server.URL, Value: secret})},
	}}
	out, fail := c.run()
	if fail != nil || !strings.Contains(string(out.Bytes), `"status":200`) {
		t.Fatalf("got %s, %v", out.Bytes, fail)
	}
	if c.requests != 1 || !strings.Contains(sent.String(), "key [KEY]") {
		t.Errorf("%d requests came by; sent: %q", c.requests, sent.String())
	}
	if strings.Contains(sent.String(), secret) {
		t.Error("the secret was sent to the worker")
	}
}
