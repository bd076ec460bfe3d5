package daemon

import (
	"context"
	"net/http"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/turns"
)

func (d *Daemon) completions(w http.ResponseWriter, r *http.Request) error {
	return d.openai.Completions(d.principal(r), localeOf(r), w, r)
}

func (d *Daemon) completionModels(w http.ResponseWriter, r *http.Request) error {
	return d.openai.Models(d.principal(r), w)
}

func (d *Daemon) completionModel(w http.ResponseWriter, r *http.Request) error {
	return d.openai.Model(d.principal(r), r.PathValue("id"), w)
}

// completionBackend answers the questions of OpenAI's protocol.
type completionBackend struct{ d *Daemon }

// Ask implements openai.Backend.
func (b completionBackend) Ask(ctx context.Context, principal string, q turns.Question, history []agent.Message, emit func(string, any)) (api.ChatEnd, error) {
	return b.d.turns.Ask(ctx, principal, q, history, emit)
}

// Names implements openai.Backend.
func (b completionBackend) Names(principal string) openai.Names {
	v := b.d.current.View(principal)
	out := openai.Names{Default: v.First, Profiles: map[string]string{}, Models: map[string]bool{}}
	for name, p := range v.Profiles {
		out.Profiles[name] = p.Model
	}
	for name, m := range v.Models {
		out.Models[name] = m.Info.Simulated
	}
	return out
}
