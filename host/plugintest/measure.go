package plugintest

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Figures are the costs of a plugin on this machine under its current load.
type Figures struct {
	Plugin string `json:"plugin"`
	Bytes  int    `json:"bytes"` // of the module
	// Compile is the time to compile the module, once for a machine. Load is the
	// time that the first call of a process then waits for the compiled module.
	Compile time.Duration `json:"compile_ns"`
	Load    time.Duration `json:"load_ns"`
	Tools   []Figure      `json:"tools"`
	// With Problems, the plugin was not measured.
	Problems []Problem `json:"problems,omitempty"`
}

// A Figure is the cost of the calls of one tool.
type Figure struct {
	Tool string `json:"tool"`
	// From is the source of the arguments: the name of a case, or "example".
	From  string          `json:"from"`
	Args  json.RawMessage `json:"args"`
	Calls int             `json:"calls"`
	// First is the duration of the first call, P50 and P99 are percentiles of the
	// others.
	First time.Duration `json:"first_ns"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	// Memory is the guest's memory after a call.
	Memory tool.Bytes `json:"memory"`
	// WholeChars and WholeLines count the whole text, ShownChars the text for the
	// model with the notice.
	WholeChars int `json:"whole_chars"`
	WholeLines int `json:"whole_lines"`
	ShownChars int `json:"shown_chars"`
	// Err is the failure of the call, if any.
	Err tool.Text `json:"error,omitzero"`
}

// DefaultCalls is the number of calls of a tool if the caller sets none.
const DefaultCalls = 200

// measureTime bounds the calls of one tool.
const measureTime = 5 * time.Second

// Measure measures the plugin at path. It calls each tool with the arguments and
// in the world of its first case that expects a result, else with those of its
// first example. calls is the number for each tool; zero or negative means
// DefaultCalls. The error is a fault of this machine, or that of ctx.
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
		return f, msg.Errorf("no place for compiled code: %w", err)
	}
	defer os.RemoveAll(cache)
	cfg.CacheDir = cache
	if f.Compile, err = openTime(ctx, path, p, cfg, nil); err != nil {
		return f, err
	}
	f.Bytes = p.WasmBytes
	f.Load, err = openTime(ctx, path, p, cfg, func(b *bench) error {
		f.Plugin = b.name
		if why := b.unusable(); !why.IsZero() {
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

// openTime returns how long a new host needs until the module is ready. It then
// calls then with the bench.
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

// sample returns a call of a tool that should succeed.
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
		b.clockOffset.Add(int64(leap))
		r, err := b.call(ctx, name, c.args, c.world.locale)
		if err != nil {
			return f, err
		}
		if f.Calls == 0 {
			f.First = r.Stats.Duration
			f.WholeChars, f.WholeLines = r.Shown.TotalChars, r.Shown.TotalLines
			f.ShownChars, _ = limit.Count(rendered(r, c.world.locale))
			if r.Err != nil {
				f.Err = msg.Of(r.Err)
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
