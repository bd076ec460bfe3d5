package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/wasmtest"
)

const manifest = `schema = 1
name = %[1]q
version = "1.0.0"
description = "Echo"
wasm = %[2]q
[[tool]]
name = %[1]q
description = "Echo the arguments"
export = "echo"
format = "text"
hints = { read_only = true, idempotent = true, network = false }
[tool.params]
type = "object"
`

// plugins makes a folder of n plugins that differ in their names and in a
// custom section, so that no two have the same bytes.
func (b *bench) plugins(name string, n int, wasm []byte) (string, error) {
	dir := b.dir(name)
	for i := range n {
		name := pluginName(i)
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(to, 0o700); err != nil {
			return "", err
		}
		own := append(bytes.Clone(wasm), wasmtest.New().Custom("bench", []byte(name)).Bytes()[len("\x00asm")+4:]...)
		err := errors.Join(
			os.WriteFile(filepath.Join(to, name+".wasm"), own, 0o600),
			os.WriteFile(filepath.Join(to, "plugin.toml"), fmt.Appendf(nil, manifest, name, name+".wasm"), 0o600))
		if err != nil {
			return "", err
		}
	}
	return dir, nil
}

func pluginName(i int) string { return fmt.Sprintf("echo_%d", i) }

// An install is a data folder of the weir binary that knows its plugins: they
// are compiled, and it was used before.
type install struct {
	weir, data, plugins string
	tool, want          string
}

func (b *bench) install(ctx context.Context, n int) (*install, error) {
	weir, err := filepath.Abs(b.weir)
	if err != nil {
		return nil, err
	}
	in := &install{weir: weir, data: b.dir(fmt.Sprintf("data-%d", n)), tool: pluginName(n / 2), want: `{"n":1}`}
	if in.plugins, err = b.plugins(fmt.Sprintf("plugins-%d", n), n, b.direct); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(in.data, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(in.config(), nil, 0o600); err != nil {
		return nil, err
	}
	if out, err := in.command(ctx, "plugin", "warm").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("weir plugin warm: %w\n%s", err, out)
	}
	_, err = in.start(ctx)
	return in, err
}

func (in *install) config() string { return filepath.Join(in.data, "tools.toml") }

func (in *install) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, in.weir, append([]string{"--config", in.config(), "--data", in.data, "--plugins", in.plugins}, args...)...)
	cmd.Env = []string{"HOME=" + in.data, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// A first is what it took a new process to give its first answer.
type first struct {
	time   time.Duration
	memory resident
}

// A resident is the most that a process has had, in bytes.
//
// Most of it is the binary, of which the kernel maps whole pieces as they lie in
// its cache: some 64 KiB where it was read from the disk, up to 2 MiB right after it was
// built. So the same program has some MiB more until its file is read again; own
// is the part that does not depend on that.
type resident struct {
	all uint64 // resident pages of every kind
	own uint64 // those that are no file's
}

func (m resident) most(n resident) resident { return resident{max(m.all, n.all), max(m.own, n.own)} }

// start runs a process that calls the tool once.
func (in *install) start(ctx context.Context) (f first, err error) {
	cmd := in.command(ctx, "call", in.tool, in.want)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return f, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return f, err
	}
	answered, most := make(chan struct{}), make(chan resident, 1)
	go func() { most <- watch(cmd.Process.Pid, answered) }()
	read := bufio.NewReader(out)
	line, _ := read.ReadString('\n') // a missing line is reported below
	f.time = time.Since(began)
	close(answered)
	f.memory = <-most
	_, _ = io.Copy(io.Discard, read)
	if wait := cmd.Wait(); wait != nil || strings.TrimSpace(line) != in.want {
		return f, fmt.Errorf("weir call answers %q: %w\n%s", line, wait, said.String())
	}
	if f.memory.all == 0 {
		return f, errors.New("the memory of the process is not told")
	}
	return f, nil
}

// watch follows a process until it has answered: it may be gone right after, and
// what it had with it. Nothing: nothing was seen.
func watch(pid int, answered <-chan struct{}) (most resident) {
	for {
		if m, err := memoryOf(pid); err == nil {
			most = most.most(m)
		}
		select {
		case <-answered:
			return most
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// memoryOf is the most that a process has had in its life, and what it has of its
// own at the moment.
func memoryOf(pid int) (m resident, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return m, err
	}
	for key, to := range map[string]*uint64{"VmHWM:": &m.all, "RssAnon:": &m.own} {
		_, rest, found := strings.Cut(string(text), key)
		if _, err := fmt.Sscan(rest, to); !found || err != nil {
			return m, fmt.Errorf("the memory of process %d is not told", pid)
		}
		*to <<= 10
	}
	return m, nil
}

const manyPlugins = 100

// starts measures whole processes, from their start to the first answer, with
// one plugin installed and with many.
func (b *bench) starts(ctx context.Context) ([]row, error) {
	one, err := b.install(ctx, 1)
	if err != nil {
		return nil, err
	}
	many, err := b.install(ctx, manyPlugins)
	if err != nil {
		return nil, err
	}
	var memory resident
	starts := func(name string, in *install) contender {
		return contender{name, func(n int) error {
			for range n {
				f, err := in.start(ctx)
				if err != nil {
					return err
				}
				if in == many {
					memory = memory.most(f.memory)
				}
			}
			return nil
		}}
	}
	times, err := race(b.rounds, starts("many", many), starts("one", one))
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("start to first answer, %d plugins of 2 MB", manyPlugins)
	mib := func(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
	return []row{
		compare(what, times["many"], "1 plugin", times["one"], most(1.3)),
		{what: what + ", memory", ours: mib(memory.all), ref: mib(memory.own) + " own", ratio: float64(memory.all) / 1e6, target: target{bound: 60, unit: "MB"}},
	}, nil
}
