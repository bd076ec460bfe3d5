package scriptvm

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

//go:embed typescript/stripper.js
var stripperSource []byte

// A stripper is the state of an engine that takes the types out of TypeScript. It runs in
// the sandbox like a script: parsers that run in this process overflow its stack at some
// sources, or take gigabytes.
type stripper struct {
	mu       sync.Mutex // guards the others
	image    []byte     // linear memory; nil: no script needed it so far
	function uint64     // a handle
}

// A stripped is TypeScript without its types.
type stripped struct {
	Code string `json:"code"`
	// Columns has, for each line, where the distance between the column in Code and that in
	// the source changes: [column in Code, column in the source, …], from 0.
	Columns [][]int `json:"columns"`
	// Fault is what is wrong in the syntax; nil: nothing that the stripper looks at.
	Fault *Fault `json:"fault"`
}

// strip takes the types out of a program. Lines stay. The error means that the program is
// too much for the stripper, or that ctx has ended.
func (r *Runtime) strip(ctx context.Context, program string) (out stripped, err error) {
	image, function, err := r.stripper.get(ctx, r)
	if err != nil {
		return out, err
	}
	s, err := r.instance(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	if err := s.restore(image); err != nil {
		return out, err
	}
	source, err := s.text(ctx, program)
	if err != nil {
		return out, err
	}
	h, err := s.apply(ctx, function, source)
	if err != nil {
		return out, err
	}
	text, err := s.string(ctx, h)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(text, &out)
}

// get returns the state, and makes it at the first use.
func (t *stripper) get(ctx context.Context, r *Runtime) (image []byte, function uint64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.image != nil {
		return t.image, t.function, nil
	}
	s, err := r.instance(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	if err := s.reset(); err != nil {
		return nil, 0, err
	}
	f, err := s.eval(ctx, slices.Concat(stripperSource, []byte("\nstripper.strip")), "stripper.js")
	if err != nil {
		return nil, 0, fmt.Errorf("what reads TypeScript cannot start: %w", err)
	}
	memory, ok := s.module.Memory().Read(0, s.module.Memory().Size())
	if !ok {
		return nil, 0, ErrBroken
	}
	t.image, t.function = slices.Clone(memory), f
	return t.image, f, nil
}

// compiled returns a program as a function of the module. One that is no JavaScript may be
// TypeScript: then the columns of its errors are in set. fault is what the stripper says is
// wrong, if it is neither. A *thrown is the error of JavaScript.
func (s *Script) compiled(ctx context.Context, program string, set *Setting) (f uint64, fault *Fault, err error) {
	f, err = s.eval(ctx, []byte(program), file)
	if _, ok := errors.AsType[*thrown](err); !ok {
		return f, nil, err
	}
	js, failed := s.runtime.strip(ctx, program)
	if errors.Is(failed, ErrTime) { // it may be TypeScript without a fault
		return 0, nil, failed
	}
	if failed != nil || js.Fault != nil || js.Code == program {
		return 0, js.Fault, err
	}
	set.columns = js.Columns
	f, err = s.eval(ctx, []byte(js.Code), file)
	return f, nil, err
}
