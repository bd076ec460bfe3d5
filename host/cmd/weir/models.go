package main

import (
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/sdk/tool"
)

// variables are those of the environment and of .env, which a reload reads
// anew. They are safe for concurrent use.
type variables struct {
	mu  sync.Mutex
	now lookup
}

func (v *variables) find(name string) (string, bool) {
	v.mu.Lock()
	now := v.now
	v.mu.Unlock()
	return now(name)
}

func (v *variables) set(now lookup) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = now
}

// made are models, and what they were made of.
type made struct {
	settings Settings
	env      lookup
	models   map[string]daemon.Model
	locale   tool.Locale
}

// same returns the model of that name, if it would be made the same again.
func (o *made) same(name string, m ModelSettings, env lookup, l tool.Locale) (daemon.Model, bool) {
	if o == nil || l != o.locale || !reflect.DeepEqual(o.settings.Models[name], m) {
		return daemon.Model{}, false
	}
	for _, p := range provider.Presets() { // their keys are looked up by the address
		was, _ := o.env(p.KeyEnv)
		if is, _ := env(p.KeyEnv); was != is {
			return daemon.Model{}, false
		}
	}
	old, ok := o.models[name]
	return old, ok
}

// models makes every configured model, and the demo model beside them. Those
// that are as they were stay; old may be nil.
func (c *cli) models(s Settings, env lookup, log hclog.Logger, old *made) map[string]daemon.Model {
	out := map[string]daemon.Model{daemon.DemoModel: {Model: demo.New(), Info: demoInfo()}}
	for name, m := range s.Models {
		if same, ok := old.same(name, m, env, c.locale(s)); ok {
			out[name] = same
			continue
		}
		out[name] = c.model(name, m, env, c.locale(s), log)
	}
	return out
}

func demoInfo() agent.ModelInfo {
	return agent.ModelInfo{Name: daemon.DemoModel, Provider: "weir", Model: "demo (a script, not an AI)", Simulated: true}
}

// model makes one model; one that cannot be made is broken and says why.
func (c *cli) model(name string, m ModelSettings, env lookup, l tool.Locale, log hclog.Logger) daemon.Model {
	if m.Provider == daemon.DemoModel {
		return daemon.Model{Model: demo.New(), Info: demoInfo()}
	}
	info := agent.ModelInfo{Name: name, Provider: m.Provider, Model: m.Model, Window: m.Window}
	cfg := provider.Config{
		Name: name, Provider: m.Provider, BaseURL: m.BaseURL, Key: m.Key, KeyEnv: m.KeyEnv, Model: m.Model, EmbeddingModel: m.Embedding, Window: m.Window,
		NativeTools: m.NativeTools, Extra: m.Extra, StallTimeout: time.Duration(m.Timeout), Locale: l,
		Getenv: func(name string) string { v, _ := env(name); return v },
	}
	model, err := provider.New(cfg, log.Named("model"))
	if err != nil {
		return daemon.Model{Model: broken{err}, Info: info}
	}
	return daemon.Model{Model: model, Info: info, Server: cfg.Server(), Price: price(m.Price), Estimator: new(agent.Estimator)}
}

// probeModels lets every model that has nothing of the kind yet find out whether
// its own tool calling works.
func (a *app) probeModels(s Settings, models map[string]daemon.Model) {
	if a.native == nil {
		a.native = &nativeCache{file: filepath.Join(a.paths.Data, "native.json")}
	}
	for name, m := range models {
		if _, bad := m.Model.(broken); !bad && !m.Info.Simulated && m.Native == nil {
			m.Native = a.native.probe(m.Model, s.Models[name])
			models[name] = m
		}
	}
}
