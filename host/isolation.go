package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// WorkerMain is the whole life of a process that runs one plugin for a Host. A
// program that names itself in Config.WorkerCommand calls it first:
//
//	if code, ok := host.WorkerMain(); ok {
//		os.Exit(code)
//	}
//
// ok is false, and nothing has happened, unless the process was started as one.
func WorkerMain() (code int, ok bool) { return worker.Main() }

// CanIsolate reports whether plugins can run in processes of their own on this
// system.
func CanIsolate() bool { return worker.Supported() }

// Isolation says where plugins run.
type Isolation string

// A plugin runs in a process of its own, which is killed at its deadline and
// takes nobody with it, or inside the Host's process.
const (
	InProcess Isolation = "process"
	Inline    Isolation = "inline"
)

// Engines that run plugins, for Config.Engine: wazero itself, and Extism's Go
// SDK, the reference that the other one is held to.
const (
	EngineWazero = sandbox.EngineWazero
	EngineExtism = sandbox.EngineExtism
)

// Workers tunes the processes that run plugins; the zero Workers works.
type Workers struct {
	// Isolation is where plugins run; empty: InProcess. Even with Inline, a
	// module is compiled for the first time by a process of its own.
	Isolation Isolation
	// Inline names plugins that run inside the Host all the same.
	Inline []string
	// Max is how many processes are kept waiting for calls; 0: 8, negative: none.
	Max int
	// Idle is how long a process without calls is kept; 0 or negative: a minute.
	Idle time.Duration
	// Headroom is what a process may take beside its plugin's memory; 0 or
	// negative: what was measured to be enough.
	Headroom tool.Bytes
	// CompileCPU and CompileMemory bound the first compile of a module; 0 or
	// negative: 60 seconds of CPU time, 1 GiB.
	CompileCPU    time.Duration
	CompileMemory tool.Bytes
	// Quarantine is the file that remembers modules whose compiling ended its
	// process, so that they are not tried again; empty: until Close.
	Quarantine string
}

// What the zero Workers means.
const (
	DefaultWaiting       = worker.DefaultMax
	DefaultIdle          = worker.DefaultIdle
	DefaultCompileCPU    = worker.DefaultCompileCPU
	DefaultCompileMemory = worker.DefaultCompileMemory
)

// held returns why a module is in quarantine; nil: it is not.
func (h *Host) held(digest string) error { return h.engines.Load().quarantined(digest) }

func isQuarantined(err error) bool {
	_, ok := errors.AsType[*worker.Quarantined](err)
	return ok
}

// refusedBy says what a plugin is whose module cannot be used, why, and what
// changes it.
func refusedBy(name, file string, err error) (state plugin.State, why, fix string) {
	if q, ok := errors.AsType[*worker.Quarantined](err); ok {
		return plugin.Quarantined, fmt.Sprintf("%s, on %s; it is not tried again", q.Entry.Why, q.Entry.When.Format("2006-01-02 15:04 MST")),
			fmt.Sprintf("build the module again, remove the plugin, or try it once more with: weir plugin retry %s", name)
	}
	return plugin.Invalid, fmt.Sprintf("%s: %s", file, err), "build the module again, or remove the plugin"
}

// ErrNotQuarantined is what Retry answers for a plugin that is not in quarantine.
var ErrNotQuarantined = errors.New("the plugin is not in quarantine")

// untried is why a module was not asked for its tools; nil: it is not in
// quarantine.
func (h *Host) untried(r registry.Refusal) error {
	if !r.Untold {
		return nil
	}
	return h.held(r.WasmSHA256)
}

// tellQuarantine says of modules that are in quarantine, and so cannot be asked
// for their tools, what lets them out. snap is nobody else's yet.
func (h *Host) tellQuarantine(snap *registry.Snapshot) {
	for i := range snap.Refused {
		if r := &snap.Refused[i]; h.untried(*r) != nil {
			_, why, fix := refusedBy(r.Name, r.Source, h.untried(*r))
			r.Problems = []registry.Problem{{Msg: why, Fix: fix}}
		}
	}
}

// Retry takes a plugin out of quarantine: its module is tried again at its next
// call. One that was made for another host, and says which tools it has when it
// is asked, is asked at once, which may take as long as a Reload. The error is
// ErrNotQuarantined, or about the file that remembers it.
func (h *Host) Retry(name string) error {
	for _, one := range h.current.Load().plugins {
		if one.info.Name != name {
			continue
		}
		sha, untold := one.info.SHA256, one.info.State == plugin.Quarantined
		if one.seat != nil && one.seat.refused != nil && one.seat.refused.Untold && h.held(sha) == nil {
			sha, untold = one.seat.refused.WasmSHA256, true
		}
		if h.held(sha) == nil {
			continue
		}
		if err := h.engines.Load().pool.Quarantine().Release(sha); err != nil || !untold {
			return err
		}
		return h.Reload(context.Background())
	}
	return ErrNotQuarantined
}
