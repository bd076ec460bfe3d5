package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/tool"
)

// A caller runs one call: a module of the sandbox, in this process or in a worker.
type caller interface {
	Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error)
}

// inline loads a guest into this process. Without checks nothing would stop its
// loops.
func (b *bench) inline(ctx context.Context, wasm []byte, unchecked bool) (caller, error) {
	e, err := sandbox.New(ctx, sandbox.Config{CacheDir: b.cache, Unchecked: unchecked})
	if err != nil {
		return nil, err
	}
	b.defers(func() error { return e.Close(context.Background()) })
	return e.Load(ctx, sandbox.Plugin{Name: "guest", Wasm: wasm})
}

// worker loads a guest into a process of its own.
func (b *bench) worker(ctx context.Context, wasm []byte) (caller, error) {
	p, err := worker.New(ctx, worker.Config{Command: []string{b.self}, CacheDir: b.cache})
	if err != nil {
		return nil, err
	}
	b.defers(func() error { return p.Close(context.Background()) })
	return p.Load(ctx, sandbox.Plugin{Name: "guest", Wasm: wasm, Exports: []string{"echo"}})
}

// calls is a contender that makes calls as a host does: with the default
// deadline, and with a context that can be cancelled.
func calls(ctx context.Context, name string, c caller, j job) contender {
	return contender{name, func(n int) error { return repeat(ctx, c, j, n) }}
}

func repeat(ctx context.Context, c caller, j job, n int) error {
	for range n {
		out, fail := c.Call(ctx, sandbox.Invocation{Export: j.export, Input: j.input})
		if fail != nil {
			return fmt.Errorf("%s: %w", j.export, fail)
		}
		if err := j.check(out.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// together is calls by two callers at once.
func together(ctx context.Context, name string, c caller, j job) contender {
	return contender{name, func(n int) error {
		var wg sync.WaitGroup
		var errs [2]error
		for i := range errs {
			wg.Go(func() { errs[i] = repeat(ctx, c, j, (n+i)/2) })
		}
		wg.Wait()
		if errs[0] != nil {
			return errs[0]
		}
		return errs[1]
	}}
}
