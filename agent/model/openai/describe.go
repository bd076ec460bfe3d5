package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/url"
	"slices"

	"github.com/openai/openai-go/v3/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

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
		Name: m.cfg.Name, Provider: "openai", Model: m.cfg.Model, Window: m.cfg.Window, NativeTools: m.cfg.NativeTools, StartInThought: m.cfg.StartInThought,
	}
	if info.Window <= 0 {
		err := m.look(ctx, &info)
		if info.Window <= 0 {
			info.Window = max(m.cfg.KnownWindow, 0)
			info.FromTable = info.Window > 0
		}
		if err != nil {
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
	if info.Window > 0 || !m.near() {
		return nil
	}
	for _, ask := range []func(context.Context, *agent.ModelInfo) bool{m.lmStudio, m.lmStudioOld, m.llamaCpp} {
		if ask(ctx, info) {
			return nil
		}
	}
	return nil
}

// near reports whether the server is this machine's or the local network's:
// only there may it be one that tells more at a place of its own.
func (m *Model) near() bool {
	u, err := url.Parse(m.cfg.BaseURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsPrivate())
}

// told fills in what a server says of the model. A setting comes before it.
func told(info *agent.ModelInfo, window int, tools *bool) bool {
	info.Window = max(window, 0)
	info.NativeTools = cmp.Or(info.NativeTools, tools)
	return info.Window > 0
}

// lmStudio asks LM Studio, from 0.4 on, for the window that the loaded model
// has; one that is not loaded yet gets a smaller one than it could have.
func (m *Model) lmStudio(ctx context.Context, info *agent.ModelInfo) bool {
	var all struct {
		Models []struct {
			Key    string `json:"key"`
			Loaded []struct {
				ID     string `json:"id"`
				Config struct {
					Context int `json:"context_length"`
				} `json:"config"`
			} `json:"loaded_instances"`
			Capabilities struct {
				Tools *bool `json:"trained_for_tool_use"`
			} `json:"capabilities"`
		} `json:"models"`
	}
	if m.fetch(ctx, "../api/v1/models", &all) != nil {
		return false
	}
	for _, e := range all.Models {
		window := 0
		for _, in := range e.Loaded {
			if in.ID == m.cfg.Model || e.Key == m.cfg.Model {
				window = in.Config.Context
			}
		}
		if window > 0 || e.Key == m.cfg.Model {
			return told(info, window, e.Capabilities.Tools)
		}
	}
	return false
}

// lmStudioOld asks the LM Studios before.
func (m *Model) lmStudioOld(ctx context.Context, info *agent.ModelInfo) bool {
	list, err := m.list(ctx, "../api/v0/models")
	if err != nil {
		return false
	}
	e := list.find(m.cfg.Model)
	var tools *bool
	if slices.Contains(e.Capabilities, "tool_use") {
		tools = new(true)
	}
	return told(info, e.window(), tools)
}

// llamaCpp asks llama.cpp for the window of one slot, and whether the chat
// template knows tools.
func (m *Model) llamaCpp(ctx context.Context, info *agent.ModelInfo) bool {
	var props struct {
		Settings struct {
			Ctx int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Caps struct {
			Calls *bool `json:"supports_tool_calls"`
		} `json:"chat_template_caps"`
	}
	return m.fetch(ctx, "../props", &props) == nil && told(info, props.Settings.Ctx, props.Caps.Calls)
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
	var answer struct {
		Data entries `json:"data"`
	}
	err := m.fetch(ctx, path, &answer)
	return answer.Data, err
}

// fetch asks for a JSON text about the server itself.
func (m *Model) fetch(ctx context.Context, path string, into any) error {
	ctx, watch := m.peer.NewLook(ctx, m.cfg.FirstTimeout)
	defer watch.Stop()
	var raw []byte
	err := client(m.options).Get(ctx, path, nil, &raw, option.WithHeader("Accept", "application/json"))
	if err != nil {
		return m.peer.Failed(ctx, err)
	}
	if wire.Decode(raw, wire.MaxValues, into) != nil {
		return m.peer.Garbage(tool.Textf("the list of models is not JSON"))
	}
	return nil
}
