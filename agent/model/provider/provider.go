// Package provider makes a model from what an operator configures, finds
// servers and keys that are already there, and tests a model with two tiny
// questions that name what is wrong with it.
package provider

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/agent/model/anthropic"
	"github.com/weirhost/weir/agent/model/ollama"
	"github.com/weirhost/weir/agent/model/openai"
	"github.com/weirhost/weir/sdk/tool"
)

// Config is one [models.<name>] of the configuration.
type Config struct {
	// Name is the operator's name for the model.
	Name string
	// Provider is "openai", "anthropic", "ollama" or a preset's name; see Presets.
	Provider string
	// BaseURL, Key and Model go to the server; a preset fills BaseURL. Where Key
	// is empty and the address is a preset's, its variable is read with Getenv.
	BaseURL, Key, Model string
	// KeyEnv names the variable that Key comes from, EnvFile the file that may set it,
	// both for hints; empty: the preset's, and ".env".
	KeyEnv, EnvFile string
	// EmbeddingModel is the server's model for vectors; empty: none.
	EmbeddingModel string
	// Window is the context window in tokens; 0: ask the server, else that of weir's table
	// of a hosted service (KnownWindow).
	Window int
	// DropsHead is model.Config's, for providers of OpenAI's protocol.
	DropsHead bool
	// NativeTools says whether the server takes tools; nil: find out.
	NativeTools *bool
	// StartInThought says whether the model's template opens a thought at the end of
	// the prompt; nil: where the templates of the model's family are known to.
	StartInThought *bool
	// Think switches the thinking of models that can; nil: the server's default.
	// Only Ollama knows it; for others use Extra.
	Think *bool
	// FirstTimeout and StallTimeout bound the wait for the first byte and
	// between two pieces; 0: 5 and 2 minutes, negative: no limit. A FirstTimeout
	// of 0 is never shorter than StallTimeout.
	FirstTimeout, StallTimeout time.Duration
	// Retries is the number of repeats; 0: 3, negative: none. RetryBudget bounds
	// their time; 0: one minute.
	Retries     int
	RetryBudget time.Duration
	// Headers are sent with every request; their values are secrets.
	Headers map[string]string
	// Extra is merged into the request: its body, for Ollama its options.
	Extra map[string]any
	// HTTP is the client; nil: the default transport.
	HTTP *http.Client
	// Getenv reads a variable; nil: os.Getenv.
	Getenv func(string) string

	wantsKey bool // the address is known to refuse questions without one
}

// A Logger takes warnings with keys and values. hclog.Logger is one.
type Logger interface {
	Warn(msg string, args ...any)
}

// A Preset is a server that people know by name.
type Preset struct {
	Name     string
	Provider string // openai, anthropic or ollama
	BaseURL  string
	// KeyEnv is the variable that usually holds the key; empty: none is needed.
	KeyEnv string
	Title  string
}

// At reports whether the address is the preset's own; empty: it is.
func (p Preset) At(baseURL string) bool {
	return baseURL == "" || strings.TrimRight(baseURL, "/") == p.BaseURL
}

// address returns the preset's address: for Ollama that of OLLAMA_API_URL, else of
// OLLAMA_HOST, as its own programs read it. getenv may be nil: os.Getenv.
func (p Preset) address(getenv func(string) string) string {
	if p.Name != "ollama" {
		return p.BaseURL
	}
	if getenv == nil {
		getenv = os.Getenv
	}
	for _, name := range []string{"OLLAMA_API_URL", "OLLAMA_HOST"} {
		if base := ollamaURL(getenv(name)); base != "" {
			return base
		}
	}
	return p.BaseURL
}

// ollamaURL returns a value of these variables as an address: http and port 11434 unless
// it says otherwise, and this machine in place of an address that a server listens on.
// "": it is none.
func ollamaURL(value string) string {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	if value == "" {
		return ""
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return ""
	}
	host, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	switch {
	case port != "":
		u.Host = net.JoinHostPort(host, port)
	case u.Scheme == "http":
		u.Host = net.JoinHostPort(host, "11434")
	}
	return strings.TrimRight(u.String(), "/")
}

// Presets lists all presets, in the order in which they are offered.
func Presets() []Preset {
	return []Preset{
		{"ollama", "ollama", ollama.DefaultBaseURL, "", "Ollama"},
		{"lmstudio", "openai", "http://127.0.0.1:1234/v1", "", "LM Studio"},
		{"vllm", "openai", "http://127.0.0.1:8000/v1", "", "vLLM"},
		{"llamacpp", "openai", "http://127.0.0.1:8080/v1", "", "llama.cpp"},
		{"ark", "openai", "https://ark.cn-beijing.volces.com/api/v3", "ARK_API_KEY", "Volcengine Ark (火山方舟)"},
		{"deepseek", "openai", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "DeepSeek"},
		{"qwen", "openai", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "Qwen (阿里云百炼)"},
		{"qwen-intl", "openai", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "Qwen (Alibaba Cloud, Singapore)"},
		{"gemini", "openai", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", "Google Gemini"},
		{"openai", "openai", openai.DefaultBaseURL, "OPENAI_API_KEY", "OpenAI"},
		{"anthropic", "anthropic", anthropic.DefaultBaseURL, "ANTHROPIC_API_KEY", "Anthropic (Claude)"},
	}
}

// PresetByName finds a preset; false: there is none of that name.
func PresetByName(name string) (Preset, bool) {
	all := Presets()
	i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return all[i], true
}

// New makes the model that cfg describes, without talking to its server. An
// error is a *agent.ModelError that says what to set. log may be nil.
func New(cfg Config, log Logger) (agent.Model, error) {
	preset, ok := PresetByName(cfg.Provider)
	if !ok {
		return nil, cfg.fault(agent.ModelBadRequest, tool.Textf("unknown provider %q", cfg.Provider),
			tool.Textf("use one of: %s", strings.Join(names(), ", ")))
	}
	cfg.fill(preset)
	if cfg.wantsKey && cfg.Key == "" && len(cfg.Headers) == 0 {
		e := cfg.fault(agent.ModelAuth, tool.Textf("no key is set"),
			tool.Textf("set %s in the environment or in %s, or key in [models.%s]", cfg.KeyEnv, cmp.Or(cfg.EnvFile, ".env"), cfg.Name))
		e.KeyEnv = cfg.KeyEnv
		return nil, e
	}
	switch preset.Provider {
	case "ollama":
		return made(ollama.New(ollama.Config{Config: cfg.client(log), EmbeddingModel: cfg.EmbeddingModel, Think: cfg.Think, Warn: warn(log)}))
	case "anthropic":
		return made(anthropic.New(cfg.client(log)))
	}
	return made(openai.New(openai.Config{Config: cfg.client(log), EmbeddingModel: cfg.EmbeddingModel}))
}

// Server returns the server of the model as host:port; empty: unknown.
func (c Config) Server() string {
	u, err := url.Parse(c.address())
	switch {
	case err != nil || u.Hostname() == "":
		return ""
	case u.Port() != "":
		return u.Host
	case u.Scheme == "https":
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// address returns BaseURL, or the address of the preset.
func (c Config) address() string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	p, _ := PresetByName(c.Provider)
	return p.address(c.Getenv)
}

// fill adds the settings of presets. A variable is read only for the address of its
// preset: no other server may receive its key.
func (c *Config) fill(p Preset) {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.BaseURL == "" {
		c.BaseURL = p.address(c.Getenv)
	}
	for _, known := range Presets() {
		if known.KeyEnv == "" || !known.At(c.BaseURL) {
			continue
		}
		c.wantsKey = true
		c.KeyEnv = cmp.Or(c.KeyEnv, known.KeyEnv)
		for _, name := range []string{c.KeyEnv, known.KeyEnv} {
			if c.Key == "" {
				c.Key = strings.TrimSpace(c.Getenv(name))
			}
		}
	}
}

// client returns what the clients of all protocols are configured with.
func (c Config) client(log Logger) model.Config {
	return model.Config{
		Name: c.Name, BaseURL: c.BaseURL, Key: c.Key, KeyEnv: c.KeyEnv, EnvFile: c.EnvFile, Model: c.Model, Window: c.Window, KnownWindow: c.KnownWindow(),
		DropsHead: c.DropsHead, NativeTools: c.NativeTools, StartInThought: c.startsInThought(), HTTP: c.HTTP, FirstTimeout: c.FirstTimeout, StallTimeout: c.StallTimeout,
		Retries: c.Retries, RetryBudget: c.RetryBudget, Headers: c.Headers, Extra: c.Extra,
		OnRetry: c.onRetry(log),
	}
}

// warn logs the warnings of an Ollama client; nil: there is no log.
func warn(log Logger) func(ollama.Warning) {
	if log == nil {
		return nil
	}
	return func(w ollama.Warning) {
		log.Warn(w.Text, "model", w.Model, "estimate", w.Estimate, "counted", w.Counted, "window", w.Window)
	}
}

// made returns m as a Model. A nil *Model would be a Model that is not nil.
func made[M agent.Model](m M, err error) (agent.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (c Config) onRetry(log Logger) func(error, time.Duration) {
	if log == nil {
		return nil
	}
	return func(err error, wait time.Duration) {
		log.Warn("asking the model again", "model", c.Name, "wait", wait.Round(time.Millisecond).String(), "error", err.Error())
	}
}

func (c Config) fault(code agent.ModelCode, msg, hint tool.Text) *agent.ModelError {
	return agent.NewModelError(code, c.Name, msg, hint)
}

func names() []string {
	var out []string
	for _, p := range Presets() {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return out
}
