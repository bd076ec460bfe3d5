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
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/shmring"
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
	case "crook":
		cheat(what)
	case "heir":
		_, _ = io.Copy(io.Discard, shmring.ChildEnd(fdIn))
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
		if strings.HasPrefix(line, "NoNewPrivs") || strings.HasPrefix(line, "Seccomp:") {
			found.WriteString(line)
		}
	}
	_ = os.WriteFile(file, []byte(found.String()), 0o600)
}

// lie answers the first call in a way that no real worker does.
func lie(what string) {
	region, err := shmring.Open(fdShared)
	if err != nil {
		return
	}
	shared := region.Claims()
	out := shmring.ChildEnd(fdOut)
	in, w := shmring.NewReader(shmring.ChildEnd(fdIn), region, shmring.ToChild), shmring.NewWriter(out, nil, 0)
	if _, err := in.Read(&expectLoad, nil); err != nil {
		return
	}
	if what == "never ready" {
		_, _ = io.Copy(io.Discard, shmring.ChildEnd(fdIn))
		return
	}
	_ = w.Write(kindReady, readyMeta{}, nil)
	if _, err := in.Read(&expectCall, nil); err != nil {
		return
	}
	what, file, _ := strings.Cut(what, "=")
	if !strings.Contains(what, "takes the call") {
		shared.Claim(1)
	}
	head := func(k shmring.Kind, meta, data uint32) {
		b := binary.LittleEndian.AppendUint32([]byte{byte(k)}, meta)
		_ = out.Send(binary.LittleEndian.AppendUint32(b, data), nil)
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
		_ = out.Send([]byte("{{{"), nil)
	case "no JSON":
		head(kindLog, 3, 0)
		_ = out.Send([]byte("{{{"), nil)
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
	case "bells without end":
		for out.Send([]byte{0}, nil) == nil {
			continue
		}
	case "an heir": // it keeps the pipes open
		_, _ = syscall.ForkExec(os.Args[0], asRole("heir"), &syscall.ProcAttr{Files: []uintptr{0, 1, 2, fdIn, fdOut, fdShared}})
		return
	case "a request that is not granted":
		_ = w.Write(kindRequest, requestMeta{URL: "http://127.0.0.1/"}, nil)
	case "half a frame":
		head(kindResult, 100, 0)
		return
	case "nothing":
		return
	case "it takes the call and dies", "it begins with the call and dies", "it takes the call and sleeps", "it takes the call and closes its pipe":
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		_, _ = f.WriteString("x")
		switch {
		case strings.HasSuffix(what, "dies"):
			return
		case strings.HasSuffix(what, "pipe"):
			_ = syscall.Close(fdOut)
		}
	case "words of another":
		fmt.Fprintln(os.Stderr, "fatal error: runtime: out of memory")
		return
	case "odd values":
		_ = w.Write(kindResult, &resultMeta{Memory: -5, Instance: 1 << 62}, []byte("fine"))
	case "odd words":
		_ = w.Write(kindResult, &resultMeta{Error: metaOfFailure(&tool.Error{Code: tool.Failed, Msg: "a\x1b[31m\u202eb\nc"})}, nil)
	case "a closed pipe":
		_ = syscall.Close(fdOut)
	}
	_, _ = io.Copy(io.Discard, shmring.ChildEnd(fdIn)) // lives on
}

// cheat answers the first call correctly and then lies about the waiting ones.
func cheat(what string) {
	region, err := shmring.Open(fdShared)
	if err != nil {
		return
	}
	shared := region.Claims()
	in := shmring.NewReader(shmring.ChildEnd(fdIn), region, shmring.ToChild)
	w := shmring.NewWriter(shmring.ChildEnd(fdOut), region, shmring.ToParent)
	if _, err := in.Read(&expectLoad, nil); err != nil {
		return
	}
	_ = w.Write(kindReady, readyMeta{}, nil)
	answer := func() { _ = w.Write(kindResult, &resultMeta{Took: 1}, []byte("cheated")) }
	mark := func(as uint64) { // a claim for all calls that may come
		for n := range uint64(shmring.ClaimSlots) {
			slot(region, n+1).Store((n+1)<<2 | as)
		}
	}
	for came := uint64(1); ; came++ {
		if _, err := in.Read(&expectCall, nil); err != nil {
			return
		}
		if came == 1 {
			shared.Claim(1)
			answer()
			continue
		}
		switch what {
		case "claims all and is silent":
			mark(claimed)
		case "claims all and dies":
			mark(claimed)
			return
		case "answers what it has not claimed":
			answer()
		case "answers twice":
			shared.Claim(came)
			answer()
			answer()
		case "gives back what it answers":
			shared.Claim(came)
			mark(waiting)
			answer()
		case "gives back and takes without end":
			go func() {
				for {
					mark(waiting)
					mark(claimed)
				}
			}()
		case "says that all was taken back":
			mark(takenBack)
		case "writes anything":
			for n := range uint64(shmring.ClaimSlots) {
				slot(region, n).Store(n * 0x9e3779b97f4a7c15)
			}
		case "puts more than the ring holds":
			ringOf(region, shmring.ToParent).written.Store(1 << 40)
		case "puts half a frame":
			ringOf(region, shmring.ToParent).put([]byte{byte(kindResult), 1})
		case "puts a frame that is longer than it":
			ringOf(region, shmring.ToParent).put([]byte{byte(kindLog), 100, 0, 0, 0, 0, 0, 0, 0})
		case "says that it sleeps, and took what was never put":
			go func() {
				for {
					r := ringOf(region, shmring.ToChild)
					r.asleep.Store(1)
					r.taken.Store(1 << 40)
					r.piped.Store(1 << 40)
				}
			}()
		case "reads no more":
			select {}
		}
	}
}

// States of a claim, as package shmring has them.
const (
	waiting = iota + 1
	claimed
	takenBack
)

// slot returns the claim slot of a call in the memory that a crook writes to.
func slot(r *shmring.Region, call uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&r.Bytes()[call%shmring.ClaimSlots*8]))
}

// rawRing is a ring as a crook sees it, by the layout that package shmring documents.
type rawRing struct {
	written, taken, piped *atomic.Uint64
	asleep                *atomic.Uint32
	bytes                 []byte
}

func ringOf(r *shmring.Region, which int) rawRing {
	b := r.Bytes()
	at := func(field int) *atomic.Uint64 {
		return (*atomic.Uint64)(unsafe.Pointer(&b[shmring.ClaimSlots*8+which*256+field*64]))
	}
	return rawRing{at(0), at(1), at(2), (*atomic.Uint32)(unsafe.Pointer(at(3))), b[4<<10+which<<16:][:1<<16]}
}

// put puts bytes into the ring, without the checks of an honest Writer.
func (r rawRing) put(b []byte) {
	n := r.written.Load()
	for i, c := range b {
		r.bytes[(n+uint64(i))%uint64(len(r.bytes))] = c
	}
	r.written.Store(n + uint64(len(b)))
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
	region, err := shmring.Open(fdShared)
	if err != nil {
		return
	}
	c := newChild(nil, region)
	if _, err := c.in.Read(&expectLoad, nil); err != nil {
		return
	}
	_ = c.out.Write(kindReady, readyMeta{}, nil)
	_ = c.work(g)
}

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
	if waits {
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
