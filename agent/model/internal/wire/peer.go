// Package wire has what the clients of model servers share: errors with a fix for the
// person who configured the model (Peer), retries that never repeat a delivered answer
// (Policy), streams (Stream), and timeouts for silent servers (Watch).
//
// Nothing that a Peer lists as secret, and no part of an HTTP request, is in an error
// or a log.
package wire

import (
	"cmp"
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
	// EnvFile is the file that may set it.
	KeyEnv, EnvFile string
	// HasKey reports whether a key is sent.
	HasKey bool
	// Secrets are removed wherever they appear in what the provider says.
	Secrets []string

	passing bool
}

// Passing returns the peer for a request that is passed on: its client has the loop, and no
// setting of weir's loop makes a prompt fit.
func (p Peer) Passing() Peer {
	p.passing = true
	return p
}

// NewPeer returns the peer that a client of that protocol is configured with.
func NewPeer(kind Kind, c model.Config) Peer {
	return Peer{
		Kind: kind, Name: c.Name, Model: c.Model, BaseURL: c.BaseURL, KeyEnv: c.KeyEnv, EnvFile: cmp.Or(c.EnvFile, ".env"),
		HasKey: c.Key != "" || len(c.Headers) > 0, Secrets: Secrets(c.Key, c.BaseURL, c.Headers),
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

// Check reports faults of the configuration that need no request: of the model, the
// address (example is a valid one), the key, and the extra members of a request, which
// must not have the reserved names.
func (p Peer) Check(example, key string, extra map[string]any, reserved ...string) error {
	u, err := url.Parse(p.BaseURL)
	switch {
	case p.Model == "" && p.Kind == Ollama:
		return p.Error(agent.ModelNotFound, tool.Textf("no model is named"),
			tool.Textf("set model in [models.%s]; ollama list shows the names", p.Name))
	case p.Model == "":
		return p.Error(agent.ModelNotFound, tool.Textf("no model is named"),
			tool.Textf("set model in [models.%s]", p.Name))
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return p.Error(agent.ModelBadRequest, tool.Textf("base_url is not an http or https address"),
			tool.Textf("set base_url in [models.%s], for example %s", p.Name, example))
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return p.Error(agent.ModelAuth, tool.Textf("the key holds a space or another character that no key has"),
			tool.Textf("copy the key again, without quotes"))
	}
	for _, k := range reserved {
		if _, ok := extra[k]; ok {
			return p.Error(agent.ModelBadRequest, tool.Textf("extra may not hold %q", k), tool.Text{})
		}
	}
	return nil
}

// Error returns a ModelError of this peer, without its secrets. A zero hint means that
// there is no fix.
func (p Peer) Error(code agent.ModelCode, msg, hint tool.Text) *agent.ModelError {
	return agent.NewModelError(code, p.Name, p.scrubText(msg), p.scrubText(hint))
}

// scrubText removes secrets from the arguments of a text.
func (p Peer) scrubText(t tool.Text) tool.Text {
	out := tool.Text{Format: p.scrub(t.Format)}
	for _, a := range t.Args {
		switch v := a.(type) {
		case string:
			a = p.scrub(v)
		case tool.Text:
			a = p.scrubText(v)
		case error:
			a = p.scrub(v.Error())
		case fmt.Stringer:
			a = p.scrub(v.String())
		}
		out.Args = append(out.Args, a)
	}
	return out
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

func (p Peer) keyHint() tool.Text {
	switch {
	case p.HasKey && p.KeyEnv != "":
		return tool.Textf("correct %s in the environment or in %s, or key in [models.%s]", p.KeyEnv, p.EnvFile, p.Name)
	case p.HasKey:
		return tool.Textf("correct key in [models.%s]", p.Name)
	case p.KeyEnv != "":
		return tool.Textf("set %s in the environment or in %s, or key in [models.%s]", p.KeyEnv, p.EnvFile, p.Name)
	}
	return tool.Textf("set key in [models.%s]", p.Name)
}

func (p Peer) urlHint() tool.Text {
	switch {
	case p.Kind == Ollama:
		return tool.Textf("base_url is %s; it must be the root of an Ollama server, usually http://127.0.0.1:11434", p.Where())
	case p.Kind == Anthropic:
		return tool.Textf("base_url is %s; it must be the part before /v1/messages, such as https://api.anthropic.com", p.Where())
	case p.ark():
		return tool.Textf("base_url is %s; for Ark it must end in /api/v3", p.Where())
	}
	return tool.Textf("base_url is %s; it must be the part before /chat/completions, usually ending in /v1", p.Where())
}

func (p Peer) nameHint() tool.Text {
	switch {
	case p.Kind == Ollama:
		return tool.Textf("run: ollama pull %s", p.Model)
	case p.ark():
		return tool.Textf("check model in [models.%s]: the id of a model that is activated in the Ark console, or of an endpoint (ep-…)", p.Name)
	}
	if p.Kind == Anthropic {
		return tool.Textf("check model in [models.%s]; the names are listed by GET %s/v1/models", p.Name, strings.TrimRight(p.Where(), "/"))
	}
	return tool.Textf("check model in [models.%s]; the names are listed by GET %s/models", p.Name, strings.TrimRight(p.Where(), "/"))
}
