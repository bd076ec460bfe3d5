// Package models has the routes on which the operator tests models and sees what others
// could be used.
package models

import (
	"context"
	"net/http"
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

// Models has the routes. It is safe for concurrent use.
type Models struct {
	Setup     *setup.Current
	Admission *turns.Admission
	Find      Finder // nil: nothing is found
	Test      Tester // nil: provider.Test
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
	if m.Find != nil {
		m.finding.Lock()
		found := m.Find(r.Context())
		m.finding.Unlock()
		for _, f := range found {
			out.Found = append(out.Found, api.FoundModel{Preset: f.Preset, Title: f.Title, BaseURL: f.BaseURL, KeyEnv: f.KeyEnv, Models: append([]string{}, f.Models...), Command: f.Command})
		}
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
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
		httpjson.Write(w, http.StatusOK, msg.Localize(locale, api.ModelTestedOf(name, report)))
		return nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := sse.New(w, cancel)
	defer s.Close()
	defer sse.Beat(m.Heartbeat(), s.Ping)()
	s.Ping() // the first step may take long
	report := test(ctx, model.Model, provider.TestOptions{Locale: locale, Tell: func(step provider.Step) {
		s.Event(api.EventModelStep, msg.Localize(locale, api.ModelStepOf(step)))
	}})
	s.Event(api.EventModelTested, msg.Localize(locale, api.ModelTestedOf(name, report)))
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
