package app

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/offer"
)

// A scriptEngine is the engine of scripts, once it has been needed.
type scriptEngine struct {
	mu      sync.Mutex
	runtime *scriptvm.Runtime // nil: no script was run
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
	if e.runtime == nil {
		runtime, err := OpenScripts(ctx, a.Paths.Cache, settings)
		if err != nil {
			return nil, err
		}
		e.runtime, e.kept = runtime, script.NewKeptEngines(a.enginesFolder(), runtime, engineOptions(a.Paths.Cache, settings))
	}
	if o := settings.Options(); e.runner == nil || e.options != o {
		e.runner, e.options = script.New(e.runtime, a.Host.Archive(), o).WithEngines(e.kept), o
	}
	return e.runner, nil
}

// enginesFolder is where the engines of stored scripts are kept.
func (a *App) enginesFolder() string { return filepath.Join(a.Paths.Data, "engines") }

// OpenScripts opens the engine of scripts. cache is the folder of compiled code; empty:
// none is kept.
func OpenScripts(ctx context.Context, cache string, s offer.Settings) (*scriptvm.Runtime, error) {
	// The engine stays when the request that needed it first has ended.
	return scriptvm.Open(context.WithoutCancel(ctx), engineOptions(cache, s))
}

func engineOptions(cache string, s offer.Settings) scriptvm.Options {
	if cache != "" {
		cache = filepath.Join(cache, "scripts")
	}
	return s.Engine(cache)
}

// close frees the engine.
func (e *scriptEngine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runtime == nil {
		return nil
	}
	return errors.Join(e.kept.Close(), e.runtime.Close(context.Background()))
}
