package daemon

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// A model is tested over the API, step by step.
func TestTestAModel(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("ready") }))
	whole := decoded[api.ModelTested](t, s.post("/api/models/scripted/test", ""))
	if whole.Name != "scripted" || len(whole.Steps) < 2 || whole.Provider != "replay" {
		t.Errorf("%+v", whole)
	}
	a := s.do("POST", "/api/models/scripted/test", "", func(r *http.Request) { r.Header.Set("Accept", kindStream) })
	es := events(a.body)
	end := last[api.ModelTested](t, es, api.EventModelTested)
	var names []string
	for _, e := range es[:len(es)-1] {
		names = append(names, last[api.ModelStep](t, []event{e}, api.EventModelStep).Name)
	}
	for i, step := range end.Steps {
		if i >= len(names) || names[i] != step.Name {
			t.Errorf("the steps %v, of %+v", names, end.Steps)
			break
		}
	}
	for _, name := range []string{"nosuch", "..%2f..", strings.Repeat("x", 5000)} {
		if a := s.post("/api/models/"+name+"/test", ""); a.status != 404 || a.code(t) != "no_model" {
			t.Errorf("%.20s: %d %.200s", name, a.status, a.body)
		}
	}
}

// Only one test of a model runs at once, and one ends with its client.
func TestOneTestOfAModel(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/api/models/scripted/test", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Accept", kindStream)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	if a := s.post("/api/models/scripted/test", ""); a.status != 409 || a.code(t) != api.CodeBusy {
		t.Errorf("%d %s", a.status, a.body)
	}
	m.step <- "it runs"
	leave()
	<-m.ended
}

func TestFoundModels(t *testing.T) {
	s := newServer(t, replay.New())
	if a := s.get("/api/models/found"); a.status != 200 || !strings.Contains(a.body, `"found":[]`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.daemon.models.Find = func(context.Context) []provider.Found {
		return []provider.Found{{Preset: "ollama", Title: "Ollama", BaseURL: "http://127.0.0.1:11434", Models: []string{"a", "b"}, Command: "weir model use ollama:a"}, {Preset: "ark", KeyEnv: "ARK_API_KEY"}}
	}
	f := decoded[api.FoundModels](t, s.get("/api/models/found")).Found
	if len(f) != 2 || !slices.Equal(f[0].Models, []string{"a", "b"}) || f[1].KeyEnv != "ARK_API_KEY" || f[1].Models == nil {
		t.Errorf("%+v", f)
	}
}

// The sentences of a test come in the reader's language.
func TestAModelTestInChinese(t *testing.T) {
	s := newServer(t, replay.New())
	s.daemon.models.Test = func(_ context.Context, _ agent.Model, o provider.TestOptions) provider.Report {
		if o.Locale != tool.Zh {
			t.Errorf("asked in %q", o.Locale)
		}
		return provider.Report{Steps: []provider.Step{{Name: "configure", Msg: tool.Textf("the answer broke off before its end"), Hint: tool.Textf("ask again")}}}
	}
	a := s.do("POST", "/api/models/scripted/test", "", func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") })
	if got := decoded[api.ModelTested](t, a); len(got.Steps) != 1 || strings.Contains(got.Steps[0].Hint.String(), "ask again") {
		t.Errorf("%s", a.body)
	}
}

// What was not found on this machine is not added, and what was is added as it was found.
func TestAddAFoundModel(t *testing.T) {
	s := newServer(t, replay.New())
	if a := s.post("/api/models", `{"preset":"ollama","model":"a"}`); a.status != 409 || a.code(t) != "config" {
		t.Errorf("without a file: %d %s", a.status, a.body)
	}
	var added []provider.Found
	s.daemon.models.Add = func(_ context.Context, f provider.Found, body api.ModelAdd) (api.SettingsPatched, error) {
		added = append(added, f)
		return api.SettingsPatched{Written: !body.DryRun, Diff: body.Model}, nil
	}
	s.daemon.models.Find = func(context.Context) []provider.Found {
		return []provider.Found{{Preset: "ollama", BaseURL: "http://127.0.0.1:11434/v1"}, {Preset: "ollama", BaseURL: "http://127.0.0.1:9/v1"}}
	}
	for _, body := range []string{`{"preset":"openai","model":"a"}`, `{"preset":"ollama","base_url":"http://evil.example/v1","model":"a"}`} {
		if a := s.post("/api/models", body); a.status != 404 || a.code(t) != "not_found" {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	out := decoded[api.SettingsPatched](t, s.post("/api/models", `{"preset":"ollama","base_url":"http://127.0.0.1:9/v1","model":"a"}`))
	if len(added) != 1 || added[0].BaseURL != "http://127.0.0.1:9/v1" || !out.Written || out.Diff != "a" {
		t.Errorf("%+v, %+v", added, out)
	}
}
