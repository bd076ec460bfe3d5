package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// Argument is the last argument of a process that is a worker.
const Argument = "weir:worker"

// Descriptors of a worker, beside the standard ones: the frames in, the frames
// out, and the lent folders from there on.
const (
	fdIn    = 3
	fdOut   = 4
	fdMount = 5
)

// Main is the whole life of a worker. ok is false, and nothing has happened,
// unless this process was started as one; else the process must end with code.
func Main() (code int, ok bool) {
	if len(os.Args) < 2 || os.Args[len(os.Args)-1] != Argument {
		return 0, false
	}
	in, out := os.NewFile(fdIn, "frames in"), os.NewFile(fdOut, "frames out")
	if err := harden(); err != nil {
		fmt.Fprintln(os.Stderr, "weir: this process is started by weir itself:", err)
		return 2, true
	}
	c := &child{
		in: bufio.NewReaderSize(in, 64<<10), out: &writer{w: out},
		calls: make(chan frame), responses: make(chan frame, 1),
	}
	if err := c.serve(); err != nil {
		fmt.Fprintln(os.Stderr, "weir worker:", err)
		return 1, true
	}
	return 0, true
}

// A child is the worker's side. Its main goroutine reads frames, so that the end
// of the parent ends it even while a guest runs; another one runs the calls.
type child struct {
	in        *bufio.Reader
	out       *writer
	calls     chan frame
	responses chan frame
	mounts    []jail.Mount
}

// childProcs is enough for a guest and for what goes on beside it.
const childProcs = 2

func (c *child) serve() error {
	runtime.GOMAXPROCS(childProcs)
	f, err := read(c.in, limits{kindLoad: fromParent[kindLoad]})
	if err != nil {
		return err
	}
	load, err := open[loadMeta](f)
	if err != nil {
		return err
	}
	if err := closeInherited(fdMount + len(load.Mounts)); err != nil {
		return err
	}
	if err := bind(load.Bounds); err != nil {
		return fmt.Errorf("its limits cannot be set: %w", err)
	}
	if load.Bounds.Data > 0 {
		// Garbage of earlier calls goes before the kernel's bound is felt.
		debug.SetMemoryLimit(load.Bounds.Data / 2)
	}
	for i, m := range load.Mounts {
		c.mounts = append(c.mounts, jail.Mount{Guest: m.Guest, Host: m.Host, Write: m.Write, Hide: m.Hide, Keep: m.Keep, Via: lent(fdMount + i)})
	}
	m, err := c.load(load, f.data)
	if err != nil {
		return c.out.write(kindReady, readyMeta{Refused: err.Error(), NotCompiled: errors.Is(err, sandbox.ErrNotCompiled)}, nil)
	}
	if err := c.out.write(kindReady, readyMeta{}, nil); err != nil || load.Compile {
		return err
	}
	go c.work(m)
	return c.listen()
}

func (c *child) load(l loadMeta, wasm []byte) (*sandbox.Module, error) {
	ctx := context.Background()
	e, err := sandbox.New(ctx, sandbox.Config{
		Engine: l.Engine, CacheDir: l.Cache, Logger: c.logger(hclog.Level(l.LogLevel)), Spares: l.Spares,
		Unchecked: !l.Checked, ReadCache: !l.Compile,
	})
	if err != nil {
		return nil, err
	}
	return e.Load(ctx, sandbox.Plugin{Name: l.Plugin, Wasm: wasm, Exports: l.Exports, Memory: tool.Bytes(l.Memory)})
}

// listen hands frames on until the parent has no more. A call comes only when
// the one before has ended, a response only when it was asked for.
func (c *child) listen() error {
	for {
		f, err := read(c.in, fromParent)
		if err != nil {
			return nil // the parent is gone, or wants us to go
		}
		to := c.calls
		if f.kind == kindResponse {
			to = c.responses
		}
		to <- f
	}
}

// work runs calls, one after the other.
func (c *child) work(m *sandbox.Module) {
	for {
		f := c.next()
		meta, err := open[callMeta](f)
		if err != nil || c.out.write(kindStarted, struct{}{}, nil) != nil {
			return
		}
		out, fail := m.Call(context.Background(), c.invocation(meta, f.data))
		if c.out.write(kindResult, resultMeta{int64(out.Memory), int64(out.Instance), out.Relist, fail}, out.Bytes) != nil {
			return
		}
	}
}

// restTime is how long a worker waits for its next call before it gives back the
// memory that it does not need while it waits.
const restTime = time.Second

// next waits for a call.
func (c *child) next() frame {
	rest := time.NewTimer(restTime)
	defer rest.Stop()
	select {
	case f := <-c.calls:
		return f
	case <-rest.C:
		debug.FreeOSMemory()
		return <-c.calls
	}
}

// forever is the deadline of a call here: the real one is the parent's.
const forever = time.Duration(math.MaxInt64 / 4)

func (c *child) invocation(m callMeta, input []byte) sandbox.Invocation {
	inv := sandbox.Invocation{
		Export: m.Export, Input: input, Timeout: forever, MaxOutput: m.MaxOutput,
		Limits: tool.Limits{MaxChars: m.MaxChars, MaxLines: m.MaxLines},
		Grant:  sandbox.Grant{Mounts: c.mounts, Config: m.Config},
	}
	if m.HTTP {
		inv.Grant.HTTP = c
	}
	if m.Progress {
		inv.Progress = func(done, total int, msg string) {
			_ = c.out.write(kindProgress, progressMeta{done, total, msg}, nil) // a parent that is gone is noticed elsewhere
		}
	}
	return inv
}

// Do implements sandbox.Sender: the parent sends the request. A guest waits for
// one request at a time.
func (c *child) Do(_ context.Context, r egress.Request) (egress.Response, *tool.Error) {
	lost := tool.Errorf(tool.Failed, "", "the request could not be passed on")
	if c.out.write(kindRequest, requestMeta{r.Method, r.URL, r.Headers}, r.Body) != nil {
		return egress.Response{}, lost
	}
	f := <-c.responses
	m, err := open[responseMeta](f)
	switch {
	case err != nil:
		return egress.Response{}, lost
	case m.Error != nil:
		return egress.Response{}, m.Error
	}
	return egress.Response{Status: m.Status, URL: m.URL, Headers: m.Headers, Body: f.data}, nil
}

// logger passes lines on to the parent.
func (c *child) logger(level hclog.Level) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: level, Output: nowhere{}})
	l.RegisterSink(sink{c.out})
	return l
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// sink implements hclog.SinkAdapter.
type sink struct{ out *writer }

// maxArg bounds one value of a log line, in bytes.
const maxArg = 2 << 10

func (s sink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	m := logMeta{Level: int(level), Message: sandbox.Printable(msg, maxArg)}
	for _, a := range args[:min(len(args), 8)] {
		m.Args = append(m.Args, sandbox.Printable(fmt.Sprint(a), maxArg))
	}
	_ = s.out.write(kindLog, m, nil)
}
