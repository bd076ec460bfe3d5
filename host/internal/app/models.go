package app

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
)

// An environment finds variables of the process and of .env. A reload replaces
// them. It is safe for concurrent use.
type environment struct {
	mu  sync.Mutex
	now config.Lookup
}

func newEnvironment(l config.Lookup) *environment { return &environment{now: l} }

func (e *environment) lookup(name string) (string, bool) {
	e.mu.Lock()
	now := e.now
	e.mu.Unlock()
	return now(name)
}

func (e *environment) set(l config.Lookup) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = l
}

// An unusable model is a configured one that cannot be made. It answers every
// request with the reason, and the daemon runs on.
type unusable struct{ err error }

// Generate implements agent.Model.
func (u unusable) Generate(context.Context, agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) { yield(agent.Delta{}, u.err) }
}

// Unusable returns why a model cannot be used, or nil.
func Unusable(m agent.Model) error {
	if u, ok := m.(unusable); ok {
		return u.err
	}
	return nil
}

// previous are the models before a reload, and what they were made from.
type previous struct {
	settings config.Settings
	env      config.Lookup
	models   map[string]daemon.Model
}

// unchanged returns the model of that name if a new one would be equal, but for its
// fallbacks.
func (p *previous) unchanged(name string, m config.ModelSettings, env config.Lookup) (daemon.Model, bool) {
	if p == nil {
		return daemon.Model{}, false
	}
	was := p.settings.Models[name]
	if was.Fallback = m.Fallback; !reflect.DeepEqual(was, m) {
		return daemon.Model{}, false
	}
	for _, preset := range provider.Presets() { // a key may come from the variable of any preset
		before, _ := p.env(preset.KeyEnv)
		if now, _ := env(preset.KeyEnv); before != now {
			return daemon.Model{}, false
		}
	}
	old, ok := p.models[name]
	return old, ok
}

// newModels returns every configured model and the demo model. Unchanged models
// of before are reused; before may be nil, and so may the client by which they are asked.
func newModels(s config.Settings, env config.Lookup, log hclog.Logger, by *http.Client, before *previous) map[string]daemon.Model {
	out := map[string]daemon.Model{daemon.DemoModel: demoModel()}
	for name, m := range s.Models {
		old, ok := before.unchanged(name, m, env)
		if !ok {
			old = newModel(name, m, env, log, by)
		}
		old.Fallback = m.Fallback
		out[name] = old
	}
	return out
}

func demoModel() daemon.Model { return daemon.Model{Model: demo.New(), Info: DemoInfo()} }

// DemoInfo describes the demo model.
func DemoInfo() agent.ModelInfo {
	return agent.ModelInfo{Name: daemon.DemoModel, Provider: "weir", Model: "demo (a script, not an AI)", Simulated: true}
}

// NewModel returns one configured model. If it cannot be made, Unusable returns the
// reason.
func NewModel(name string, m config.ModelSettings, env config.Lookup, log hclog.Logger) daemon.Model {
	return newModel(name, m, env, log, nil)
}

// newModel is NewModel, asked by a client; nil: the default one.
func newModel(name string, m config.ModelSettings, env config.Lookup, log hclog.Logger, by *http.Client) daemon.Model {
	if m.Provider == daemon.DemoModel {
		return demoModel()
	}
	info := agent.ModelInfo{Name: name, Provider: m.Provider, Model: m.Model, Window: m.Window}
	cfg := provider.Config{
		Name: name, Provider: m.Provider, BaseURL: m.BaseURL, Key: m.Key, KeyEnv: m.KeyEnv(), EnvFile: m.EnvFile(), Model: m.Model, EmbeddingModel: m.Embedding, Window: m.Window,
		DropsHead: m.DropsHead, NativeTools: m.NativeTools, StartInThought: m.InThought, Extra: m.Extra, FirstTimeout: time.Duration(m.First), StallTimeout: time.Duration(m.Timeout),
		Getenv: func(name string) string { v, _ := env(name); return v }, HTTP: by,
	}
	model, err := provider.New(cfg, log.Named("model"))
	if err != nil {
		info.Window = cmp.Or(m.Window, cfg.KnownWindow())
		return daemon.Model{Model: unusable{err}, Info: info}
	}
	return daemon.Model{Model: model, Info: info, Server: cfg.Server(), Price: agent.Price(m.Price), Estimator: new(agent.Estimator), NativeTools: m.NativeTools}
}

// TestModel asks a model two tiny questions and returns what works. For an unusable
// model it returns the reason.
func TestModel(ctx context.Context, m agent.Model, o provider.TestOptions) provider.Report {
	err := Unusable(m)
	if err == nil {
		return provider.Test(ctx, m, o)
	}
	step := provider.Step{Name: "configure", Msg: msg.Of(err)}
	if me, ok := errors.AsType[*agent.ModelError](err); ok {
		step.Code = me.Code
		step.Msg, step.Hint = me.Texts()
	}
	if o.Tell != nil {
		o.Tell(step)
	}
	return provider.Report{Steps: []provider.Step{step}}
}

// testModel is TestModel with a script, whose outcome decides about later turns.
func (a *App) testModel(ctx context.Context, m agent.Model, o provider.TestOptions) provider.Report {
	try, end := TryScripts(a.Paths.Cache, host.Isolation(a.Settings.Sandbox.Isolation))
	defer end()
	r := TestModel(ctx, m, try(o))
	a.mu.Lock()
	s, ok := a.inForce.Models[r.Info.Name]
	a.mu.Unlock()
	if ok {
		KeepTested(a.Paths, s, r)
	}
	return r
}

// probeModels gives every model that has none yet, and of which the operator does not say
// it, a question that finds out whether its native tool calling works. The daemon asks it when it first needs the answer.
func (a *App) probeModels(s config.Settings, models map[string]daemon.Model) {
	for name, m := range models {
		if m.Info.Simulated { // the demo model has a script among its answers
			m.Scripts = func() bool { return true }
			models[name] = m
			continue
		}
		if Unusable(m.Model) == nil && m.Scripts == nil {
			key := verdictKey(s.Models[name])
			if m.NativeTools == nil {
				m.Native = a.native.probe(m.Model, s.Models[name])
			}
			m.Scripts = func() bool { works, _ := a.wrote.find(key); return works }
			models[name] = m
		}
	}
}

// findModels looks for servers and keys that a configuration could use.
func (a *App) findModels(ctx context.Context) []provider.Found {
	return FindModels(ctx, a.env.lookup, a.options.Source.Getenv("WEIR_NO_PROBE") != "", pagePatience)
}

// pagePatience is how long the page looks for servers. It does not look again, and a busy
// machine needs longer than a command may wait.
const pagePatience = 3 * time.Second

// FindModels looks for servers on this machine that answer, unless local is to be left
// alone, and for keys among the variables.
func FindModels(ctx context.Context, env config.Lookup, leaveLocal bool, timeout time.Duration) []provider.Found {
	bases := map[string]string{}
	if leaveLocal { // tests, and people whose other servers listen there
		for _, p := range provider.Presets() {
			if p.KeyEnv == "" {
				bases[p.Name] = ""
			}
		}
	}
	return provider.Probe(ctx, provider.ProbeOptions{BaseURLs: bases, Timeout: timeout, Getenv: func(name string) string {
		v, _ := env(name)
		return v
	}})
}
