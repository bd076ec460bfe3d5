package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// A bench holds the resources of the measurements and releases them at the end.
type bench struct {
	options
	self string // this program, which is a worker too
	temp string
	ends []func() error

	direct, extism []byte // guests of the Go toolchain
}

func newBench(ctx context.Context, o options) (_ *bench, err error) {
	b := &bench{options: o}
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if b.temp, err = os.MkdirTemp("", "weir-bench-"); err != nil {
		return nil, err
	}
	b.defers(func() error { return os.RemoveAll(b.temp) })
	if b.cache, err = filepath.Abs(o.cache); err != nil {
		return nil, errors.Join(err, b.close())
	}
	for name, to := range map[string]*[]byte{"direct": &b.direct, "extism": &b.extism} {
		if *to, err = b.build(ctx, name); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

// module returns the folder of the benchmarks' module: the program runs in the
// repository's root, its tests in their own folder.
func module() string {
	if _, err := os.Stat("host/bench/go.mod"); err == nil {
		return "host/bench"
	}
	return ".."
}

// build compiles a guest in testdata.
func (b *bench) build(ctx context.Context, name string) ([]byte, error) {
	out := filepath.Join(b.temp, name+".wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
		"-o", out, "github.com/weirhost/weir/host/bench/engine/guests/"+name)
	cmd.Dir = module()
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the guest %s: %w\n%s", name, err, text)
	}
	return os.ReadFile(out)
}

// dir is a folder of its own for the bench.
func (b *bench) dir(name string) string { return filepath.Join(b.temp, name) }

// defers keeps something for the end.
func (b *bench) defers(end func() error) { b.ends = append(b.ends, end) }

// close ends what was begun, last things first.
func (b *bench) close() error {
	var errs []error
	for _, end := range slices.Backward(b.ends) {
		errs = append(errs, end())
	}
	b.ends = nil
	return errors.Join(errs...)
}
