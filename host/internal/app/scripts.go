package app

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/offer"
)

// A scriptEngine is the engine of scripts, once it has been needed.
type scriptEngine struct {
	mu      sync.Mutex
	engine  *scriptproc.Engine // nil: no script was run
	kept    *script.KeptEngines
	runner  *script.Runner
	options script.Options // of runner
}

// scripts returns what runs scripts.
func (a *App) scripts(ctx context.Context) (*script.Runner, error) {
	e := &a.script
	e.mu.Lock()
	defer e.mu.Unlock()
	settings := a.Daemon.Scripts()
	if e.engine == nil {
		options := engineOptions(a.Paths.Cache, settings, workersOf(host.Isolation(a.Settings.Sandbox.Isolation)))
		// The engine stays when the request that needed it first has ended.
		engine, err := scriptproc.Open(context.WithoutCancel(ctx), options)
		if err != nil {
			return nil, err
		}
		e.engine, e.kept = engine, script.NewKeptEngines(a.enginesFolder(), engine, options)
	}
	if o := settings.Options(); e.runner == nil || e.options != o {
		e.runner, e.options = script.New(e.engine, a.Host.Archive(), o).WithEngines(e.kept), o
	}
	return e.runner, nil
}

// enginesFolder is where the engines of stored scripts are kept.
func (a *App) enginesFolder() string { return filepath.Join(a.Paths.Data, "engines") }

// OpenScripts opens the engine of scripts. cache is the folder of compiled code; empty:
// none is kept. isolation is where plugins run.
func OpenScripts(ctx context.Context, cache string, s offer.Settings, isolation host.Isolation) (*scriptproc.Engine, error) {
	return scriptproc.Open(context.WithoutCancel(ctx), engineOptions(cache, s, workersOf(isolation)))
}

// workersOf returns what starts the processes of scripts; nil: they run in this one.
func workersOf(isolation host.Isolation) []string {
	if isolation == host.Inline {
		return nil
	}
	return config.WorkerCommand()
}

func engineOptions(cache string, s offer.Settings, workers []string) scriptproc.Options {
	if cache != "" {
		cache = filepath.Join(cache, "scripts")
	}
	return scriptproc.Options{VM: s.Engine(cache), Command: workers, Slots: s.Scripts}
}

// close frees the engine.
func (e *scriptEngine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.engine == nil {
		return nil
	}
	return errors.Join(e.kept.Close(), e.engine.Close(context.Background()))
}
