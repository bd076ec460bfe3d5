package scriptvm

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
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
	h, err := s.apply(ctx, function, []uint64{source}, []uint64{source})
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
	s, err := r.fresh(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	name, err := s.bytes(ctx, []byte("stripper.js"))
	if err != nil {
		return nil, 0, err
	}
	f, err := s.evalAs(ctx, slices.Concat(stripperSource, []byte("\nstripper.strip")), name)
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

// tooMuch follows the error of JavaScript where the stripper did not come to an end.
const tooMuch = " (as TypeScript the script takes too long to read: write a shorter one, or JavaScript)"

// types is strip, for half of the time that the script has left.
func (s *Script) types(ctx context.Context, program string) (stripped, error) {
	ctx, cancel := context.WithTimeout(ctx, s.left/2)
	defer cancel()
	began := time.Now()
	defer func() { s.left -= time.Since(began) }()
	return s.runtime.strip(ctx, program)
}
