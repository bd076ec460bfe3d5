package sandbox

import (
	"errors"

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

// A hostFunction is a function that guests can import: an addition to Extism's kernel,
// or our version of one of its functions.
type hostFunction struct {
	module, name    string
	params, results []api.ValueType
	call            hostFunc
}

// A hostFunc is the code of a host function. An error ends the call; what a guest can
// handle is written to its memory instead.
type hostFunc func(h *host, stack []uint64) error

// hostFunctions returns those that are the same for all engines.
func hostFunctions() []hostFunction {
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	type types = []api.ValueType
	return append(hyperFunctions(), []hostFunction{
		{userModule, "weir_http", types{i64}, types{i64}, weirHTTP},
		{userModule, "weir_progress", types{i64}, nil, weirProgress},
		{userModule, "weir_log", types{i32, i64}, nil, weirLog},

		{hostModule, "alloc", types{i64}, types{i64}, kernelAlloc},
		{hostModule, "output_set", types{i64, i64}, nil, kernelOutputSet},
		{hostModule, "error_set", types{i64}, nil, kernelErrorSet},
		{hostModule, "http_request", types{i64, i64}, types{i64}, extismHTTP},
		{hostModule, "http_status_code", nil, types{i32}, extismStatus},
		{hostModule, "http_headers", nil, types{i64}, extismHeaders},
		{hostModule, "log_trace", types{i64}, nil, extismLog(hclog.Trace)},
		{hostModule, "log_debug", types{i64}, nil, extismLog(hclog.Debug)},
		{hostModule, "log_info", types{i64}, nil, extismLog(hclog.Info)},
		{hostModule, "log_warn", types{i64}, nil, extismLog(hclog.Warn)},
		{hostModule, "log_error", types{i64}, nil, extismLog(hclog.Error)},
		{hostModule, "get_log_level", nil, types{i32}, extismLogLevel},
	}...)
}

// host is the context of a host function: the env of the calling instance and the
// blocks that carry its data.
type host struct {
	env    *env
	blocks blocks
}

// blocks are the memory that guest and host share, managed by Extism's kernel. Offset
// 0 is no block. They belong to the goroutine that runs the guest; the result of view
// is valid until the next call of another method.
type blocks interface {
	// callKernel calls a function of the kernel, with arguments and result in stack.
	callKernel(f kernelFunc, stack []uint64) error
	// view returns a part of the memory; ok is false if it is not all there.
	view(offset uint64, n int) (b []byte, ok bool)
}

// A kernelFunc is a function of the kernel.
type kernelFunc int

// The functions of the kernel that the host calls.
const (
	kernelDoAlloc kernelFunc = iota
	kernelDoFree
	kernelDoLength
	kernelDoInputSet
	kernelDoOutputSet
	kernelDoOutputOffset
	kernelDoOutputLength
	kernelDoReset
	kernelFuncs // number of functions
)

// String returns the function's name in the kernel.
func (f kernelFunc) String() string {
	return [kernelFuncs]string{"alloc", "free", "length", "input_set", "output_set", "output_offset", "output_length", "reset"}[f]
}

var (
	errBlock    = errors.New("the guest passed a block of memory that does not exist")
	errTooLong  = errors.New("the guest passed more than the host function takes")
	errNoMemory = errors.New("out of memory")
	errOutside  = errors.New("a host function was called outside of a call")
)

// read copies a block of the guest. The kernel checks its length, and it is bounded by
// most before anything is allocated.
func (h *host) read(offset uint64, most int) ([]byte, error) {
	if offset == 0 {
		return nil, nil
	}
	stack := [1]uint64{offset}
	if err := h.blocks.callKernel(kernelDoLength, stack[:]); err != nil {
		return nil, err
	}
	if stack[0] > uint64(most) {
		return nil, errTooLong
	}
	b, ok := h.blocks.view(offset, int(stack[0]))
	if !ok {
		return nil, errBlock
	}
	return append([]byte(nil), b...), nil
}

// take is read for a block that the guest hands over; it is freed. Bytes beyond most
// are cut off.
func (h *host) take(offset uint64, most int) ([]byte, error) {
	b, err := h.read(offset, kernelCap)
	if err != nil {
		return nil, err
	}
	if offset != 0 {
		err = h.blocks.callKernel(kernelDoFree, []uint64{offset})
	}
	return b[:min(len(b), most)], err
}

// write writes bytes into a new block of the guest and returns its offset.
func (h *host) write(b []byte) (uint64, error) {
	if len(b) == 0 {
		return 0, nil
	}
	stack := [1]uint64{uint64(len(b))}
	if err := h.blocks.callKernel(kernelDoAlloc, stack[:]); err != nil {
		return 0, err
	}
	if room, ok := h.blocks.view(stack[0], len(b)); ok && stack[0] != 0 {
		copy(room, b)
		return stack[0], nil
	}
	h.env.note(func() { h.env.lost = true })
	return 0, errNoMemory
}

// kernelAlloc is alloc that notices failures: the kernel returns 0, and plugins write
// there regardless.
func kernelAlloc(h *host, stack []uint64) error {
	n := stack[0]
	if err := h.blocks.callKernel(kernelDoAlloc, stack); err != nil {
		return err
	}
	if stack[0] == 0 && n > 0 {
		h.env.note(func() { h.env.lost = true })
	}
	return nil
}

// kernelOutputSet notes the length of the output. Of one that exceeds the limit only the
// beginning is copied. One that is larger than the memory it would be in does not exist.
func kernelOutputSet(h *host, stack []uint64) error {
	n := stack[1]
	missing := n > kernelCap
	h.env.note(func() {
		h.env.wanted = int(min(n, uint64(h.env.max)))
		if missing {
			h.env.wanted = kernelCap * 2
		}
		stack[1] = uint64(h.env.wanted)
	})
	if missing {
		stack[0], stack[1] = 0, 0
	}
	return h.blocks.callKernel(kernelDoOutputSet, stack)
}

// kernelErrorSet stores the guest's error text, apart from errors of the engine.
// Offset 0 removes it.
func kernelErrorSet(h *host, stack []uint64) error {
	b, err := h.read(stack[0], kernelCap)
	if err != nil {
		return err
	}
	h.env.note(func() { h.env.wrong = string(b[:min(len(b), maxError)]) })
	return nil
}
