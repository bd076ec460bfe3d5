package ollama

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// maxLook bounds what the server says about itself, in bytes; /api/show carries the
// tokenizer.
const maxLook = 64 << 20

// shown is what /api/show says about a model.
type shown struct {
	Capabilities []string                   `json:"capabilities"`
	Info         map[string]json.RawMessage `json:"model_info"`
}

// window is the model's own context length in tokens; 0: it does not say.
func (s *shown) window() int {
	for k, v := range s.Info {
		var n int
		if strings.HasSuffix(k, ".context_length") && json.Unmarshal(v, &n) == nil {
			return n
		}
	}
	return 0
}

// Describe asks the server what the model can. The window is the one that
// requests will ask for. An error comes with what is known without the server.
func (m *Model) Describe(ctx context.Context) (agent.ModelInfo, error) {
	info := agent.ModelInfo{
		Name: m.cfg.Name, Provider: "ollama", Model: m.cfg.Model, Window: m.window(ctx, agent.Request{}), NativeTools: m.cfg.NativeTools, StartInThought: m.cfg.StartInThought,
	}
	s, err := m.look(ctx)
	if err != nil {
		return info, err
	}
	if info.NativeTools == nil && s.Capabilities != nil { // old servers do not say
		info.NativeTools = new(slices.Contains(s.Capabilities, "tools"))
	}
	return info, nil
}

// Thinks reports whether the server says that the model can think.
func (m *Model) Thinks(ctx context.Context) (bool, error) {
	s, err := m.look(ctx)
	if err != nil {
		return false, err
	}
	return slices.Contains(s.Capabilities, "thinking"), nil
}

// look asks /api/show once; a failure is not remembered.
func (m *Model) look(ctx context.Context) (*shown, error) {
	m.mu.Lock()
	known := m.show
	m.mu.Unlock()
	if known != nil {
		return known, nil
	}
	body, _ := json.Marshal(map[string]string{"model": m.cfg.Model}) // cannot fail
	var s shown
	if err := m.fetch(ctx, "/api/show", body, &s); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.show = &s
	return &s, nil
}

// Models lists the names of the models that were pulled.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := m.fetch(ctx, "/api/tags", nil, &tags); err != nil {
		return nil, err
	}
	names := make([]string, len(tags.Models))
	for i, t := range tags.Models {
		names[i] = t.Name
	}
	return names, nil
}

func (m *Model) fetch(ctx context.Context, path string, body []byte, into any) error {
	ctx, watch := m.peer.NewLook(ctx, m.cfg.FirstTimeout)
	defer watch.Stop()
	data, err := m.read(ctx, m.peer, watch, path, body, maxLook)
	if err != nil {
		return err
	}
	if wire.Decode(data, wire.MaxNumbers, into) != nil {
		return m.peer.Garbage(tool.Textf("%s is not JSON of its kind", path))
	}
	return nil
}
