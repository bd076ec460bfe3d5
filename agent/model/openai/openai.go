// Package openai talks to any server with OpenAI's chat completions API: the
// provider itself, Volcengine Ark, DeepSeek, Qwen, vLLM, LM Studio, llama.cpp.
//
// A reply is streamed. Calls are delivered only when the server has said that
// the reply is complete, so that a broken stream never yields one. A request is
// repeated only while nothing of its answer was delivered.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/internal/gauge"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
)

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config names the model. BaseURL is the part before /chat/completions; empty:
// DefaultBaseURL. Key is sent as a bearer token. Extra may not hold model, messages,
// tools or stream.
type Config struct {
	model.Config
	// EmbeddingModel is the server's model for Embed; empty: none.
	EmbeddingModel string
}

// A Model is an agent.Model and an agent.Describer. It is safe for concurrent use.
type Model struct {
	cfg     Config
	peer    wire.Peer
	policy  wire.Policy
	options []option.RequestOption
	rules   toolschema.Rules
	// learnt once, from what the server refused
	dialect dialect
	// what the server counted of requests that were passed through, if it drops their head
	gauge gauge.Gauge

	mu   sync.Mutex
	info *agent.ModelInfo
}

// A dialect is what servers do not agree on. It is learnt from their refusals.
type dialect struct{ noUsage, newTokens, thoughts, noChoice atomic.Bool }

// dialectAt is a dialect at one moment: not to ask for the usage of a stream, to send
// max_completion_tokens, to send reasoning back with its calls, not to forbid calls.
type dialectAt struct{ noUsage, newTokens, thoughts, noChoice bool }

func (h *dialect) load() dialectAt {
	return dialectAt{h.noUsage.Load(), h.newTokens.Load(), h.thoughts.Load(), h.noChoice.Load()}
}

var (
	_ agent.Model     = (*Model)(nil)
	_ agent.Describer = (*Model)(nil)
)

// New checks cfg and makes a Model; it does not talk to the server.
func New(cfg Config) (*Model, error) {
	cfg.Name = cmp.Or(cfg.Name, cfg.Model)
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	// People paste the whole address from a curl line.
	cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/chat/completions")
	cfg.HTTP = wire.Traced(cfg.HTTP)
	peer := wire.NewPeer(wire.OpenAI, cfg.Config)
	if err := peer.Check(DefaultBaseURL, cfg.Key, cfg.Extra, "model", "messages", "tools", "stream", "stream_options"); err != nil {
		return nil, err
	}
	return &Model{cfg: cfg, peer: peer, options: options(cfg), policy: wire.NewPolicy(cfg.Config), rules: rulesOf(cfg)}, nil
}

// rulesOf returns what the server takes of tools: Google's has rules of its own, also behind
// the gateways of others, who name the model after it.
func rulesOf(cfg Config) toolschema.Rules {
	if strings.Contains(cfg.BaseURL, "generativelanguage.googleapis.com") || strings.Contains(strings.ToLower(cfg.Model), "gemini") {
		return toolschema.Gemini()
	}
	return toolschema.OpenAI()
}

// client sends requests. Not sdk.NewClient: it would send the keys and headers of
// OPENAI_* variables to whatever server is configured here. And no field of the
// Model, which is put into interfaces: for its sake the program would hold the types
// of all services that the library knows. Nor a method: each package that imports this
// one would compile their methods.
func client(options []option.RequestOption) *sdk.Client { return &sdk.Client{Options: options} }

func options(cfg Config) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(cfg.HTTP),
		option.WithMaxRetries(0), // ours are the only ones
		option.WithHeader("User-Agent", "weir"),
		option.WithMiddleware(wire.Intercept),
	}
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	for k, v := range cfg.Headers {
		opts = append(opts, option.WithHeader(k, v))
	}
	return opts
}

// Generate streams one reply.
func (m *Model) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		peer, tools := m.peer, m.rules.Declare(r.Tools, r.Locale)
		wire.Deliver(ctx, m.policy, func() (*wire.Stream, error) { return m.open(ctx, peer, r, tools) }, tools.Deliver(yield))
	}
}

// String names the model and its server, never the key.
func (m *Model) String() string { return fmt.Sprintf("%s at %s", m.cfg.Model, m.peer.Where()) }
