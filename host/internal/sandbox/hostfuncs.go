package sandbox

import (
	"context"
	"errors"
	"math"

	extism "github.com/extism/go-sdk"
	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero/api"
)

// What host functions accept from a guest, in bytes.
const (
	maxRequest  = 16 << 20 // an HTTP request as JSON, its body in base64
	maxMessage  = 8 << 10  // a log line or a progress report
	maxError    = 8 << 10  // the guest's own error text
	maxReports  = 1000     // progress reports of one call; further ones are dropped
	maxProgress = 500      // bytes of a progress message that are passed on
)

// hostFunctions lists what guests can import beyond Extism's own functions,
// and our versions of some of those.
func hostFunctions() []extism.HostFunction {
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	type types = []api.ValueType
	user := func(name string, f hostFunc, params, results types) extism.HostFunction {
		return extism.NewHostFunctionWithStack(name, f.callback(), params, results)
	}
	own := func(name string, f hostFunc, params, results types) extism.HostFunction {
		h := user(name, f, params, results)
		h.SetNamespace(hostModule)
		return h
	}
	return append(hyperFunctions(),
		user("weir_http", weirHTTP, types{i64}, types{i64}),
		user("weir_progress", weirProgress, types{i64}, nil),
		user("weir_log", weirLog, types{i32, i64}, nil),

		own("alloc", kernelAlloc, types{i64}, types{i64}),
		own("output_set", kernelOutputSet, types{i64, i64}, nil),
		own("error_set", kernelErrorSet, types{i64}, nil),
		own("http_request", extismHTTP, types{i64, i64}, types{i64}),
		own("http_status_code", extismStatus, nil, types{i32}),
		own("http_headers", extismHeaders, nil, types{i64}),
		own("log_trace", extismLog(hclog.Trace), types{i64}, nil),
		own("log_debug", extismLog(hclog.Debug), types{i64}, nil),
		own("log_info", extismLog(hclog.Info), types{i64}, nil),
		own("log_warn", extismLog(hclog.Warn), types{i64}, nil),
		own("log_error", extismLog(hclog.Error), types{i64}, nil),
		own("get_log_level", extismLogLevel, nil, types{i32}),
	)
}

// A hostFunc is called by a guest. An error ends the call; what a guest can
// handle is written to its memory instead.
type hostFunc func(h *host, stack []uint64) error

// host is what a host function works with: the env of the calling instance and
// a view of the kernel's memory, where all blocks lie.
type host struct {
	ctx    context.Context
	env    *env
	plugin *extism.CurrentPlugin
}

func (f hostFunc) callback() extism.HostFunctionStackCallback {
	return func(ctx context.Context, p *extism.CurrentPlugin, stack []uint64) {
		e, ok := ctx.Value(envKey{}).(*env)
		if !ok {
			panic(errors.New("a host function was called outside of a call"))
		}
		if err := f(&host{ctx: ctx, env: e, plugin: p}, stack); err != nil {
			panic(err) // the engine turns it into the call's error
		}
	}
}

var (
	errBlock    = errors.New("the guest passed a block of memory that does not exist")
	errTooLong  = errors.New("the guest passed more than the host function takes")
	errNoMemory = errors.New("out of memory")
)

// read copies a block of the guest's. Its length comes from the kernel, which
// checks it, and is held to most before anything is allocated.
func (h *host) read(offset uint64, most int) ([]byte, error) {
	if offset == 0 {
		return nil, nil
	}
	n, err := h.plugin.LengthWithContext(h.ctx, offset)
	if err != nil {
		return nil, err
	}
	if n > uint64(most) {
		return nil, errTooLong
	}
	b, ok := h.plugin.Memory().Read(uint32(offset), uint32(n))
	if !ok || offset > math.MaxUint32 {
		return nil, errBlock
	}
	return append([]byte(nil), b...), nil
}

// take is read for a block that the guest hands over. What is beyond most
// bytes is cut off.
func (h *host) take(offset uint64, most int) ([]byte, error) {
	b, err := h.read(offset, kernelCap)
	if err != nil {
		return nil, err
	}
	if offset != 0 {
		err = h.plugin.FreeWithContext(h.ctx, offset)
	}
	return b[:min(len(b), most)], err
}

// write puts bytes into a new block of the guest's and returns its offset.
func (h *host) write(b []byte) (uint64, error) {
	if len(b) == 0 {
		return 0, nil
	}
	offset, err := h.plugin.AllocWithContext(h.ctx, uint64(len(b)))
	if err != nil {
		return 0, err
	}
	if offset == 0 || !h.plugin.Memory().Write(uint32(offset), b) {
		h.env.note(func() { h.env.lost = true })
		return 0, errNoMemory
	}
	return offset, nil
}

// kernelAlloc is alloc with an eye on failure: the kernel answers 0, and
// plugins write to it all the same.
func kernelAlloc(h *host, stack []uint64) error {
	n := stack[0]
	offset, err := h.plugin.AllocWithContext(h.ctx, n)
	if err != nil {
		return err
	}
	if offset == 0 && n > 0 {
		h.env.note(func() { h.env.lost = true })
	}
	stack[0] = offset
	return nil
}

// kernelOutputSet notes how much output there should be and refuses what is
// over the limit before anybody copies it.
func kernelOutputSet(h *host, stack []uint64) error {
	n := stack[1]
	var over bool
	h.env.note(func() {
		over = n > uint64(h.env.max)
		h.env.tooLarge, h.env.wanted = over, int(min(n, kernelCap*2))
	})
	if over {
		stack[0], stack[1] = 0, 0
	}
	return h.kernel("output_set", stack)
}

// kernelErrorSet keeps the guest's error text here, where it cannot be mixed
// up with an error of the engine. Offset 0 takes it back.
func kernelErrorSet(h *host, stack []uint64) error {
	b, err := h.read(stack[0], kernelCap)
	if err != nil {
		return err
	}
	h.env.note(func() { h.env.wrong = string(b[:min(len(b), maxError)]) })
	return nil
}

// kernel calls a function of the instance's Extism kernel.
func (h *host) kernel(name string, stack []uint64) error {
	k, ok := h.ctx.Value(extism.PluginCtxKey("extism")).(api.Module)
	if !ok {
		return errors.New("the plugin has no kernel")
	}
	return k.ExportedFunction(name).CallWithStack(h.ctx, stack)
}
