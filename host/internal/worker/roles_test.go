//go:build linux

package worker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// This test binary also plays other processes: a worker that lies, one that inspects
// its environment, and a host that is killed. Its first argument is the role.
func play() (played bool) {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "role=") {
		return false
	}
	role, what, _ := strings.Cut(strings.TrimPrefix(os.Args[1], "role="), ":")
	switch role {
	case "spy":
		spy(what)
	case "liar":
		lie(what)
	case "heir":
		_, _ = io.Copy(io.Discard, pipeIn())
	case "mirror":
		reflect()
	case "gate":
		keep(what)
	case "late":
		start, begun, _ := strings.Cut(what, "|")
		beLate(start)
		keep(begun)
	case "leader":
		lead()
	case "leaver":
		before := hasTerminal()
		confine.LeaveTerminal()
		fmt.Print(before, " ", hasTerminal())
	case "host":
		middle(what, os.Args[2:])
	case "hidden":
		hide()
	case "fort":
		fort(what)
	case "captive":
		captive(what)
	}
	return true
}

// asRole returns the command for this binary in a role.
func asRole(role string) []string { return []string{os.Args[0], "role=" + role} }

// lead starts another process in its own session.
func lead() {
	c := exec.Command(os.Args[0], "role=leaver")
	c.Stdout, c.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setpgid: true}
	if err := c.Run(); err != nil {
		fmt.Print(err)
	}
}

func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	return err == nil && f.Close() == nil
}

// spy writes what a child finds in its environment to a file.
func spy(file string) {
	var found strings.Builder
	if err := confine.CloseInherited(fdMount + 1); err != nil {
		fmt.Fprintln(&found, err)
	}
	dir, _ := os.Getwd()
	fmt.Fprintf(&found, "dir %s\nenviron %q\n", dir, os.Environ())
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && !strings.Contains(to, "/proc/") && !(strings.HasPrefix(to, "anon_inode:") && fd.Name() != "5") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			fmt.Fprintf(&found, "fd %s %s\n", fd.Name(), to)
		}
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "NoNewPrivs") {
			found.WriteString(line)
		}
	}
	_ = os.WriteFile(file, []byte(found.String()), 0o600)
}

// lie answers the first call in a way that no real worker does.
func lie(what string) {
	pipe, out := pipeIn(), os.NewFile(fdOut, "out")
	in, w := frames.NewReader(pipe), frames.NewWriter(out)
	if _, err := in.Read(&expectLoad, nil); err != nil {
		return
	}
	if what == "never ready" {
		_, _ = io.Copy(io.Discard, pipe)
		return
	}
	what, file, _ := strings.Cut(what, "=")
	deaf := strings.HasPrefix(what, "takes no call")
	if deaf {
		_ = pipe.Close()
	}
	_ = w.Write(kindReady, readyMeta{}, nil)
	if _, err := in.Read(&expectCall, nil); err != nil && !deaf {
		return
	}
	head := func(k frames.Kind, meta, data uint32) {
		b := binary.LittleEndian.AppendUint32([]byte{byte(k)}, meta)
		_, _ = out.Write(binary.LittleEndian.AppendUint32(b, data))
	}
	switch what {
	case "a huge length":
		head(kindResult, 10, 1<<32-1)
	case "a huge small part":
		head(kindResult, 1<<31, 0)
	case "an unknown kind":
		head(99, 1, 0)
	case "a parent's kind":
		_ = w.Write(kindCall, &callMeta{}, nil)
	case "a result that is none":
		head(kindResult, 3, 0)
		_, _ = out.Write([]byte("{{{"))
	case "no JSON":
		head(kindLog, 3, 0)
		_, _ = out.Write([]byte("{{{"))
	case "nothing small":
		head(kindResult, 0, 0)
	case "too much output":
		_ = w.Write(kindResult, &resultMeta{}, make([]byte, 2000))
	case "an answer in JSON":
		_ = w.Write(kindResult, &resultMeta{}, []byte(`{"content":[{"type":"text","text":"a"}]}`))
	case "a flat answer that is none":
		_ = w.Write(kindResult, &resultMeta{Flat: true}, []byte(`{"content":[{"type":"text","text":"a"}]}`))
	case "an answer that is flat and a text":
		flat, _ := answer.Flatten(nil, []byte(`{"content":[]}`))
		_ = w.Write(kindResult, &resultMeta{Flat: true, Text: true}, flat)
	case "an unknown code":
		_ = w.Write(kindResult, &resultMeta{Error: metaOfFailure(&tool.Error{Code: "denied", Msg: "x"})}, nil)
	case "output beside an error":
		_ = w.Write(kindResult, &resultMeta{Error: metaOfFailure(&tool.Error{Code: tool.Failed, Msg: "x"})}, []byte("x"))
	case "log lines without end":
		for w.Write(kindLog, logMeta{Message: "again"}, nil) == nil {
			continue
		}
	case "reports without end":
		for w.Write(kindProgress, progressMeta{}, nil) == nil {
			continue
		}
	case "zeros without end":
		for err := error(nil); err == nil; {
			_, err = out.Write(make([]byte, 100))
		}
	case "an heir": // it keeps the pipes open
		_, _ = syscall.ForkExec(os.Args[0], asRole("heir"), &syscall.ProcAttr{Files: []uintptr{0, 1, 2, fdIn, fdOut}})
		return
	case "a request that is not granted":
		_ = w.Write(kindRequest, requestMeta{URL: "http://127.0.0.1/"}, nil)
	case "half a frame":
		head(kindResult, 100, 0)
		return
	case "nothing":
		return
	case "takes no call and dies", "takes no call and sleeps", "reads the call and dies", "reads the call and sleeps":
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		_, _ = f.WriteString("x")
		if strings.HasSuffix(what, "dies") {
			return
		}
		testtime.Comes(func() bool { return false })
	case "words of another":
		fmt.Fprintln(os.Stderr, "fatal error: runtime: out of memory")
		return
	case "a thread of another":
		_ = w.Write(kindThread, threadMeta{os.Getppid()}, nil)
	case "odd values":
		_ = w.Write(kindResult, &resultMeta{Memory: -5, Instance: 1 << 62}, []byte("fine"))
	case "odd words":
		_ = w.Write(kindResult, &resultMeta{Error: metaOfFailure(&tool.Error{Code: tool.Failed, Msg: "a\x1b[31m\u202eb\nc"})}, nil)
	case "a closed pipe":
		_ = syscall.Close(fdOut)
	}
	_, _ = io.Copy(io.Discard, pipe) // lives on
}

// reflect is a worker whose guest costs nothing, to measure the way to it and back.
func reflect() { serve(mirror{}) }

// keep is a worker whose guest does what its input says, and records each call that it
// begins.
func keep(file string) { serve(gate{file}) }

// beLate waits for a file, unless this is the first worker to do so.
func beLate(file string) {
	if f, err := os.OpenFile(file+".first", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = f.Close()
		return
	}
	comes(file)
}

// comes waits for a file.
func comes(file string) {
	testtime.Comes(func() bool { _, err := os.Stat(file); return err == nil })
}

// serve is a worker that loads nothing and runs its calls in g.
func serve(g guest) {
	c := newChild(nil)
	if _, err := c.in.Read(&expectLoad, nil); err != nil {
		return
	}
	_ = c.out.Write(kindReady, readyMeta{}, nil)
	_ = c.work(g)
}

func pipeIn() *os.File { return os.NewFile(fdIn, "in") }

type gate struct{ file string }

// Call does the first word of its input when the file named by the last word exists.
func (g gate) Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error) {
	f, err := os.OpenFile(g.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(3)
	}
	_, _ = fmt.Fprintln(f, string(inv.Input))
	_ = f.Close()
	what, file, waits := strings.Cut(string(inv.Input), " ")
	if what == "compute" {
		for over := false; !over; {
			_, err := os.Stat(file)
			over = err == nil
		}
	} else if waits {
		comes(file)
	}
	switch what {
	case "tell":
		inv.Progress(1, 2, "half of it")
	case "die":
		os.Exit(3)
	case "ask":
		if _, fail := inv.Grant.HTTP.Do(ctx, egress.Request{Method: "GET", URL: "http://127.0.0.1/"}); fail != nil {
			return sandbox.Output{}, fail
		}
	}
	return sandbox.Output{Bytes: inv.Input}, nil
}

type mirror struct{}

func (mirror) Call(_ context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error) {
	return sandbox.Output{Bytes: inv.Input}, nil
}

// middle is a host that calls a guest, or compiles a module, until it is killed.
func middle(what string, args []string) {
	p, err := New(context.Background(), Config{Command: args[:1], CacheDir: args[1], Quarantine: args[2]})
	if err != nil {
		fmt.Println(err)
		return
	}
	wasm, err := os.ReadFile(args[3])
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := p.Load(context.Background(), sandbox.Plugin{Name: "guest", Wasm: wasm})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, fail := m.Call(context.Background(), sandbox.Invocation{
		Export: what, Timeout: time.Hour,
		Progress: func(int, int, string) {
			text, _ := json.Marshal(childrenOf(os.Getpid()))
			fmt.Println(string(text))
		},
	})
	fmt.Println(fail)
}

// childrenOf returns the workers of a process.
func childrenOf(pid int) []int {
	var out []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		dir := filepath.Dir(name)
		rest := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // state, parent
		if len(rest) < 2 || rest[1] != strconv.Itoa(pid) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if strings.Contains(string(line), Argument) || rest[0] == "Z" {
			child, _ := strconv.Atoi(filepath.Base(dir)) // the pattern has digits alone
			out = append(out, child)
		}
	}
	return out
}
