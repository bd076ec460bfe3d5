package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A new setup applies to turns that begin after it; a running turn ends with the old
// one; an invalid setup changes nothing.
func TestConfigure(t *testing.T) {
	admission, asked := make(chan struct{}), make(chan struct{})
	old := replay.Func(func(n int, _ agent.Request) replay.Reply {
		if n == 0 {
			close(asked)
			<-admission
		}
		return replay.Text("from the old one")
	})
	s := newServer(t, old)
	running := make(chan string)
	go func() { running <- s.post("/api/chat", `{"message":"wait"}`).body }()
	<-asked
	next := Setup{
		Models:   map[string]Model{"scripted": {Model: replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("from the new one") })}, "other": {Model: old}},
		Profiles: map[string]Profile{"default": {Model: "scripted", Agent: agent.Defaults()}, "terse": {Model: "scripted", Agent: agent.Defaults()}},
		Settings: map[string]string{"version": "two"}, MaxTurns: 1,
	}
	if err := s.daemon.Configure(next); err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"message":"a"}`: "from the new one", `{"message":"a","model":"other"}`: "from the old one", `{"message":"a","profile":"terse"}`: "from the new one",
	} {
		if r := s.post("/api/chat", body); !strings.Contains(r.body, want) {
			t.Errorf("%s: %s", body, r.body)
		}
	}
	close(admission)
	if body := <-running; !strings.Contains(body, "from the old one") {
		t.Errorf("the turn that ran: %s", body)
	}
	if r := s.get("/api/settings"); !strings.Contains(r.body, `"two"`) {
		t.Error(r.body)
	}
	for name, bad := range map[string]Setup{
		"no default profile": {Models: next.Models, Profiles: map[string]Profile{"x": {Model: "scripted"}}},
		"no such model":      {Models: next.Models, Profiles: map[string]Profile{"default": {Model: "nobody"}}},
		"a bad mode":         {Models: next.Models, Profiles: map[string]Profile{"default": {Model: "scripted", Agent: agent.Config{Mode: "x"}}}},
	} {
		if err := s.daemon.Configure(bad); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if r := s.post("/api/chat", `{"message":"a"}`); !strings.Contains(r.body, "from the new one") {
		t.Errorf("after refusals: %s", r.body)
	}
}

func TestReloadRoute(t *testing.T) {
	s := newServer(t, replay.New())
	var out ReloadReport
	if r := s.post("/api/reload", `{}`); r.status != 200 || json.Unmarshal([]byte(r.body), &out) != nil || !out.Change.Empty() {
		t.Errorf("without a configuration: %d %s", r.status, r.body)
	}
	s.daemon.cfg.Reload = func(context.Context) (ReloadReport, error) {
		return ReloadReport{}, api.Problemf(409, "config", "", "tools.toml:3:1: no")
	}
	if r := s.post("/api/reload", `{}`); r.status != 409 || r.code(t) != "config" {
		t.Errorf("refused: %d %s", r.status, r.body)
	}
	s.daemon.cfg.Reload = func(context.Context) (ReloadReport, error) { return ReloadReport{}, errors.New("secret detail") }
	if r := s.post("/api/reload", `{}`); r.status != 500 || strings.Contains(r.body, "secret detail") {
		t.Errorf("failed: %d %s", r.status, r.body)
	}
}

// A turn that a stop cuts off is stored in part, and its client receives the reason;
// later requests are refused.
func TestDrainCutsOffWithATypedEnd(t *testing.T) {
	asked := make(chan struct{})
	s := newServer(t, silentModel{asked})
	body := make(chan string)
	for _, path := range []string{"/api/chat", "/v1/chat/completions"} {
		go func() {
			body <- s.post(path, map[string]string{"/api/chat": `{"message":"go"}`, "/v1/chat/completions": `{"model":"weir","stream":true,"messages":[{"role":"user","content":"go"}]}`}[path]).body
		}()
		<-asked
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.daemon.Drain(ctx); err == nil {
		t.Error("turns were cut off, and Drain says nothing")
	}
	for range 2 {
		got := <-body
		if !strings.Contains(got, `"draining"`) || !strings.Contains(got, "first words") || !strings.Contains(got, "stopped before the answer was complete") {
			t.Errorf("the client was told: %s", got)
		}
	}
	list, err := s.daemon.store.Conversations(t.Context(), "local", 10)
	if err != nil || len(list) != 2 || list[0].Messages != 2 || list[1].Messages != 2 {
		t.Errorf("stored: %+v, %v", list, err)
	}
	if r := s.post("/api/chat", `{"message":"again"}`); r.status != 503 || r.code(t) != api.CodeDraining {
		t.Errorf("%d %s", r.status, r.body)
	}
	if err := s.daemon.Drain(t.Context()); err != nil {
		t.Errorf("with nothing left: %v", err)
	}
}

// silentModel says some words and then nothing until it is left.
type silentModel struct{ asked chan struct{} }

func (m silentModel) Generate(ctx context.Context, _ agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		if !yield(agent.Delta{Text: "The first words."}, nil) {
			return
		}
		m.asked <- struct{}{}
		<-ctx.Done()
		yield(agent.Delta{}, ctx.Err())
	}
}

// A call without a model is waited for as an answer is, and refused and cut off
// as one.
func TestDrainAndCallsWithoutAModel(t *testing.T) {
	for _, cut := range []bool{false, true} {
		begun, goOn := make(chan struct{}), make(chan struct{})
		s := serverWith(t, replay.New(), func(c *host.Config) {
			c.Tools = map[string]host.ToolConfig{"long_text": {Limits: tool.Limits{Strategy: tool.Summarize}}}
			c.Summarise = func(ctx context.Context, _ host.SummaryRequest) (host.Summary, error) {
				close(begun)
				select {
				case <-goOn:
				case <-ctx.Done():
				}
				return host.Summary{Text: "short"}, ctx.Err()
			}
		})
		called, drained := make(chan answer, 1), make(chan error, 1)
		go func() { called <- s.post("/api/tools/long_text/call", `{}`) }()
		<-begun
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			drained <- s.daemon.Drain(ctx)
			close(drained)
		}()
		for s.get("/readyz").status == 200 { // it begins in a moment
		}
		if a := s.post("/api/tools/calculator/call", `{"arguments":{"expression":"6*7"}}`); a.status != 503 || a.code(t) != api.CodeDraining {
			t.Errorf("a call that comes meanwhile: %d %s", a.status, a.body)
		}
		select {
		case err := <-drained:
			t.Errorf("Drain did not wait: %v", err)
		default:
		}
		if cut {
			cancel()
			<-drained
		}
		close(goOn)
		a := <-called
		if !cut && a.status != 200 || cut && (a.status != 503 || a.code(t) != api.CodeDraining) {
			t.Errorf("cut off %t: %d %s", cut, a.status, a.body)
		}
		cancel()
	}
}

// What an operator changes is done also when their client goes while it is: half of
// it would be in force.
func TestChangesOutlastTheirClient(t *testing.T) {
	s := serverWith(t, replay.New(), func(c *host.Config) { c.Lock = filepath.Join(t.TempDir(), "weir.lock") })
	ctx, goes := context.WithCancel(t.Context())
	s.daemon.cfg.Reload = func(ctx context.Context) (ReloadReport, error) {
		goes()
		return ReloadReport{}, ctx.Err()
	}
	s.daemon.plugins.Read = func() (map[string]plugin.Grant, error) {
		goes()
		return nil, nil
	}
	for _, row := range [][2]string{
		{"POST", "/api/reload"}, {"POST", "/api/plugins/reload"},
		{"POST", "/api/plugins/calculator/disable"}, {"POST", "/api/plugins/calculator/enable"}, {"DELETE", "/api/plugins/calculator"},
	} {
		r := httptest.NewRequestWithContext(ctx, row[0], s.url+row[1], nil)
		r.Header.Set("Authorization", "Bearer "+testToken)
		w := httptest.NewRecorder()
		s.daemon.Handler().ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("%s %s: %d %s", row[0], row[1], w.Code, w.Body)
		}
	}
}
