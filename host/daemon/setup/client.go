package setup

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
)

// A Client is what the operator set for the requests of one client program that runs the loop
// itself. It decides how weir answers and what it stores. It never decides which tools,
// scripts and hosts a request may use, nor what needs approval: every program may call
// itself as it likes. WeirTools alone does, and holds for the client's token only.
type Client struct {
	// Name is the client's; empty: the request does not say it.
	Name string
	// Keep says that the messages of passed-through requests are stored.
	Keep bool
	// Fold says that long results of earlier turns become placeholders.
	Fold bool
	// WeirTools says that the model gets weir's tools beside the client's; see Clients.WithTools.
	WeirTools bool
	// Listing is which tools its list over MCP has: auto, all or search; empty: what the
	// user's settings say.
	Listing string
	// Links says that over MCP a link to the whole stands beside a cut result.
	Links bool
	// Structured is StructuredShort if a long structured answer over MCP is shortened, as for
	// programs that give it to a model in place of the text. Empty: StructuredShort for
	// programs that are known to do so.
	Structured string
	// Meta says whether results over MCP have members of weir's in _meta; nil: yes, but for
	// programs that are known to give them to a model.
	Meta *bool
}

// The values of Client.Structured.
const (
	StructuredWhole = "whole"
	StructuredShort = "short"
)

// A Sender is what a request says about the program that sent it.
type Sender struct {
	Token string // the client for which its token was made; empty: none
	Info  string // clientInfo.name of MCP; empty: unknown
	Agent string // the header User-Agent; empty: unknown
}

// Clients are the settings for client programs by their names.
type Clients map[string]Client

// Of returns the settings for the requests of a sender. The first name of the sender
// that is one decides: the token's, that of MCP, the first word of User-Agent. A name
// without settings gets the default ones.
func (c Clients) Of(from Sender) Client {
	for _, text := range []string{from.Token, from.Info, from.Agent} {
		name := firstWord(text)
		if CheckClientName(name) != nil {
			continue
		}
		if _, ok := c[name]; !ok {
			name = programOf(name)
		}
		out, ok := c[name]
		if !ok {
			out = Client{Keep: true}
		}
		if out.Structured == "" && (strings.HasPrefix(name, "mastra") || slices.Contains(showStructured, name)) {
			out.Structured = StructuredShort
		}
		if out.Meta == nil && name == langChain {
			out.Meta = new(false)
		}
		out.Name = name
		return out
	}
	return Client{Keep: true}
}

// WithTools reports whether the model gets weir's tools beside those of the client for which a
// token was made; empty: there is none.
func (c Clients) WithTools(token string) bool {
	return token != "" && c.Of(Sender{Token: token}).WeirTools
}

// langChain is the name of LangChain's adapters: where a result has _meta or a structured answer,
// they give a model JSON that holds both and the text.
const langChain = "langchain"

// showStructured are programs that give a model structured answers in place of texts, or may do
// so: LangChain, @openai/agents, and Mastra, which calls itself what its user calls the server.
var showStructured = []string{langChain, openAIAgents, "weir"}

// openAIAgents is the name here of @openai/agents, which calls itself "streamable-http: URL".
const openAIAgents = "openai-agents"

// firstWord returns a text up to its first "/" or space, in lower case. Of the name of a
// package with a scope, "@scope/package", it is "scope-package".
func firstWord(text string) string {
	text = strings.TrimSpace(text)
	for _, kind := range []string{"streamable-http: ", "sse: ", "stdio: "} {
		if strings.HasPrefix(text, kind) {
			return openAIAgents
		}
	}
	if scope, name, ok := strings.Cut(text, "/"); ok && strings.HasPrefix(scope, "@") {
		text = scope[1:] + "-" + name
	}
	if i := strings.IndexAny(text, "/ \t"); i >= 0 {
		text = text[:i]
	}
	return strings.ToLower(text)
}

// programOf returns the name by which `weir mcp install` and tools.toml call the program that
// says it is word, which programs do in more than one way; else word itself.
func programOf(word string) string {
	for _, p := range [][2]string{
		{"claude-cli", "claude"}, {"claude-code", "claude"},
		{"langchain-", langChain},
		{"codex_", "codex"}, {"codex-", "codex"},
		{"geminicli", "gemini"}, {"gemini-cli", "gemini"},
		{"qwencode", "qwen"}, {"qwen-code", "qwen"}, {"qwen-cli", "qwen"},
	} {
		if strings.HasPrefix(word, p[0]) {
			return p[1]
		}
	}
	return word
}

// clientName matches valid names of clients.
var clientName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`) })

// CheckClientName returns an error if no client can have the name.
func CheckClientName(name string) error {
	if !clientName().MatchString(name) {
		return msg.Errorf("a client's name has 1 to 64 of the characters a-z 0-9 _ . - and begins with a letter or digit; %q does not", api.Clip(name, 80))
	}
	return nil
}
