// Package runner holds the plugins' modules and runs them. It is lazy: a Module is
// compiled and loaded at its first call, and a Cache unloads the least recently used
// modules when all together need too much memory. A call acquires the module, which
// returns a Runner, and releases it afterwards; a module that a reload has replaced
// ends after its last call.
//
// Engines are one way to run modules: the sandbox in this process and, if
// configured, worker processes. They are counted too, so that a change of settings
// lets running calls end where they began. Precompile, Preload and Warm compile
// before a call has to wait. A ToolLister asks plugins made for other hosts, whose
// manifest weir cannot read, which tools they have.
//
// # Files
//
//   - runner: the interface
//   - module: loads one
//   - engines: in this process or in children
//   - cache: which stay loaded
//   - precompile: in the background
//   - refusal: why one cannot run
//   - lister, askqueue, storedlist, thirdparty: asks plugins of others for their tools
package runner

import (
	"context"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/tool"
)

// A Runner runs the exports of one plugin, in this process or in others. A guest
// runs in its Invocation's Place, which is released afterwards. It is safe for
// concurrent use.
type Runner interface {
	Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error)
	// Weight returns about how much memory it needs while no call runs.
	Weight() tool.Bytes
	// Close refuses new calls and waits for the running ones until ctx is done;
	// then it ends them.
	Close(ctx context.Context) error
}

// Isolation says where plugins run.
type Isolation string

// A plugin runs in a worker process, which is killed at its deadline and harms no
// other plugin, or inside the host's process.
const (
	OwnProcess Isolation = "process"
	Inline     Isolation = "inline"
)

// A Sandbox says how plugins are run. The zero Sandbox works.
type Sandbox struct {
	// Engine runs the plugins: sandbox.EngineWazero, also when empty, or
	// sandbox.EngineExtism. Another name is an error.
	Engine string
	// Renewed is how many instances per plugin, or one in each worker process, are
	// reset after a call and reused; 0: 4; negative: none, every call gets a new
	// instance.
	Renewed int
	// Spares is how many new instances, each for one call, are kept ready per
	// plugin where instances cannot be reused; 0 or negative: none.
	Spares int
	// Workers tunes the worker processes.
	Workers Workers
}

// Workers tunes the worker processes, in which plugins run. The zero Workers works.
type Workers struct {
	// Isolation is where plugins run; empty: OwnProcess. Even with Inline, a worker
	// process compiles a module for the first time.
	Isolation Isolation
	// Inline names plugins that run inside the host's process all the same.
	Inline []string
	// Max is how many idle processes are kept; 0: 8, negative: none.
	Max int
	// Idle is how long an idle process is kept; 0 or negative: a minute.
	Idle time.Duration
	// Headroom is the memory a process may use besides its plugin's; 0 or negative:
	// a measured default.
	Headroom tool.Bytes
	// CompileCPU and CompileMemory bound the first compilation of a module; 0 or
	// negative: 60 seconds of CPU time, 1 GiB.
	CompileCPU    time.Duration
	CompileMemory tool.Bytes
	// Quarantine is the file that lists modules whose compilation ended its
	// process, so that they are not tried again; empty: a list in memory.
	Quarantine string
}

// What the zero Workers means.
const (
	DefaultWaiting       = worker.DefaultMax
	DefaultIdle          = worker.DefaultIdle
	DefaultCompileCPU    = worker.DefaultCompileCPU
	DefaultCompileMemory = worker.DefaultCompileMemory
)

// Equal reports whether s and o run plugins in the same way.
func (s Sandbox) Equal(o Sandbox) bool {
	if !slices.Equal(s.Workers.Inline, o.Workers.Inline) {
		return false
	}
	a, b := s.Workers, o.Workers
	return s.Engine == o.Engine && s.Renewed == o.Renewed && s.Spares == o.Spares &&
		a.Isolation == b.Isolation && a.Max == b.Max && a.Idle == b.Idle && a.Headroom == b.Headroom &&
		a.CompileCPU == b.CompileCPU && a.CompileMemory == b.CompileMemory && a.Quarantine == b.Quarantine
}
