package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Figures are what a plugin costs on this machine, as it is busy now.
type Figures struct {
	Plugin string `json:"plugin"`
	Bytes  int    `json:"bytes"` // of the module
	// Compile is what a machine needs once for a module, Load what the first call
	// waits for from then on.
	Compile time.Duration `json:"compile_ns"`
	Load    time.Duration `json:"load_ns"`
	Tools   []Figure      `json:"tools"`
	// Problems keep the plugin from being measured.
	Problems []Problem `json:"problems,omitempty"`
}

// A Figure is what the calls of one tool cost.
type Figure struct {
	Tool string `json:"tool"`
	// From says where the arguments come from: the name of a case, or "example".
	From  string          `json:"from"`
	Args  json.RawMessage `json:"args"`
	Calls int             `json:"calls"`
	// First is the first call, P50 and P99 half and 99 of 100 of the others stay below.
	First time.Duration `json:"first_ns"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	// Memory is the guest's at the end of a call.
	Memory tool.Bytes `json:"memory"`
	// WholeChars, WholeLines count the whole text, ShownChars what a model reads of
	// it, the notice included.
	WholeChars int `json:"whole_chars"`
	WholeLines int `json:"whole_lines"`
	ShownChars int `json:"shown_chars"`
	// Err is how the call fails, if it does.
	Err string `json:"error,omitempty"`
}

// DefaultCalls is how many calls of a tool Measure makes when nobody says.
const DefaultCalls = 200

// measureTime bounds the calls of one tool.
const measureTime = 5 * time.Second

// Measure measures the plugin at path: each tool by calls with the arguments and
// in the world of its first case that expects a result, else of its first
// example. calls is how many for each tool; 0 or negative: DefaultCalls. The
// error is about this machine, or the end of ctx.
func Measure(ctx context.Context, path string, calls int, cfg Config) (f Figures, err error) {
	if calls <= 0 {
		calls = DefaultCalls
	}
	p, problems := registry.Check(path, cfg.Version)
	if f.Problems, _ = problemsOf(problems); len(f.Problems) > 0 {
		return f, nil
	}
	cache, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return f, fmt.Errorf("no place for compiled code: %w", err)
	}
	defer os.RemoveAll(cache)
	cfg.CacheDir = cache
	if f.Compile, err = openTime(ctx, path, p, cfg, nil); err != nil {
		return f, err
	}
	f.Bytes = p.WasmBytes
	f.Load, err = openTime(ctx, path, p, cfg, func(b *bench) error {
		f.Plugin = b.name
		if why := b.unusable(); why != "" {
			f.Problems = append(f.Problems, Problem{File: p.Source, Msg: why})
			return nil
		}
		var files []*file
		for _, path := range casesOf(path) {
			files = append(files, readFile(path, b.tools))
		}
		for _, name := range b.tools {
			one, err := measureTool(ctx, b, name, sample(b, name, files), calls)
			if err != nil {
				return err
			}
			f.Tools = append(f.Tools, one)
		}
		return nil
	})
	return f, err
}

// openTime is how long a fresh host takes to get the module ready; then is
// called with it.
func openTime(ctx context.Context, path string, p *registry.Plugin, cfg Config, then func(*bench) error) (time.Duration, error) {
	b, err := openBench(ctx, path, p, cfg)
	if err != nil {
		return 0, err
	}
	defer b.close()
	began := time.Now()
	b.warm(ctx)
	took := time.Since(began)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if then != nil {
		err = then(b)
	}
	return took, err
}

// sample finds a call of a tool that should come to a result.
func sample(b *bench, name string, files []*file) testCase {
	for _, f := range files {
		for _, c := range f.cases {
			if c.tool == name && c.expect.code == "" && len(f.problems) == 0 {
				c.name = baseName(f.file) + "/" + c.name
				return c
			}
		}
	}
	c := testCase{name: "no arguments", tool: name, args: json.RawMessage("{}")}
	if info, ok := b.host.Tool(name); ok && len(info.Spec.Examples) > 0 {
		c.name, c.args = "example", info.Spec.Examples[0].Args
	}
	return c
}

func measureTool(ctx context.Context, b *bench, name string, c testCase, calls int) (f Figure, err error) {
	f = Figure{Tool: name, From: c.name, Args: c.args}
	var http []*exchange
	for _, x := range c.world.http {
		often := *x
		often.times = anyNumber
		http = append(http, &often)
	}
	_, problems, err := b.enter(ctx, name, c.world, newNetwork(c.at, http))
	if err != nil {
		return f, err
	}
	if len(problems) > 0 {
		f.Err = problems[0].Msg
		return f, nil
	}
	var times []time.Duration
	began := time.Now()
	for f.Calls < calls+1 && (f.Calls < 2 || time.Since(began) < measureTime) {
		b.ahead.Add(int64(leap))
		r, err := b.call(ctx, name, c.args, c.world.locale)
		if err != nil {
			return f, err
		}
		if f.Calls == 0 {
			f.First = r.Stats.Duration
			f.WholeChars, f.WholeLines = r.Shown.TotalChars, r.Shown.TotalLines
			f.ShownChars, _ = limit.Count(rendered(r, c.world.locale))
			if r.Err != nil {
				f.Err = r.Err.Error()
			}
		} else {
			times = append(times, r.Stats.Duration)
		}
		f.Memory = max(f.Memory, r.Stats.Memory)
		f.Calls++
	}
	slices.Sort(times)
	f.P50, f.P99 = times[len(times)/2], times[len(times)*99/100]
	return f, nil
}
