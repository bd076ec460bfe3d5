package host

import (
	"context"
	"errors"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// enginesConfig returns what Engines need besides a Sandbox.
func (h *Host) enginesConfig() runner.EnginesConfig {
	return runner.EnginesConfig{WorkerCommand: h.cfg.WorkerCommand, CacheDir: h.cfg.CacheDir, Logger: h.log}
}

// listerConfig connects the lister of third-party plugins' tools to the host.
func (h *Host) listerConfig() runner.ListerConfig {
	return runner.ListerConfig{
		CacheDir: h.cfg.CacheDir, Engines: h.engines.Load, Rescan: h.Reload, Asking: h.cfg.Asking, Now: h.cfg.Now, Logger: h.log,
		Memory: func() tool.Bytes { return h.live.Load().defaults().Memory },
		Admit: func() (context.Context, func(), error) {
			ctx, err := h.enter(context.Background())
			if err != nil {
				return nil, nil, err
			}
			return ctx, func() { h.leave(ctx) }, nil
		},
	}
}

// precompile compiles in the background what no call has needed yet, until the host
// closes.
func (h *Host) precompile() {
	ctx, err := h.enter(h.ending)
	if err != nil {
		return
	}
	defer h.leave(ctx)
	runner.Precompiler{Delay: h.cfg.Ahead, Changed: h.changed.next, Logger: h.log, Modules: func() (all []*runner.Module) {
		for _, one := range h.current.Load().plugins {
			all = append(all, one.modules...)
		}
		return all
	}}.Run(ctx)
}

// Places returns how many guests run at once, of all plugins and of one, if
// Parallel is n and plugins run inline or, where the system has them, in worker
// processes.
func Places(n int, inline bool) (all, one int) {
	if n <= 0 {
		n = sched.DefaultSlots(!inline && CanIsolate())
	}
	return n, sched.PluginShare(n)
}

// slots returns how many guests may run at once.
func (h *Host) slots(l Live) int {
	if l.Parallel > 0 {
		return l.Parallel
	}
	return sched.DefaultSlots(h.enginesConfig().Isolates() && l.Sandbox.Workers.Isolation != Inline)
}

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

// Sandbox says how plugins are run. The zero Sandbox works.
type Sandbox = runner.Sandbox

// Workers tunes the worker processes, in which plugins run. The zero Workers works.
type Workers = runner.Workers

// Isolation says where plugins run.
type Isolation = runner.Isolation

// A plugin runs in a worker process, which is killed at its deadline and harms no
// other plugin, or inside the host's process.
const (
	InProcess = runner.InProcess
	Inline    = runner.Inline
)

// Engines that run plugins, for Config.Engine: wazero itself, and Extism's Go SDK,
// the reference that tests compare the other one with.
const (
	EngineWazero = sandbox.EngineWazero
	EngineExtism = sandbox.EngineExtism
)

// The defaults of Sandbox, Workers and Config.Loaded.
const (
	DefaultWaiting       = runner.DefaultWaiting
	DefaultIdle          = runner.DefaultIdle
	DefaultCompileCPU    = runner.DefaultCompileCPU
	DefaultCompileMemory = runner.DefaultCompileMemory
	DefaultLoaded        = runner.DefaultLoaded
)

// held returns why a module is in quarantine; nil: it is not.
func (h *Host) held(digest string) error { return h.engines.Load().Quarantined(digest) }

// refusedBy says what a plugin is whose module cannot be used, why, and what
// changes it.
func refusedBy(name, file string, err error) (state plugin.State, why, fix tool.Text) {
	if q, ok := errors.AsType[*worker.Quarantined](err); ok {
		when := q.Entry.When.Format("2006-01-02 15:04 MST")
		return plugin.Quarantined, tool.Textf("%s, on %s; it is not tried again", q.Entry.Why, when),
			tool.Textf("build the module again, remove the plugin, or try it once more with: weir plugin retry %s", name)
	}
	return plugin.Invalid, tool.Textf("%s: %s", file, err), tool.Textf("build the module again, or remove the plugin")
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
			r.Problems = []registry.Problem{{Msg: why.String(), Fix: fix.String()}}
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
		if one.entry != nil && one.entry.Refused != nil && one.entry.Refused.Untold && h.held(sha) == nil {
			sha, untold = one.entry.Refused.WasmSHA256, true
		}
		if h.held(sha) == nil {
			continue
		}
		if err := h.engines.Load().Unquarantine(sha); err != nil || !untold {
			return err
		}
		return h.Reload(context.Background())
	}
	return ErrNotQuarantined
}
