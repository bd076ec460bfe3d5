// Package wire has what the clients of model servers share: errors with a fix for the
// person who configured the model (Peer), retries that never repeat a delivered answer
// (Policy), streams (Stream), and timeouts for silent servers (Watch).
//
// Nothing that a Peer lists as secret, and no part of an HTTP request, is in an error
// or a log.
package wire

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model"
	"github.com/weirhost/weir/sdk/tool"
)

// Kind is the protocol a Peer speaks; hints differ by it.
type Kind int

// The protocols.
const (
	OpenAI Kind = iota
	Ollama
	Anthropic
)

// A Peer is the server of a model, as errors name it. It is a value; a copy may be
// modified.
type Peer struct {
	Kind Kind
	// Name is the operator's name of the model, Model the provider's.
	Name, Model string
	BaseURL     string
	// KeyEnv is the environment variable that usually holds the key; it may be empty.
	KeyEnv string
	// HasKey reports whether a key is sent.
	HasKey bool
	// Secrets are removed wherever they appear in what the provider says.
	Secrets []string
	// Locale is the language of the errors; empty: English.
	Locale tool.Locale
}

// NewPeer returns the peer that a client of that protocol is configured with.
func NewPeer(kind Kind, c model.Config) Peer {
	return Peer{
		Kind: kind, Name: c.Name, Model: c.Model, BaseURL: c.BaseURL, KeyEnv: c.KeyEnv,
		HasKey: c.Key != "" || len(c.Headers) > 0, Secrets: Secrets(c.Key, c.BaseURL, c.Headers), Locale: c.Locale,
	}
}

// Secrets returns the parts of a configuration that must not be in an error: the key,
// the values of headers, and the password and query of the address.
func Secrets(key, baseURL string, headers map[string]string) []string {
	out := []string{key}
	for _, v := range headers {
		_, bare, _ := strings.Cut(v, " ") // "Bearer x" may be echoed as x
		out = append(out, v, bare)
	}
	if u, err := url.Parse(baseURL); err == nil {
		if pass, ok := u.User.Password(); ok { // which is sent in base64, with the name
			out = append(out, pass, base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+pass)))
		}
		for _, vs := range u.Query() {
			out = append(out, vs...)
		}
	}
	// The longest first, so that a part never leaves the rest after.
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// In returns p with errors in that language; the empty locale changes nothing.
func (p Peer) In(l tool.Locale) Peer {
	if l != "" {
		p.Locale = l
	}
	return p
}

// Check reports faults of the configuration that need no request: of the model, the
// address (example is a valid one), the key, and the extra members of a request, which
// must not have the reserved names.
func (p Peer) Check(example, key string, extra map[string]any, reserved ...string) error {
	u, err := url.Parse(p.BaseURL)
	switch {
	case p.Model == "" && p.Kind == Ollama:
		return p.Error(agent.ModelNotFound, p.Say("no model is named", "未指定模型"),
			p.Say("set model in [models.%s]; ollama list shows the names", "请在 [models.%s] 中设置 model；可用 ollama list 查看名称", p.Name))
	case p.Model == "":
		return p.Error(agent.ModelNotFound, p.Say("no model is named", "未指定模型"),
			p.Say("set model in [models.%s]", "请在 [models.%s] 中设置 model", p.Name))
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return p.Error(agent.ModelBadRequest, p.Say("base_url is not an http or https address", "base_url 不是 http 或 https 地址"),
			p.Say("set base_url in [models.%s], for example %s", "请设置 [models.%s] 的 base_url，例如 %s", p.Name, example))
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return p.Error(agent.ModelAuth, p.Say("the key holds a space or another character that no key has", "密钥中含有空格或其他非法字符"),
			p.Say("copy the key again, without quotes", "请重新复制密钥，不要带引号"))
	}
	for _, k := range reserved {
		if _, ok := extra[k]; ok {
			return p.Error(agent.ModelBadRequest, p.Say("extra may not hold %q", "extra 中不能包含 %q", k), "")
		}
	}
	return nil
}

// Error makes a ModelError of this peer from texts that are already in its language.
func (p Peer) Error(code agent.ModelCode, msg, hint string) *agent.ModelError {
	return &agent.ModelError{Code: code, Model: p.Name, Msg: p.scrub(msg), Hint: p.scrub(hint)}
}

// Say picks the text in the peer's language and formats it.
func (p Peer) Say(en, zh string, args ...any) string {
	if p.Locale == tool.Zh {
		return fmt.Sprintf(zh, args...)
	}
	return fmt.Sprintf(en, args...)
}

// scrub removes secrets, as they are, as a URL would spell them, and in base64.
func (p Peer) scrub(s string) string {
	for _, secret := range p.Secrets {
		if len(secret) < 6 {
			continue // would shred the text; a key this short protects nothing
		}
		s = strings.ReplaceAll(s, secret, "[secret]")
		s = strings.ReplaceAll(s, url.QueryEscape(secret), "[secret]")
		s = strings.ReplaceAll(s, url.PathEscape(secret), "[secret]")
		s = strings.ReplaceAll(s, base64.StdEncoding.EncodeToString([]byte(secret)), "[secret]")
	}
	return s
}

// Where is the base URL without user, password and query.
func (p Peer) Where() string {
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Host == "" {
		return "base_url"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

func (p Peer) host() string {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func (p Peer) ark() bool { return strings.HasSuffix(p.host(), ".volces.com") }

func (p Peer) keyHint() string {
	switch {
	case p.HasKey && p.KeyEnv != "":
		return p.Say("correct %s in the environment or in .env, or key in [models.%s]",
			"请修正环境变量或 .env 中的 %s，或 [models.%s] 的 key", p.KeyEnv, p.Name)
	case p.HasKey:
		return p.Say("correct key in [models.%s]", "请修正 [models.%s] 的 key", p.Name)
	case p.KeyEnv != "":
		return p.Say("set %s in the environment or in .env, or key in [models.%s]",
			"在环境变量或 .env 中设置 %s，或在 [models.%s] 中设置 key", p.KeyEnv, p.Name)
	}
	return p.Say("set key in [models.%s]", "在 [models.%s] 中设置 key", p.Name)
}

func (p Peer) urlHint() string {
	switch {
	case p.Kind == Ollama:
		return p.Say("base_url is %s; it must be the root of an Ollama server, usually http://127.0.0.1:11434",
			"base_url 是 %s；它应为 Ollama 服务的根地址，通常是 http://127.0.0.1:11434", p.Where())
	case p.Kind == Anthropic:
		return p.Say("base_url is %s; it must be the part before /v1/messages, such as https://api.anthropic.com",
			"base_url 是 %s；它应为 /v1/messages 之前的部分，例如 https://api.anthropic.com", p.Where())
	case p.ark():
		return p.Say("base_url is %s; for Ark it must end in /api/v3", "base_url 是 %s；方舟的地址应以 /api/v3 结尾", p.Where())
	}
	return p.Say("base_url is %s; it must be the part before /chat/completions, usually ending in /v1",
		"base_url 是 %s；它应为 /chat/completions 之前的部分，通常以 /v1 结尾", p.Where())
}

func (p Peer) nameHint() string {
	switch {
	case p.Kind == Ollama:
		return p.Say("run: ollama pull %s", "请执行：ollama pull %s", p.Model)
	case p.ark():
		return p.Say("check model in [models.%s]: the id of a model that is activated in the Ark console, or of an endpoint (ep-…)",
			"请检查 [models.%s] 的 model：应为方舟控制台中已开通的模型 ID，或推理接入点 ID（ep-…）", p.Name)
	}
	if p.Kind == Anthropic {
		return p.Say("check model in [models.%s]; the names are listed by GET %s/v1/models",
			"请检查 [models.%s] 的 model；可用名称见 GET %s/v1/models", p.Name, strings.TrimRight(p.Where(), "/"))
	}
	return p.Say("check model in [models.%s]; the names are listed by GET %s/models",
		"请检查 [models.%s] 的 model；可用名称见 GET %s/models", p.Name, strings.TrimRight(p.Where(), "/"))
}
