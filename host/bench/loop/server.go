package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// token opens the server's routes.
const token = "benchloop"

// serve runs a daemon until its parent closes its input, and prints its address.
func serve(ctx context.Context, o options, out io.Writer) (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // as weir does
	}
	dir, err := os.MkdirTemp("", "benchloop-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h, err := open(ctx, dir, o.inline)
	if err != nil {
		return err
	}
	tracing, ended, err := traced(o.sendTo)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	defer ended()
	d, err := daemon.New(daemon.Config{
		Host: h, Token: token, MaxTurns: -1, Tracing: tracing,
		Models: map[string]daemon.Model{"instant": {Model: instant{}}, "demo": {Model: demo.New()}, "flood": {Model: flood{}}},
		Profiles: map[string]daemon.Profile{
			"default": {Model: "instant", Agent: agent.Defaults()}, "demo": {Model: "demo", Agent: agent.Defaults()}, "flood": {Model: "flood", Agent: agent.Defaults()},
		},
	})
	if err != nil {
		return errors.Join(err, h.Close())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, h.Close())
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if o.allocs != "" {
		defer func() { err = errors.Join(err, allocated(o.allocs)) }()
	}
	mux := http.NewServeMux()
	mux.Handle("/", d.Handler())
	mux.HandleFunc("GET /self", self)
	srv := &http.Server{Handler: mux}
	fmt.Fprintln(out, l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent is gone
		_ = srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	stop, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return errors.Join(d.Drain(stop), h.Close())
}

// allocated writes down what was allocated until now.
func allocated(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}

// open makes a host with one plugin, whose tool hands back what it gets.
func open(ctx context.Context, dir string, inline bool) (*host.Host, error) {
	pluginDir := filepath.Join(dir, "plugins", "echo")
	if err := os.MkdirAll(pluginDir, 0o700); err != nil {
		return nil, err
	}
	manifest := `schema = 1
name = "echo"
version = "1.0.0"
description = "Hands back its arguments"
[[tool]]
name = "echo"
description = "Hands back its arguments"
hints = { read_only = true }
[tool.params]
type = "object"
required = ["text"]
[tool.params.properties.text]
type = "string"
`
	if err := os.WriteFile(filepath.Join(pluginDir, "plugin.toml"), []byte(manifest), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(pluginDir, "echo.wasm"), wasmtest.Echo("echo"), 0o600); err != nil {
		return nil, err
	}
	cfg := host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: filepath.Join(dir, "plugins"), Trust: plugin.TrustGranted}},
			Archive: archive.Config{Path: filepath.Join(dir, "archive.db")},
			Sandbox: host.Sandbox{Spares: 1},
		},
		CacheDir: filepath.Join(dir, "cache"),
	}
	if !inline && host.CanIsolate() {
		cfg.WorkerCommand = []string{"/proc/self/exe"}
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	h.Warm(ctx, nil)
	return h, nil
}

// self answers with the resource usage of the process.
func self(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	_ = json.NewEncoder(w).Encode(figures{Goroutines: runtime.NumGoroutine(), RSS: rss("VmRSS"), Peak: rss("VmHWM")})
}

// figures are the resource usage of a server. Sizes are MiB.
type figures struct {
	Goroutines int
	RSS, Peak  float64
}

// instant is a model that takes no time: it calls echo, and then answers.
type instant struct{}

var _ agent.Describer = instant{}

func (instant) Describe(context.Context) (agent.ModelInfo, error) {
	return agent.ModelInfo{Name: "instant", Provider: "benchloop", Model: "instant", Window: 128_000, NativeTools: new(true), Simulated: true}, nil
}

func (instant) Generate(_ context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		usage := &agent.Usage{Prompt: 100, Completion: 10}
		if r.Messages[len(r.Messages)-1].Role == "tool" {
			_ = yield(agent.Delta{Text: "It said hello."}, nil) && yield(agent.Delta{Usage: usage, Finish: agent.FinishStop}, nil)
			return
		}
		call := &tool.Call{ID: "call_1", Tool: "echo", Args: json.RawMessage(`{"text":"hello"}`)}
		_ = yield(agent.Delta{Call: call}, nil) && yield(agent.Delta{Usage: usage, Finish: agent.FinishCalls}, nil)
	}
}

// flood is a model that sends more than the buffers of an unread connection hold.
type flood struct{ instant }

func (flood) Generate(context.Context, agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		line := strings.Repeat("more and more ", 1000) + "\n"
		for n := 0; n < 8<<20; n += len(line) {
			if !yield(agent.Delta{Text: line}, nil) {
				return
			}
		}
		_ = yield(agent.Delta{Finish: agent.FinishStop}, nil)
	}
}
