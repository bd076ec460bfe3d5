package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/memsnap"
	"github.com/weirhost/weir/host/internal/memtrim"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// Argument is the last command-line argument of a worker process.
const Argument = "weir:worker"

// Descriptors of a worker after the standard ones: frames in, frames out, and then the
// granted folders.
const (
	fdIn    = 3
	fdOut   = 4
	fdMount = 5
)

// Main runs a worker until its end. ok is false, and nothing has happened, unless this
// process was started as a worker; else the process must exit with code. tasks are what
// the process does as a Helper; nil: nothing.
func Main(tasks Tasks) (code int, ok bool) {
	return run(func(c *child) error { return c.serve(tasks) })
}

// run is Main with what the child does.
func run(do func(*child) error) (code int, ok bool) {
	if len(os.Args) < 2 || os.Args[len(os.Args)-1] != Argument {
		return 0, false
	}
	memories, err := memsnap.Open() // before harden, which closes /proc/self
	if err != nil {
		memories = nil // every call gets a new instance
	}
	if err := confine.Harden(fdIn, fdOut); err != nil {
		fmt.Fprintln(os.Stderr, "weir: this process is started by weir itself:", err)
		return 2, true
	}
	if err := do(newChild(memories)); err != nil {
		fmt.Fprintln(os.Stderr, "weir worker:", err)
		return 1, true
	}
	return 0, true
}

// A child is the worker's side. One goroutine reads a call, runs it and writes its
// result, so no other goroutine is woken in between.
type child struct {
	in       *frames.Reader
	out      *frames.Writer
	mounts   []jail.Mount
	input    []byte         // buffer for the next call
	flat     []byte         // buffer for the next answer
	memories *memsnap.Space // nil: instances cannot be renewed
	trimmer  *memtrim.Trimmer
}

func newChild(memories *memsnap.Space) *child {
	return &child{
		memories: memories, trimmer: memtrim.New(),
		in: frames.NewReader(os.NewFile(fdIn, "frames in")), out: frames.NewWriter(os.NewFile(fdOut, "frames out")),
	}
}

// childProcs is enough for a guest and for what goes on beside it.
const childProcs = 2

func (c *child) serve(tasks Tasks) error {
	load, wasm, err := c.begin()
	if err != nil {
		return err
	}
	if do := tasks[load.Task]; do != nil {
		if err := c.out.Write(kindReady, readyMeta{}, nil); err != nil {
			return err
		}
		return do(c.in, c.out, func() error { return confine.Seal(confine.Set{}) })
	}
	m, err := c.load(load, wasm)
	if err != nil {
		return c.out.Write(kindReady, readyMeta{Refused: msg.ToWire(msg.Of(err)), NotCompiled: errors.Is(err, sandbox.ErrNotCompiled)}, nil)
	}
	if err := c.out.Write(kindReady, readyMeta{}, nil); err != nil || load.Compile {
		return err
	}
	return c.work(m)
}

// begin reads what the child is for, closes what it was not given and sets its limits.
func (c *child) begin() (load loadMeta, wasm []byte, err error) {
	runtime.GOMAXPROCS(childProcs)
	f, err := c.in.Read(&expectLoad, nil)
	if err != nil {
		return load, nil, err
	}
	if load, err = frames.Decode[loadMeta](f); err != nil {
		return load, nil, err
	}
	if err := confine.CloseInherited(fdMount + len(load.Mounts)); err != nil {
		return load, nil, err
	}
	if err := confine.Bind(load.Bounds); err != nil {
		return load, nil, fmt.Errorf("its limits cannot be set: %w", err)
	}
	if load.Bounds.Data > 0 {
		// Collect the garbage of earlier calls before the kernel's limit is reached.
		debug.SetMemoryLimit(load.Bounds.Data / 2)
	}
	for i, m := range load.Mounts {
		c.mounts = append(c.mounts, jail.Mount{Guest: m.Guest, Host: m.Host, Write: m.Write, Hide: m.Hide, Keep: m.Keep, Via: confine.Path(fdMount + i)})
	}
	return load, f.Data, nil
}

// load loads the module. A child that compiles is sealed before it reads the module, another
// one before any code of the module runs.
func (c *child) load(l loadMeta, wasm []byte) (*sandbox.Module, error) {
	ctx := context.Background()
	e, err := sandbox.New(ctx, sandbox.Config{
		Engine: l.Engine, CacheDir: l.Cache, Logger: c.logger(hclog.Level(l.LogLevel)), Renewed: l.Renewed, Spares: l.Spares,
		Memories: c.memories, Unchecked: !l.Checked, ReadCache: !l.Compile, CacheVersion: l.CacheVersion,
	})
	if err != nil {
		return nil, err
	}
	if l.Compile {
		if err := sealCompiler(e.CacheFolder()); err != nil {
			return nil, err
		}
	}
	m, err := e.Load(ctx, sandbox.Plugin{Name: l.Plugin, Wasm: wasm, Exports: l.Exports, Memory: tool.Bytes(l.Memory)})
	if err != nil || l.Compile {
		return m, err
	}
	return m, c.sealGuest(l)
}

// sealCompiler leaves a child the folder of compiled code alone.
func sealCompiler(cache string) error {
	dir, err := os.Open(cache)
	if err != nil {
		return err
	}
	defer dir.Close()
	return confine.Seal(confine.Set{Folders: []confine.Folder{{FD: int(dir.Fd()), Write: true}}, Code: true})
}

// images is how many images of memory can exist at once: the guest's, the kernel's, and one
// that takes the place of another.
const images = 3

// sealGuest leaves a child the granted folders alone. It has loaded its only module, so it
// needs no more code, unless its engine makes some for each instance.
func (c *child) sealGuest(l loadMeta) error {
	set := confine.Set{Code: l.Engine == sandbox.EngineExtism}
	for i, m := range l.Mounts {
		set.Folders = append(set.Folders, confine.Folder{FD: fdMount + i, Write: m.Write})
	}
	if c.memories != nil && l.Image > 0 {
		var err error
		if set.Files, err = c.memories.Prepare(images, uint64(l.Image)); err != nil {
			return err
		}
	}
	return confine.Seal(set)
}

// A guest runs the calls; *sandbox.Module is one.
type guest interface {
	Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error)
}

// work runs calls one after the other until the parent closes the pipe. While a guest
// runs nothing is read; the kernel kills this process with its parent.
func (c *child) work(g guest) error {
	over := make(chan error)
	go c.workOn(g, nil, over)
	return <-over
}

// workOn runs calls on one thread: first one that was read, if any, and then others until
// the parent wants another thread, since it has lowered the priority of this one.
func (c *child) workOn(g guest, first *frames.Frame, over chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	err := c.out.Write(kindThread, threadMeta{threadID()}, nil)
	for next := first; err == nil; next = nil {
		f := next
		if f == nil {
			if f = c.read(); f == nil {
				break
			}
		}
		var m callMeta
		if err = m.unpack(f.Meta); err != nil {
			break
		}
		if m.NewThread && next == nil {
			go c.workOn(g, f, over)
			return
		}
		if !c.run(g, m, f.Data) {
			break
		}
	}
	over <- err
}

// read returns the next call; nil: the parent has closed the pipe.
func (c *child) read() *frames.Frame {
	c.trimmer.Begin()
	f, err := c.in.Read(&expectCall, c.input)
	if err != nil {
		return nil
	}
	c.trimmer.End()
	if cap(f.Data) <= keepInput {
		c.input = f.Data
	}
	return &f
}

// run runs a call and writes its result. It returns false if the parent has gone.
func (c *child) run(g guest, m callMeta, input []byte) bool {
	out, fail := g.Call(context.Background(), c.invocation(m, input))
	if m.MCP && fail == nil && !out.Text { // the parent reads no JSON of a guest
		out.Bytes, out.Text = answer.Flatten(c.flat[:0], out.Bytes)
		out.Flat = !out.Text
		if cap(out.Bytes) <= keepInput {
			c.flat = out.Bytes
		}
	}
	if err := c.out.Write(kindResult, &resultMeta{int64(out.Memory), int64(out.Instance), out.Relist, out.Text, out.Flat, metaOfFailure(fail)}, out.Bytes); err != nil {
		return false
	}
	if len(input)+len(out.Bytes) > collectOver {
		runtime.GC()
	}
	return true
}

// collectOver is how many bytes of a call are not left as garbage beside the next one's.
const collectOver = 4 << 20

// keepInput is the largest buffer that is kept for the next call, in bytes.
const keepInput = 1 << 20

// forever is the timeout of a call in a child: the parent enforces the real one.
const forever = time.Duration(math.MaxInt64 / 4)

func (c *child) invocation(m callMeta, input []byte) sandbox.Invocation {
	inv := sandbox.Invocation{
		Export: m.Export, Tool: m.Tool, Input: input, Timeout: forever, MaxOutput: m.MaxOutput, Fresh: m.Fresh,
		Limits: tool.Limits{MaxChars: m.MaxChars, MaxLines: m.MaxLines},
		Grant:  sandbox.Grant{Mounts: c.mounts, Config: m.Config},
	}
	if m.HTTP {
		inv.Grant.HTTP = c
	}
	if m.Progress {
		inv.Progress = func(done, total int, text string) {
			_ = c.out.Write(kindProgress, progressMeta{done, total, text}, nil) // the next read notices a parent that has ended
		}
	}
	return inv
}

// Do implements sandbox.Sender: the parent sends the request. A guest waits for one
// request at a time.
func (c *child) Do(_ context.Context, r egress.Request) (egress.Response, *tool.Error) {
	lost := &tool.Error{Code: tool.Failed, Msg: "the request could not be passed on"}
	if c.out.Write(kindRequest, requestMeta{r.Method, r.URL, r.Headers, r.TimeoutSeconds}, r.Body) != nil {
		return egress.Response{}, lost
	}
	f, err := c.in.Read(&expectResponse, nil)
	if err != nil {
		return egress.Response{}, lost
	}
	m, err := frames.Decode[responseMeta](f)
	switch {
	case err != nil:
		return egress.Response{}, lost
	case m.Error != nil:
		return egress.Response{}, m.Error
	}
	return egress.Response{Status: m.Status, URL: m.URL, Headers: m.Headers, Body: f.Data}, nil
}

// logger returns a logger that sends its lines to the parent.
func (c *child) logger(level hclog.Level) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: level, Output: nowhere{}})
	l.RegisterSink(sink{c.out})
	return l
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// sink implements hclog.SinkAdapter.
type sink struct{ out *frames.Writer }

// maxArg bounds one value of a log line, in bytes.
const maxArg = 2 << 10

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(_ string, level hclog.Level, text string, args ...any) {
	m := logMeta{Level: int(level), Message: sandbox.Printable(text, maxArg)}
	for _, a := range args[:min(len(args), 8)] {
		m.Args = append(m.Args, sandbox.Printable(fmt.Sprint(a), maxArg))
	}
	_ = s.out.Write(kindLog, m, nil)
}
