// Package anthropic talks to Claude by Anthropic's Messages API, and to the
// servers of others that speak it.
//
// A reply is streamed. Calls are delivered only when the server has said that
// the reply is complete, so that a broken stream never yields one. A request is
// repeated only while nothing of its answer was delivered. The ends of the
// parts that do not change between the requests of a turn are marked for the provider's
// prompt cache.
package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
)

const (
	// DefaultBaseURL is Anthropic's own server.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultMaxTokens bounds a reply where neither the request nor Extra does, in
	// tokens; the API wants a bound. It is never over the model's own.
	DefaultMaxTokens = 16_384
	// blindMaxTokens is taken where the model's own bound is not known.
	blindMaxTokens = 8_192
)

// Config names the model. BaseURL is the part before /v1/messages; empty:
// DefaultBaseURL. Key is sent as x-api-key. Extra is, for example,
// {"max_tokens": 4096, "thinking": {"type": "adaptive"}}; it may not hold model,
// messages, system, tools, tool_choice or stream.
type Config = model.Config

// A Model is an agent.Model, an agent.Describer and a passthrough.Model. It is safe for concurrent use.
type Model struct {
	cfg     Config
	peer    wire.Peer
	policy  wire.Policy
	options []option.RequestOption

	mu    sync.Mutex
	shown *shown

	thoughts thoughts // of requests that are passed on
}

var (
	_ agent.Model     = (*Model)(nil)
	_ agent.Describer = (*Model)(nil)
)

// New checks cfg and makes a Model; it does not talk to the server.
func New(cfg Config) (*Model, error) {
	cfg.Name = cmp.Or(cfg.Name, cfg.Model)
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	// People paste the whole address from a curl line, or OpenAI's habit of /v1.
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	for _, tail := range []string{"/messages", "/v1"} {
		cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, tail)
	}
	cfg.HTTP = wire.Traced(cfg.HTTP)
	peer := wire.NewPeer(wire.Anthropic, cfg)
	if err := peer.Check(DefaultBaseURL, cfg.Key, cfg.Extra, "model", "messages", "system", "tools", "tool_choice", "stream"); err != nil {
		return nil, err
	}
	return &Model{cfg: cfg, peer: peer, options: options(cfg), policy: wire.NewPolicy(cfg)}, nil
}

// client sends requests. Not sdk.NewClient: it would look for keys, profiles and
// addresses in the environment and send them to whatever server is configured here.
// And no field of the Model, which is put into interfaces: for its sake the program
// would hold the types of all services that the library knows. Nor a method: each
// package that imports this one would compile their methods.
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
		peer, tools := m.peer, toolschema.Anthropic().Declare(r.Tools, r.Locale)
		about, _ := m.look(ctx) // after a failure the question itself fails, with a better message
		wire.Deliver(ctx, m.policy, func() (*wire.Stream, error) { return m.open(ctx, peer, r, tools, about) }, tools.Deliver(yield))
	}
}

// String names the model and its server, never the key.
func (m *Model) String() string { return fmt.Sprintf("%s at %s", m.cfg.Model, m.peer.Where()) }
