// Package openai talks to any server with OpenAI's chat completions API: the
// provider itself, Volcengine Ark, DeepSeek, Qwen, vLLM, LM Studio, llama.cpp.
//
// A reply is streamed. Calls are handed on only when the server has said that
// the reply is complete, so that a broken stream never yields one. A request is
// repeated only while nothing of its answer was handed on.
package openai

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

// DefaultBaseURL is OpenAI's own server.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which model of which server. Only Model is required.
type Config struct {
	// Name is the operator's name for the model; empty: Model.
	Name string
	// BaseURL is the part before /chat/completions; empty: DefaultBaseURL.
	BaseURL string
	// Key is sent as a bearer token; empty: none is sent. KeyEnv is the variable
	// it usually comes from and is only named in hints.
	Key, KeyEnv string
	Model       string
	// EmbeddingModel is the model that Embed asks, of the same server; empty:
	// there is none.
	EmbeddingModel string
	// Window is the context window in tokens; 0: ask the server, where it tells.
	Window int
	// NativeTools says whether the server takes tools; nil: unknown.
	NativeTools *bool
	// HTTP is the client; nil: the default transport. Its Timeout would cut long
	// answers off; use FirstTimeout and StallTimeout.
	HTTP *http.Client
	// FirstTimeout is the wait for the first byte of an answer (0: 5 minutes, or
	// StallTimeout where that is longer), StallTimeout the one between two pieces
	// (0: 2 minutes); negative: no limit.
	FirstTimeout, StallTimeout time.Duration
	// Retries is the number of repeats on 429, 5xx and connection errors; 0: 3,
	// negative: none. RetryBudget bounds the time they take; 0: one minute.
	Retries     int
	RetryBudget time.Duration
	// RetryWait is the wait before the first repeat, about doubled every time; 0: 300 ms.
	RetryWait time.Duration
	// Headers are sent with every request; their values are treated as secrets.
	Headers map[string]string
	// Extra is merged into the body of every request, for example
	// {"temperature": 0.2}; what a request says itself comes before it. It may not hold model, messages, tools or stream.
	Extra map[string]any
	// Locale is the language of errors where the request names none.
	Locale tool.Locale
	// OnRetry hears of every repeat; nil: nobody does.
	OnRetry func(err error, wait time.Duration)
}

// A Model is an agent.Model and an agent.Describer. It is safe for concurrent use.
type Model struct {
	cfg    Config
	peer   wire.Peer
	client sdk.Client
	// What the server turned out to want; learnt once, then kept.
	habits habit

	mu   sync.Mutex
	info *agent.ModelInfo
}

// A habit is what servers do not agree on.
type habit struct{ noUsage, newTokens, thoughts atomic.Bool }

// habits are a habit at one moment: not to ask for the usage of a stream, to
// say max_completion_tokens, to give thoughts back with the calls they led to.
type habits struct{ noUsage, newTokens, thoughts bool }

func (h *habit) load() habits { return habits{h.noUsage.Load(), h.newTokens.Load(), h.thoughts.Load()} }

var (
	_ agent.Model     = (*Model)(nil)
	_ agent.Describer = (*Model)(nil)
)

// New checks cfg and makes a Model; it does not talk to the server.
func New(cfg Config) (*Model, error) {
	if cfg.Name == "" {
		cfg.Name = cfg.Model
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	// People paste the whole address from a curl line.
	cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/chat/completions")
	cfg.HTTP = wire.Traced(cfg.HTTP)
	peer := wire.Peer{
		Kind: wire.OpenAI, Name: cfg.Name, Model: cfg.Model, BaseURL: cfg.BaseURL, KeyEnv: cfg.KeyEnv,
		HasKey: cfg.Key != "" || len(cfg.Headers) > 0, Secrets: wire.Secrets(cfg.Key, cfg.BaseURL, cfg.Headers), Locale: cfg.Locale,
	}
	if err := check(cfg, peer); err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, peer: peer}
	// Not sdk.NewClient: it would send the keys and headers of OPENAI_*
	// variables to whatever server is configured here.
	m.client = sdk.Client{Options: m.options()}
	return m, nil
}

func check(cfg Config, p wire.Peer) error {
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case cfg.Model == "":
		return p.Error(agent.ModelNotFound, p.Say("no model is named", "未指定模型"),
			p.Say("set model in [models.%s]", "请在 [models.%s] 中设置 model", cfg.Name))
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return p.Error(agent.ModelBadRequest, p.Say("base_url is not an http or https address", "base_url 不是 http 或 https 地址"),
			p.Say("set base_url in [models.%s], for example %s", "请设置 [models.%s] 的 base_url，例如 %s", cfg.Name, DefaultBaseURL))
	case strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return p.Error(agent.ModelAuth, p.Say("the key holds a space or another character that no key has", "密钥中含有空格或其他非法字符"),
			p.Say("copy the key again, without quotes", "请重新复制密钥，不要带引号"))
	}
	for _, k := range []string{"model", "messages", "tools", "stream", "stream_options"} {
		if _, ok := cfg.Extra[k]; ok {
			return p.Error(agent.ModelBadRequest, p.Say("extra may not hold %q", "extra 中不能包含 %q", k), "")
		}
	}
	return nil
}

func (m *Model) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(m.cfg.BaseURL),
		option.WithHTTPClient(m.cfg.HTTP),
		option.WithMaxRetries(0), // ours are the only ones
		option.WithHeader("User-Agent", "weir"),
		option.WithMiddleware(wire.Intercept),
	}
	if m.cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(m.cfg.Key))
	}
	for k, v := range m.cfg.Headers {
		opts = append(opts, option.WithHeader(k, v))
	}
	return opts
}

// Generate streams one reply.
func (m *Model) Generate(ctx context.Context, r agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		peer := m.peer.In(r.Locale)
		policy := wire.Policy{Retries: m.cfg.Retries, Budget: m.cfg.RetryBudget, First: m.cfg.RetryWait, Notify: m.cfg.OnRetry}
		s, err := wire.Retry(ctx, policy, func() (*stream, error) { return m.open(ctx, peer, r) })
		if err != nil {
			yield(agent.Delta{}, err)
			return
		}
		defer s.close()
		for {
			d, err := s.next()
			if err != nil {
				yield(agent.Delta{}, err)
				return
			}
			if !yield(d, nil) || d.Finish != "" {
				return
			}
		}
	}
}

// String names the model and its server, never the key.
func (m *Model) String() string { return fmt.Sprintf("%s at %s", m.cfg.Model, m.peer.Where()) }
