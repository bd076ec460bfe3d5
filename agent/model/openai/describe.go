package openai

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
)

// lookTimeout bounds a question about the server itself.
const lookTimeout = 10 * time.Second

// Describe says what is configured and asks the server for the window where
// none is. An error comes with what is known without it; it is not remembered.
func (m *Model) Describe(ctx context.Context) (agent.ModelInfo, error) {
	m.mu.Lock()
	known := m.info
	m.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	info := agent.ModelInfo{
		Name: m.cfg.Name, Provider: "openai", Model: m.cfg.Model, Window: m.cfg.Window, NativeTools: m.cfg.NativeTools,
	}
	if info.Window <= 0 {
		if err := m.look(ctx, &info); err != nil {
			return info, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.info = &info
	return info, nil
}

// look reads the model's entry in the server's list. A server without a list,
// or one that says nothing about windows, leaves info as it is.
func (m *Model) look(ctx context.Context, info *agent.ModelInfo) error {
	list, err := m.list(ctx, "models")
	if err != nil && !agent.IsModelCode(err, agent.ModelNotFound) && !agent.IsModelCode(err, agent.ModelGarbage) {
		return err
	}
	info.Window = max(list.find(m.cfg.Model).window(), 0)
	if info.Window > 0 || !m.local() {
		return nil
	}
	// LM Studio tells more, at a place of its own.
	if list, err = m.list(ctx, "../api/v0/models"); err != nil {
		return nil
	}
	e := list.find(m.cfg.Model)
	info.Window = e.window()
	if info.NativeTools == nil && slices.Contains(e.Capabilities, "tool_use") {
		yes := true
		info.NativeTools = &yes
	}
	return nil
}

func (m *Model) local() bool {
	where := m.peer.Where()
	return strings.Contains(where, "//127.") || strings.Contains(where, "//localhost") || strings.Contains(where, "//[::1]")
}

// Models lists the names that the server knows, in its order.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	list, err := m.list(ctx, "models")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.ID
	}
	return names, nil
}

// An entry is one model of a server's list. The window has many names.
type entry struct {
	ID           string   `json:"id"`
	Loaded       int      `json:"loaded_context_length"` // LM Studio: what is in force
	MaxModelLen  int      `json:"max_model_len"`         // vLLM
	Context      int      `json:"context_length"`        // OpenRouter
	ContextWin   int      `json:"context_window"`        // Groq
	Capabilities caps     `json:"capabilities"`
	Meta         struct { // llama.cpp
		Ctx int `json:"n_ctx"`
	} `json:"meta"`
}

// caps reads a list of words; servers that put something else there say nothing.
type caps []string

// UnmarshalJSON never fails on valid JSON.
func (c *caps) UnmarshalJSON(raw []byte) error {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		*c = list
	}
	return nil
}

type entries []entry

func (l entries) find(id string) entry {
	i := slices.IndexFunc(l, func(e entry) bool { return e.ID == id })
	if i < 0 {
		return entry{}
	}
	return l[i]
}

func (e entry) window() int {
	for _, n := range []int{e.Loaded, e.MaxModelLen, e.Context, e.ContextWin, e.Meta.Ctx} {
		if n > 0 {
			return n
		}
	}
	return 0
}

func (m *Model) list(ctx context.Context, path string) (entries, error) {
	ctx, watch := wire.NewWatch(ctx, lookTimeout, lookTimeout)
	defer watch.Stop()
	var raw []byte
	err := m.client.Get(ctx, path, nil, &raw, option.WithHeader("Accept", "application/json"))
	var no *refusal
	switch {
	case errors.As(err, &no):
		return nil, m.peer.Status(no.status, no.header, no.body)
	case err != nil:
		return nil, m.peer.Transport(ctx, wire.Opening, err)
	}
	var answer struct {
		Data entries `json:"data"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		return nil, m.peer.Garbage(m.peer.Say("the list of models is not JSON", "模型列表不是 JSON"))
	}
	return answer.Data, nil
}
