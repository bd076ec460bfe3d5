package anthropic

import (
	"cmp"
	"context"
	"net/url"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// shown is what the server says of a model; 0: it does not say.
type shown struct {
	Window    int `json:"max_input_tokens"`
	MaxTokens int `json:"max_tokens"`

	Capabilities struct {
		Effort  supported `json:"effort"`
		Schemas supported `json:"structured_outputs"`
	} `json:"capabilities"`
}

type supported struct {
	Supported bool `json:"supported"`
}

// Describe says what is configured and asks the server for the window where
// none is. An error comes with what is known without it; it is not remembered.
func (m *Model) Describe(ctx context.Context) (agent.ModelInfo, error) {
	info := agent.ModelInfo{
		Name: m.cfg.Name, Provider: "anthropic", Model: m.cfg.Model, Window: m.cfg.Window, NativeTools: m.cfg.NativeTools, StartInThought: m.cfg.StartInThought,
	}
	info.NativeTools = cmp.Or(info.NativeTools, new(true))
	s, err := m.look(ctx)
	if info.Window <= 0 {
		info.Window = max(cmp.Or(s.Window, m.cfg.KnownWindow), 0)
		info.FromTable = s.Window <= 0 && info.Window > 0
	}
	return info, err
}

// maxTokens bounds a reply.
func (s shown) maxTokens() int {
	if s.MaxTokens <= 0 {
		return blindMaxTokens
	}
	return min(DefaultMaxTokens, s.MaxTokens)
}

// look reads the model's entry, once. Servers that speak the API and keep no
// list say nothing.
func (m *Model) look(ctx context.Context) (shown, error) {
	m.mu.Lock()
	known := m.shown
	m.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var s shown
	raw, err := m.get(ctx, "v1/models/"+url.PathEscape(m.cfg.Model))
	switch {
	case agent.IsModelCode(err, agent.ModelNotFound) || agent.IsModelCode(err, agent.ModelGarbage):
	case err != nil:
		return s, err
	default:
		_ = wire.Decode(raw, wire.MaxValues, &s) // what is not JSON says nothing
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown = &s
	return s, nil
}

// Models lists the names that the server knows, in its order, at most 1,000.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	raw, err := m.get(ctx, "v1/models?limit=1000")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if wire.Decode(raw, wire.MaxValues, &list) != nil {
		return nil, m.peer.Garbage(tool.Textf("the list of models is not JSON"))
	}
	names := make([]string, len(list.Data))
	for i, e := range list.Data {
		names[i] = e.ID
	}
	return names, nil
}

func (m *Model) get(ctx context.Context, path string) ([]byte, error) {
	ctx, watch := m.peer.NewLook(ctx, m.cfg.FirstTimeout)
	defer watch.Stop()
	var raw []byte
	err := client(m.options).Get(ctx, path, nil, &raw, option.WithHeader("Accept", "application/json"))
	if err != nil {
		return nil, m.peer.Failed(ctx, err)
	}
	return raw, nil
}
