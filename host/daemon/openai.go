package daemon

import (
	"context"
	"net/http"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/ownloop"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/turns"
)

// completions has the routes of OpenAI's protocol.
type completions struct{ server *openai.Server }

func (c *completions) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "POST", Path: "/v1/chat/completions",
			Auth: openapi.Client, Handle: c.completions,
			About:   "OpenAI's protocol: answer the last messages. If model names a configured model, the request is passed through, and the answer has the form that the model's server gives it",
			Headers: map[string]string{"X-Weir-Conversation": "the conversation that goes on; the answer's header names it"},
			Takes:   openai.CompletionBody{},
			Needs:   []string{"messages"},
			Loose:   true,
			Gives:   openai.Completion{},
			Kind:    kindStream,
			Fails:   []int{404, 409, 429, 502, 503, 507},
		},
		{
			Method: "GET", Path: "/v1/models",
			Auth: openapi.Client, Handle: c.completionModels,
			About: "OpenAI's protocol: what a request can name as its model",
			Gives: openai.ModelList{},
		},
		{
			Method: "GET", Path: "/v1/models/{id...}",
			Auth: openapi.Client, Handle: c.completionModel,
			About: "OpenAI's protocol: one of them",
			Gives: openai.ModelRow{},
			Fails: []int{404},
		},
	}
}

func (c *completions) completions(w http.ResponseWriter, r *http.Request) error {
	return c.server.Completions(access.Principal(r), access.Client(r), params.Language(r), w, r)
}

func (c *completions) completionModels(w http.ResponseWriter, r *http.Request) error {
	return c.server.Models(access.Principal(r), w, r)
}

func (c *completions) completionModel(w http.ResponseWriter, r *http.Request) error {
	return c.server.Model(access.Principal(r), r.PathValue("id"), w, r)
}

// completionBackend answers the questions of OpenAI's protocol.
type completionBackend struct {
	turns   *turns.Service
	ownloop *ownloop.Service
	current *setup.Current
}

// Ask implements openai.Backend.
func (b completionBackend) Ask(ctx context.Context, principal string, q turns.Question, history []agent.Message, emit func(string, any)) (api.ChatEnd, error) {
	return b.turns.Ask(ctx, principal, q, history, emit)
}

// Pass implements openai.Backend.
func (b completionBackend) Pass(ctx context.Context, a ownloop.Ask, emit func(passthrough.Chunk) bool) error {
	return b.ownloop.Answer(ctx, a, emit)
}

// Windows implements openai.Backend.
func (b completionBackend) Windows(ctx context.Context, principal string) map[string]int {
	return b.current.View(principal).Windows(ctx)
}

// Names implements openai.Backend.
func (b completionBackend) Names(principal string) openai.Names {
	v := b.current.View(principal)
	out := openai.Names{Default: v.First, Profiles: map[string]string{}, Models: map[string]bool{}, Passed: map[string]bool{}}
	for name, p := range v.Profiles {
		out.Profiles[name] = p.Model
	}
	for name, m := range v.Models {
		out.Models[name] = m.Info.Simulated
		if v.Passes(name) {
			out.Passed[name] = true
		}
	}
	return out
}
