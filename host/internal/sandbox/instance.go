package sandbox

import (
	"cmp"
	"context"
	"errors"
	"math"
	"reflect"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/weirhost/weir/host/internal/instrument"
)

// wazeroInstance is a guest with its kernel.
type wazeroInstance struct {
	program *wazeroProgram
	env     *env
	host    host
	ctx     inside

	kernel     api.Module        // nil: the guest uses no blocks
	kernelUsed api.MutableGlobal // is 0 until the kernel is used; nil: unknown
	main       api.Module
	stop       stopper

	direct  bool   // the guest has a mailbox
	box     uint32 // where
	lasting bool   // it can serve several calls
	spoiled bool   // after its last call its state is unknown
	stopped bool   // its last call was ended by the flag

	kernelHandles       [kernelFuncs]api.Function
	exports             []handle
	restoreHandle       api.Function
	restoreKernelHandle api.Function
	stack               [2]uint64
}

// handle is an export that was called before: each lookup would allocate a stack.
type handle struct {
	name     string
	function api.Function
	stack    reflect.Value // see stackOf
}

// start implements program.
func (p *wazeroProgram) start(e *env) (instance, error) {
	i := &wazeroInstance{program: p, env: e}
	i.ctx.instance = i
	i.host = host{env: e, blocks: i}
	if err := i.begin(); err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

// begin creates the instance and brings it to the state in which calls begin.
func (i *wazeroInstance) begin() (err error) {
	defer recovered(i.program.log, "starting", &err)
	if err := i.open(); err != nil {
		return err
	}
	i.stop.add(i.main)
	i.stop.add(i.kernel)
	i.stop.arm(i.env.span)
	defer i.stop.disarm()
	if i.env.memory.space != nil {
		return i.settle()
	}
	if err := i.initialise(); err != nil || i.kernel == nil {
		return err
	}
	return i.callKernel(kernelDoReset, nil)
}

// open instantiates kernel and guest.
func (i *wazeroInstance) open() (err error) {
	p, e := i.program, i.env
	ctx := experimental.WithMemoryAllocator(i.within(), e.memory)
	if p.kernel == nil {
		e.memory.skip()
	} else if i.kernel, err = p.runtime.InstantiateModule(ctx, p.kernel, wazero.NewModuleConfig().WithName("").WithStartFunctions()); err != nil {
		return err
	}
	config := e.world().WithName("").WithStartFunctions()
	ctx = experimental.WithImportResolver(ctx, i.resolve)
	i.main, err = p.runtime.InstantiateModule(ctx, p.main, config)
	return i.ended(err)
}

// resolve returns modules that differ between instances; nil: the shared one.
func (i *wazeroInstance) resolve(name string) api.Module {
	switch {
	case name == kernelModule && i.kernel != nil:
		return i.kernel
	case name == instrument.StdioModule && i.env.memory.space != nil:
		return i.program.stdio
	}
	return nil
}

// initialise initializes the guest. What that leaves in the kernel is removed before
// the first call.
func (i *wazeroInstance) initialise() error {
	for _, name := range i.program.init {
		if _, err := i.run(name); err != nil { // hs_init has two parameters, which are 0
			return err
		}
	}
	return i.findBox()
}

// findBox finds the guest's mailbox, if it has one.
func (i *wazeroInstance) findBox() error {
	if !isBoxFunction(i.main.ExportedFunction(boxExport)) || !isBoxFunction(i.main.ExportedFunction(reserveExport), api.ValueTypeI32) {
		return nil
	}
	at, err := i.run(boxExport)
	if err != nil {
		return err
	}
	i.box = at
	i.direct, err = openBox(i.memory(), at)
	return err
}

// environment implements instance.
func (i *wazeroInstance) environment() *env { return i.env }

// call implements instance.
func (i *wazeroInstance) call(export string, input []byte) (r reply, err error) {
	i.stop.arm(i.env.span)
	r, err = i.exchange(export, input)
	i.stopped = i.stop.disarm()
	i.spoiled = i.spoiled || err != nil && !isStop(err, i.stopped)
	return r, err
}

// exchange passes the input, runs the export and collects the result.
func (i *wazeroInstance) exchange(export string, input []byte) (r reply, err error) {
	defer recovered(i.program.log, "running", &err)
	if i.direct {
		return i.callDirect(export, input)
	}
	if err := i.give(input); err != nil {
		return r, err
	}
	if r.code, err = i.run(export); err != nil {
		return r, err
	}
	return r, i.collect(&r)
}

// callDirect passes input and output through the guest's mailbox.
func (i *wazeroInstance) callDirect(export string, input []byte) (r reply, err error) {
	if err := i.post(input); err != nil {
		return r, err
	}
	if r.code, err = i.run(export); err != nil {
		return r, err
	}
	b, err := boxAt(i.memory(), i.box)
	if err != nil {
		return r, err
	}
	var words []byte
	r.output, words, err = b.take(i.memory(), r.code, i.env.max)
	r.text = b.get(boxStateAt) == boxText
	i.env.mu.Lock()
	defer i.env.mu.Unlock()
	i.env.wanted = len(r.output)
	if err == nil && words != nil {
		i.env.wrong = cmp.Or(string(words), " ")
	}
	return r, err
}

// post writes the input to the mailbox, for which the guest may have to make room.
func (i *wazeroInstance) post(input []byte) error {
	b, err := boxAt(i.memory(), i.box)
	if err != nil {
		return err
	}
	if n := uint64(len(input)); n > uint64(b.get(boxInCapAt)) {
		made, err := i.run(reserveExport, n)
		if err != nil {
			return err
		}
		if made != 1 {
			return errNoMemory
		}
		if b, err = boxAt(i.memory(), i.box); err != nil { // the memory may have grown and moved
			return err
		}
		if n > uint64(b.get(boxInCapAt)) {
			return errBoxRoom
		}
	}
	return b.put(i.memory(), input, i.env.setup.limits)
}

// memory returns the guest's memory.
func (i *wazeroInstance) memory() []byte {
	m := i.main.Memory()
	if m == nil {
		return nil
	}
	b, _ := m.Read(0, m.Size()) // a size of 4 GiB would be 0, but exceeds every cap
	return b
}

// run calls an export of the guest, which returns at most one number.
func (i *wazeroInstance) run(export string, args ...uint64) (uint32, error) {
	f, err := i.find(export)
	if err != nil {
		return 0, err
	}
	i.stack = [2]uint64{}
	copy(i.stack[:], args)
	err = i.ended(f.CallWithStack(i.within(), i.stack[:]))
	return uint32(i.stack[0]), err
}

// ended notes that a guest ended itself.
func (i *wazeroInstance) ended(err error) error {
	if exit, ok := errors.AsType[*sys.ExitError](err); ok && !i.env.span.over() {
		i.env.note(func() { i.env.exited, i.env.exitCode = true, exit.ExitCode() })
	}
	return err
}

// find returns the function of an export.
func (i *wazeroInstance) find(export string) (api.Function, error) {
	for _, h := range i.exports {
		if h.name == export {
			return h.function, nil
		}
	}
	f := i.main.ExportedFunction(export)
	if f == nil {
		return nil, errors.New("it has no such export")
	}
	i.exports = append(i.exports, handle{name: export, function: f, stack: stackOf(f)})
	return f, nil
}

// give writes the input where the guest finds it.
func (i *wazeroInstance) give(input []byte) error {
	if i.kernel == nil || len(input) == 0 {
		return nil
	}
	offset, err := i.host.write(input)
	if err != nil {
		return err
	}
	return i.callKernel(kernelDoInputSet, []uint64{offset, uint64(len(input))})
}

// collect copies the output if its length is the one that the guest set.
func (i *wazeroInstance) collect(r *reply) error {
	if i.kernel == nil {
		return nil
	}
	var offset, length [1]uint64
	if err := errors.Join(i.callKernel(kernelDoOutputOffset, offset[:]), i.callKernel(kernelDoOutputLength, length[:])); err != nil {
		return err
	}
	if r.astray = length[0] != uint64(i.env.wanted); r.astray {
		return nil
	}
	b, ok := i.view(offset[0], int(length[0]))
	if ok {
		r.output = append([]byte(nil), b...)
	}
	return nil
}

// close implements instance. The call may be over, so it uses a context of its own.
func (i *wazeroInstance) close() error {
	i.stop.end()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var errs []error
	for _, m := range []api.Module{i.main, i.kernel} {
		if m != nil {
			errs = append(errs, guard(i.program.log, "closing", func() error { return m.Close(ctx) }))
		}
	}
	i.env.memory.release()
	return errors.Join(errs...)
}

// callKernel implements blocks.
func (i *wazeroInstance) callKernel(f kernelFunc, stack []uint64) error {
	h := i.kernelHandles[f]
	if h == nil {
		h = i.kernel.ExportedFunction(f.String())
		i.kernelHandles[f] = h
	}
	return h.CallWithStack(i.within(), stack)
}

// view implements blocks.
func (i *wazeroInstance) view(offset uint64, n int) ([]byte, bool) {
	if offset > math.MaxUint32 || i.kernel == nil {
		return nil, false
	}
	return i.kernel.Memory().Read(uint32(offset), uint32(n))
}

// inside is the context of code that runs in an instance. Host functions find the
// instance by it without a search.
type inside struct{ instance *wazeroInstance }

type insideKey struct{}

// insideOf returns the instance whose guest called; nil: none did.
func insideOf(ctx context.Context) *wazeroInstance {
	c, ok := ctx.(*inside)
	if !ok {
		c, _ = ctx.Value(insideKey{}).(*inside)
	}
	if c == nil {
		return nil
	}
	return c.instance
}

// Deadline implements context.Context.
func (*inside) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (*inside) Done() <-chan struct{} { return nil }

// Err implements context.Context.
func (*inside) Err() error { return nil }

// Value implements context.Context.
func (c *inside) Value(key any) any {
	if key == (insideKey{}) {
		return c
	}
	return nil
}

// watched is inside for one entry into an engine that watches its context. The watcher
// may still use it after the entry, so it never changes.
type watched struct {
	*inside
	span context.Context
}

// Deadline implements context.Context.
func (w *watched) Deadline() (time.Time, bool) { return w.span.Deadline() }

// Done implements context.Context.
func (w *watched) Done() <-chan struct{} { return w.span.Done() }

// Err implements context.Context.
func (w *watched) Err() error { return w.span.Err() }

// within returns the context for the next entry.
func (i *wazeroInstance) within() context.Context {
	if i.program.watched {
		return &watched{inside: &i.ctx, span: i.env.span.context()}
	}
	return &i.ctx
}
