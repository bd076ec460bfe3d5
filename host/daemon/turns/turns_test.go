package turns

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// open returns a Service over a host without plugins, whose archive is a file, and the store in it.
func open(path string, m agent.Model, edit func(*agent.Config)) (*Service, error) {
	h, err := host.Open(context.Background(), host.Config{Settings: host.Settings{Archive: archive.Config{Path: path}}, CacheDir: filepath.Join(filepath.Dir(path), "cache")})
	if err != nil {
		return nil, err
	}
	db, err := store.Open(context.Background(), h.Archive())
	if err != nil {
		return nil, err
	}
	cfg := agent.Defaults()
	if edit != nil {
		edit(&cfg)
	}
	current, err := setup.New("local", "", setup.Config{
		Models: map[string]setup.Model{"scripted": {Model: m}}, Profiles: map[string]setup.Profile{"default": {Model: "scripted", Agent: cfg}},
	})
	if err != nil {
		return nil, err
	}
	known := func(name string) bool { _, ok := h.Tool(name); return ok }
	return New(Config{
		Host: h, Store: db, Setup: current, Admission: NewAdmission(func() chan struct{} { return nil }), Meter: usage.NewMeter(db, time.Now, hclog.NewNullLogger()),
		Metrics: telemetry.NewMetrics(telemetry.MetricsConfig{Known: known, Now: time.Now, Logger: hclog.NewNullLogger()}), Known: known,
		Approvals: approvals.NewQueue(), Logger: hclog.NewNullLogger(), Now: time.Now,
	}), nil
}

// serviceAt is open for a test.
func serviceAt(t *testing.T, path string, m agent.Model, edit func(*agent.Config)) *Service {
	t.Helper()
	s, err := open(path, m, edit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Host.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newService(t *testing.T, m agent.Model) *Service {
	t.Helper()
	return serviceAt(t, filepath.Join(t.TempDir(), "archive.db"), m, nil)
}

// heard collects the events of a turn.
type heard struct {
	mu    sync.Mutex
	names []string
	text  string
}

func (h *heard) emit(name string, data any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := data.(*api.TextPiece); ok && name == api.EventText {
		h.text += p.Text
	}
	h.names = append(h.names, name)
}

// stored returns the messages of a conversation of the operator's.
func stored(t *testing.T, s *Service, conversation string) []agent.Message {
	t.Helper()
	rows, err := s.Store.Messages(t.Context(), archive.Scope{Principal: "local", Conversation: conversation})
	if err != nil {
		t.Fatal(err)
	}
	ms, err := Messages(rows)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func roles(ms []agent.Message) (out []agent.Role) {
	for _, m := range ms {
		out = append(out, m.Role)
	}
	return out
}

// A question is stored with its answer, and the next one of the conversation follows both.
func TestAsk(t *testing.T) {
	m := replay.New(replay.Text("One."), replay.Text("Two."))
	s := newService(t, m)
	var h heard
	end, err := s.Ask(t.Context(), "local", Question{Ask: api.Ask{Message: "First?"}}, nil, h.emit)
	if err != nil || end.Answer != "One." || end.Reason != agent.ReasonAnswer || h.text != "One." || h.names[0] != api.EventStart {
		t.Fatalf("%+v, %v, %v", end, err, h.names)
	}
	if end, err = s.Ask(t.Context(), "local", Question{Ask: api.Ask{Message: "Second?", Conversation: end.Conversation}}, nil, h.emit); err != nil || end.Answer != "Two." {
		t.Fatalf("%+v, %v", end, err)
	}
	ms := stored(t, s, end.Conversation)
	if !slices.Equal(roles(ms), []agent.Role{agent.RoleUser, agent.RoleAssistant, agent.RoleUser, agent.RoleAssistant}) || ms[2].Text != "Second?" || ms[3].Turn != 2 {
		t.Errorf("%+v", ms)
	}
	if asked := m.Requests()[1].Messages; len(asked) != 3 || asked[1].Text != "One." {
		t.Errorf("asked with %+v", asked)
	}
	if _, err := s.Ask(t.Context(), "local", Question{Ask: api.Ask{Message: " "}}, nil, h.emit); codeOf(err) != "empty" {
		t.Errorf("without a question: %v", err)
	}
}

// A turn that waits for the client's own tool goes on with its result, alone or with a question.
func TestResume(t *testing.T) {
	call := replay.Reply{Text: "I look. ", Calls: []tool.Call{{ID: "k1", Tool: "look", Args: []byte(`{}`)}}}
	options := &Options{Tools: []tool.Spec{{Name: "look", Params: []byte(`{"type":"object"}`)}}}
	answers := []Answer{{CallID: "k1", Text: "seen"}}
	for question, want := range map[string][]agent.Role{
		"":      {agent.RoleUser, agent.RoleAssistant, agent.RoleResults, agent.RoleAssistant},
		"Well?": {agent.RoleUser, agent.RoleAssistant, agent.RoleResults, agent.RoleUser, agent.RoleAssistant},
	} {
		native := true
		s := newService(t, replay.New(call, replay.Text("Done.")).Describing(agent.ModelInfo{Name: "m", NativeTools: &native}))
		var h heard
		end, err := s.Ask(t.Context(), "local", Question{Ask: api.Ask{Message: "Look."}, Options: options}, nil, h.emit)
		if err != nil || end.Reason != agent.ReasonToolCalls || len(end.Pending) != 1 {
			t.Fatalf("%+v, %v", end, err)
		}
		ask := Question{Ask: api.Ask{Message: question, Conversation: end.Conversation}, Options: options}
		if _, err := s.Ask(t.Context(), "local", func() Question { q := ask; q.Answers = []Answer{{CallID: "other"}}; return q }(), nil, h.emit); codeOf(err) != api.CodeBadBody {
			t.Errorf("a result of no call: %v", err)
		}
		ask.Answers = answers
		if end, err = s.Ask(t.Context(), "local", ask, nil, h.emit); err != nil || end.Answer != "Done." {
			t.Fatalf("%q: %+v, %v", question, end, err)
		}
		ms := stored(t, s, end.Conversation)
		if !slices.Equal(roles(ms), want) || ms[2].Results[0].Text != "seen" {
			t.Errorf("%q: %+v", question, ms)
		}
	}
}

// A turn whose question could not be stored keeps no step; its results are told at once.
func TestNothingIsKept(t *testing.T) {
	s := newService(t, replay.New())
	tn := &turn{s: s}
	tn.scope = archive.Scope{Principal: "local", Conversation: "c1"}
	tn.calls = &Calls{}
	l := tn.atEnd()
	var h heard
	emit := l.holdBack(h.emit)
	emit(api.EventResult, nil)
	if err := l.checkpoint(t.Context(), agent.Checkpoint{}); err != nil || !slices.Equal(h.names, []string{api.EventResult}) {
		t.Errorf("%v, %v", err, h.names)
	}
	if left, err := s.Store.Unended(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if l.shared() || l.left(t.Context(), store.ErrFenced) {
		t.Error("another daemon can go on with it")
	}
}
