// Package models has the routes on which the operator tests models and sees what others
// could be used.
package models

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/internal/msg"
)

const (
	// maxTests bounds the tests that run at the same time.
	maxTests = 4
	// stream is the content type of events.
	stream = "text/event-stream"
)

// A Finder looks for servers on this machine that answer, and for keys that are set.
type Finder func(context.Context) []provider.Found

// A Tester tests a model.
type Tester func(context.Context, agent.Model, provider.TestOptions) provider.Report

// An Adder writes a model that was found into the configuration, and puts it in force.
type Adder func(context.Context, provider.Found, api.ModelAdd) (api.SettingsPatched, error)

// Models has the routes. It is safe for concurrent use.
type Models struct {
	Setup     *setup.Current
	Admission *turns.Admission
	Find      Finder // nil: nothing is found
	Test      Tester // nil: provider.Test
	Add       Adder  // nil: none can be added
	Log       hclog.Logger
	// Heartbeat returns the longest silence of a stream.
	Heartbeat func() time.Duration

	finding sync.Mutex // held by a search

	mu      sync.Mutex
	running map[string]bool // tests, by the model's name
}

// Routes returns the routes.
func (m *Models) Routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/models/found",
			Auth: openapi.Operator, Handle: m.found,
			About: "Servers on this machine that answer, and keys that are set, with what to type to use them. No key is sent anywhere",
			Gives: api.FoundModels{},
		},
		{
			Method: "POST", Path: "/api/models",
			Auth: openapi.Operator, Handle: m.Admission.Whole(m.add),
			About: "Write one of the found models into tools.toml, with its comments kept, and put it in force. The name of the key's variable is written, never a key",
			Takes: api.ModelAdd{},
			Needs: []string{"preset", "model"},
			Gives: api.SettingsPatched{},
			Fails: []int{404, 409, 422, 503},
		},
		{
			Method: "POST", Path: "/api/models/{name}/test",
			Auth: openapi.Operator, Handle: m.Admission.Awaited(m.test),
			About: "Ask a configured model two tiny questions, which cost tokens, and say what works. With Accept: text/event-stream, each step as an event when it ends, then the whole",
			Gives: api.ModelTested{},
			Kind:  stream,
			Fails: []int{404, 409, 503},
		},
	}
}

func (m *Models) found(w http.ResponseWriter, r *http.Request) error {
	out := api.FoundModels{Found: []api.FoundModel{}}
	for _, f := range m.look(r.Context()) {
		out.Found = append(out.Found, api.FoundModel{Preset: f.Preset, Title: f.Title, BaseURL: f.BaseURL, KeyEnv: f.KeyEnv, Models: append([]string{}, f.Models...), Command: f.Command})
	}
	return httpjson.Answer(w, out)
}

// look searches; one search runs at a time.
func (m *Models) look(ctx context.Context) []provider.Found {
	if m.Find == nil {
		return nil
	}
	m.finding.Lock()
	defer m.finding.Unlock()
	return m.Find(ctx)
}

// add adds a model that a search finds now.
func (m *Models) add(w http.ResponseWriter, r *http.Request) error {
	var body api.ModelAdd
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	if m.Add == nil {
		return api.Problemf(http.StatusConflict, "config", "start the daemon with `weir serve`, and see `weir paths`", "there is no configuration file that can be changed here")
	}
	found := m.look(r.Context())
	i := slices.IndexFunc(found, func(f provider.Found) bool {
		return f.Preset == body.Preset && (body.BaseURL == "" || f.BaseURL == body.BaseURL)
	})
	if i < 0 {
		return api.Problemf(http.StatusNotFound, "not_found", "GET /api/models/found lists what can be added here; `weir model use` adds any other", "no server or key of %q was found on this machine", api.Clip(body.Preset, 80))
	}
	out, err := m.Add(r.Context(), found[i], body)
	if err != nil {
		return err
	}
	if out.Written {
		m.Log.Info("a model was added over the API", "preset", body.Preset, "model", body.Model, "by", access.Principal(r))
	}
	return httpjson.Answer(w, msg.Localize(params.Language(r), out))
}

// test tests a model, and ends with its client.
func (m *Models) test(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	model, ok := m.Setup.State().Models[name]
	if !ok {
		return api.Problemf(http.StatusNotFound, "no_model", "GET /api/models lists them", "no model named %q is configured", api.Clip(name, 80))
	}
	if err := m.begin(name); err != nil {
		return err
	}
	defer m.end(name)
	locale := params.Language(r)
	m.Log.Info("a model is tested", "model", name, "by", access.Principal(r))
	test := m.Test
	if test == nil {
		test = provider.Test
	}
	if !strings.HasPrefix(r.Header.Get("Accept"), stream) {
		report := test(r.Context(), model.Model, provider.TestOptions{Locale: locale})
		return httpjson.Answer(w, msg.Localize(locale, testedOf(name, report)))
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := sse.New(w, cancel)
	defer s.Close()
	defer sse.Beat(m.Heartbeat(), s.Ping)()
	s.Ping() // the first step may take long
	report := test(ctx, model.Model, provider.TestOptions{Locale: locale, Tell: func(step provider.Step) {
		s.Event(api.EventModelStep, msg.Localize(locale, stepOf(step)))
	}})
	s.Event(api.EventModelTested, msg.Localize(locale, testedOf(name, report)))
	return nil
}

// begin refuses a second test of a model, and too many.
func (m *Models) begin(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		m.running = map[string]bool{}
	}
	if m.running[name] || len(m.running) >= maxTests {
		return api.Problemf(http.StatusConflict, api.CodeBusy, "wait until it ends", "a test of this model is running, or %d others", maxTests)
	}
	m.running[name] = true
	return nil
}

func (m *Models) end(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, name)
}

// stepOf returns the wire form of a step.
func stepOf(s provider.Step) api.ModelStep {
	return api.ModelStep{
		Name: string(s.Name), OK: s.OK, ElapsedMS: s.Elapsed.Milliseconds(), FirstTokenMS: s.FirstToken.Milliseconds(),
		Code: string(s.Code), Message: s.Msg, Hint: s.Hint,
	}
}

// testedOf returns the wire form of a report about the model of that name.
func testedOf(name string, r provider.Report) api.ModelTested {
	out := api.ModelTested{
		Name: name, OK: r.OK, Provider: r.Info.Provider, Model: r.Info.Model, Window: r.Info.Window, Steps: []api.ModelStep{},
		NativeTools: r.NativeTools, Scripts: r.Scripts, Reply: r.Reply, Usage: r.Usage,
	}
	for _, s := range r.Steps {
		out.Steps = append(out.Steps, stepOf(s))
	}
	return out
}
