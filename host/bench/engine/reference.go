package main

import (
	"context"
	"fmt"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// A reference is a guest on Extism's Go SDK as its documentation shows it,
// without a timeout.
type reference struct {
	plugin *extism.CompiledPlugin
	warm   *extism.Plugin
}

func (b *bench) newReference(ctx context.Context, wasm []byte) (*reference, error) {
	cache, err := wazero.NewCompilationCacheWithDir(b.dir("reference-cache"))
	if err != nil {
		return nil, err
	}
	b.defers(func() error { return cache.Close(context.Background()) })
	plugin, err := extism.NewCompiledPlugin(ctx, extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm, Name: "main"}}},
		extism.PluginConfig{EnableWasi: true, RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache)}, nil)
	if err != nil {
		return nil, err
	}
	b.defers(func() error { return plugin.Close(context.Background()) })
	r := &reference{plugin: plugin}
	if r.warm, err = r.instance(ctx); err != nil {
		return nil, err
	}
	b.defers(func() error { return r.warm.Close(context.Background()) })
	return r, nil
}

func (r *reference) instance(ctx context.Context) (*extism.Plugin, error) {
	return r.plugin.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: wazero.NewModuleConfig()})
}

// A job is one export with its input and the length of what comes of it.
type job struct {
	export string
	input  []byte
	answer int // bytes
}

func (j job) check(out []byte) error {
	if len(out) != j.answer {
		return fmt.Errorf("%s answers %d bytes, want %d", j.export, len(out), j.answer)
	}
	return nil
}

// again uses one instance for all calls.
func (r *reference) again(j job) contender {
	return contender{warmName, func(n int) error {
		for range n {
			code, out, err := r.warm.Call(j.export, j.input)
			if err := answered(j, code, out, err); err != nil {
				return err
			}
		}
		return nil
	}}
}

// fresh makes an instance for every call.
func (r *reference) fresh(ctx context.Context, j job) contender {
	return contender{freshName, func(n int) error {
		for range n {
			p, err := r.instance(ctx)
			if err != nil {
				return err
			}
			code, out, err := p.Call(j.export, j.input)
			if err := answered(j, code, out, err); err != nil {
				return err
			}
			if err := p.Close(ctx); err != nil {
				return err
			}
		}
		return nil
	}}
}

const warmName, freshName = "warm", "fresh"

func answered(j job, code uint32, out []byte, err error) error {
	if err != nil || code != 0 {
		return fmt.Errorf("%s on the SDK: code %d: %w", j.export, code, err)
	}
	return j.check(out)
}
