// Package ollama talks to an Ollama server by its native API. The compatible
// one cannot set the context window: Ollama's default is small, and what does
// not fit is dropped from the head of the prompt without a word. Here the
// window is always set, and a loss is an error or at least a warning.
package ollama

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/internal/gauge"
	"github.com/weirhost/weir/agent/model/internal/toolschema"
	"github.com/weirhost/weir/agent/model/internal/wire"
)

const (
	// DefaultBaseURL is where Ollama listens by default.
	DefaultBaseURL = "http://127.0.0.1:11434"
	// DefaultWindow is asked for where nothing is configured, in tokens. More
	// costs memory that small machines do not have.
	DefaultWindow = 16_384
)

// Config names the model. BaseURL is the root of the server; empty: DefaultBaseURL.
// Key is sent as a bearer token, for servers behind a proxy. Window is never over the
// model's own; 0: DefaultWindow. Extra is merged into the request's options, for
// example {"temperature": 0.2}; num_ctx in it is ignored, because Window sets it.
type Config struct {
	model.Config
	// EmbeddingModel is the server's model for Embed; empty: none.
	EmbeddingModel string
	// Think enables or disables the thinking of models that can; nil: the server's
	// default.
	Think *bool
	// KeepAlive is how long the model stays loaded, for example "30m"; empty: the
	// server's default.
	KeepAlive string
	// Warn is called if the server seems to have cut a prompt; nil: no call.
	Warn func(Warning)
}

// A Warning says that the server counted far fewer tokens than were sent.
type Warning struct {
	Model string
	// Estimate is ours, Counted the server's, Window what was asked for; all in tokens.
	Estimate, Counted, Window int
	Text                      string
}

// A Model is an agent.Model, an agent.Describer and a passthrough.Model. It is safe for concurrent use.
type Model struct {
	cfg    Config
	peer   wire.Peer
	policy wire.Policy
	client *http.Client

	mu   sync.Mutex
	show *shown

	gauge gauge.Gauge // of requests that are passed through
}

var (
	_ agent.Model     = (*Model)(nil)
	_ agent.Describer = (*Model)(nil)
)

// New checks cfg and makes a Model; it does not talk to the server.
func New(cfg Config) (*Model, error) {
	cfg.Name = cmp.Or(cfg.Name, cfg.Model)
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	// People give the address of the compatible API, or of one call.
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	for _, tail := range []string{"/api/chat", "/api", "/v1"} {
		cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, tail)
	}
	peer := wire.NewPeer(wire.Ollama, cfg.Config)
	if err := peer.Check(DefaultBaseURL, cfg.Key, nil); err != nil {
		return nil, err
	}
	return &Model{cfg: cfg, peer: peer, client: wire.Traced(cfg.HTTP), policy: wire.NewPolicy(cfg.Config)}, nil
}

// Generate streams one reply.
func (m *Model) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		peer, tools := m.peer, toolschema.Ollama().Declare(r.Tools, r.Locale)
		window := m.window(ctx, r)
		open := func() (*wire.Stream, error) { return m.open(ctx, peer, r, tools, window) }
		wire.Deliver(ctx, m.policy, open, tools.Deliver(func(d agent.Delta, err error) bool {
			if d.Finish != "" {
				m.compare(r, window, d.Usage)
			}
			return yield(d, err)
		}))
	}
}

// window is the num_ctx to ask for. It stays the same from request to request:
// another value makes the server load the model again.
func (m *Model) window(ctx context.Context, r agent.Request) int {
	want := r.Window
	if want <= 0 {
		want = m.cfg.Window
	}
	if want <= 0 {
		want = DefaultWindow
	}
	// After a failure here the question itself fails, with a better message.
	if s, err := m.look(ctx); err == nil && s.window() > 0 {
		want = min(want, s.window())
	}
	return want
}

// compare warns when the server counted less than half of a careful estimate.
func (m *Model) compare(r agent.Request, window int, u *agent.Usage) {
	if m.cfg.Warn != nil {
		m.warn(estimate(r), window, u)
	}
}

// warn warns when the server counted less than half of guess, which is a careful estimate.
func (m *Model) warn(guess, window int, u *agent.Usage) {
	if m.cfg.Warn == nil || u == nil || u.Prompt == 0 || guess < 400 || u.Prompt >= guess/2 {
		return
	}
	m.cfg.Warn(Warning{Model: m.cfg.Name, Estimate: guess, Counted: u.Prompt, Window: window, Text: fmt.Sprintf(
		"the server counted %d prompt tokens where about %d were sent: it may have dropped the beginning of the prompt (window %d)",
		u.Prompt, guess, window)})
}

// estimate counts tokens on the low side: 4 ASCII characters or 1.5 others each.
func estimate(r agent.Request) int {
	var ascii, other int
	count := func(s string) {
		for _, c := range s {
			if c < 128 {
				ascii++
			} else {
				other++
			}
		}
	}
	count(r.System)
	for _, c := range r.Messages {
		count(c.Text)
	}
	return ascii/4 + other*2/3
}

// String names the model and its server.
func (m *Model) String() string { return fmt.Sprintf("%s at %s", m.cfg.Model, m.peer.Where()) }
