package daemon

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
)

// completions speaks OpenAI's protocol. The protocol has no conversations: the
// header X-Weir-Conversation or metadata.conversation_id names a stored one;
// without either, the one with the messages that were sent goes on, or else
// they begin a new one.
func (d *Daemon) completions(w http.ResponseWriter, r *http.Request) error {
	var body CompletionBody
	if err := sentAsJSON(r); err != nil {
		return err
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8<<20))
	if err := dec.Decode(&body); err != nil {
		return bodyProblem(err)
	}
	ask, history, err := d.completionAsk(r, body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &completion{id: "chatcmpl-" + uuid.NewString(), created: d.now().Unix(), model: body.Model, stream: body.Stream, usage: body.Options.Usage, w: w, gone: cancel, render: func(p *api.Problem) *api.Problem { return d.render(localeOf(r), p) }}
	if c.model == "" {
		c.model = ask.Model
	}
	defer c.keepAlive(d.beat)()
	end, err := d.guarded(func() (api.ChatEnd, error) { return d.chatMatched(ctx, d.principal(r), ask, history, c.observe) })
	return c.finish(end, err)
}

// completionAsk splits the request into what is to be answered and what came
// before it.
func (d *Daemon) completionAsk(r *http.Request, body CompletionBody) (question, []agent.Message, error) {
	ask := question{Ask: api.Ask{Conversation: r.Header.Get("X-Weir-Conversation")}}
	if ask.Conversation == "" {
		ask.Conversation = body.Metadata["conversation_id"]
	}
	if err := nameModel(d.view(d.principal(r)), &ask, body.Model); err != nil {
		return ask, nil, err
	}
	var err error
	if ask.wish, err = body.wish(); err != nil {
		return ask, nil, err
	}
	t, err := d.readTalk(body.Messages)
	if err != nil {
		return ask, nil, err
	}
	ask.system, ask.spoken, ask.answers, ask.Message = t.system, t.spoken, t.answers, t.question
	return ask, t.history, nil
}

// nameModel understands a model's name, a profile's name, or "weir" for the
// default profile.
func nameModel(v view, ask *question, name string) error {
	if _, ok := v.Profiles[name]; ok {
		ask.Profile = name
	} else if _, ok := v.Models[name]; ok {
		ask.Model = name
	} else if name != "" && name != defaultModel {
		return noModel(name)
	}
	if ask.Profile == "" {
		ask.Profile = v.first
	}
	if ask.Model == "" {
		ask.Model = v.Profiles[ask.Profile].Model
	}
	return nil
}

// defaultModel is what /v1 calls the default profile.
const (
	defaultModel   = "weir"
	defaultProfile = "default"
)

func noModel(name string) *api.Problem {
	p := api.Problemf(http.StatusNotFound, "model_not_found", "GET /v1/models lists them", "there is no model named %q", api.Clip(name, 80))
	p.Param = "model"
	return p
}

// A ModelRow is one name that a request to /v1 can give as its model.
type ModelRow struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // seconds since 1970
	OwnedBy string `json:"owned_by"`
	// Profile says that the name is a profile's, Model which configured model it
	// asks, Simulated that it is not an AI.
	Profile   bool   `json:"profile"`
	Model     string `json:"model"`
	Simulated bool   `json:"simulated"`
}

// completionNames lists the profiles, the default one first, and the models. Of
// a profile and a model of one name the profile is meant.
func (d *Daemon) completionNames(principal string) []ModelRow {
	set := d.view(principal)
	row := func(id, model string, profile bool) ModelRow {
		return ModelRow{id, "model", d.start.Unix(), "weir", profile, model, set.Models[model].Info.Simulated}
	}
	rows := []ModelRow{}
	if p, ok := set.Profiles[set.first]; ok {
		rows = append(rows, row(defaultModel, p.Model, true))
	}
	for _, name := range slices.Sorted(maps.Keys(set.Profiles)) {
		if name != defaultProfile && name != defaultModel {
			rows = append(rows, row(name, set.Profiles[name].Model, true))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set.Models)) {
		if _, taken := set.Profiles[name]; !taken && name != defaultModel {
			rows = append(rows, row(name, name, false))
		}
	}
	return rows
}

// ModelList is what GET /v1/models answers.
type ModelList struct {
	Object string     `json:"object"`
	Data   []ModelRow `json:"data"`
}

func (d *Daemon) completionModels(w http.ResponseWriter, r *http.Request) error {
	writeJSON(w, http.StatusOK, ModelList{"list", d.completionNames(d.principal(r))})
	return nil
}

func (d *Daemon) completionModel(w http.ResponseWriter, r *http.Request) error {
	for _, row := range d.completionNames(d.principal(r)) {
		if row.ID == r.PathValue("id") {
			writeJSON(w, http.StatusOK, row)
			return nil
		}
	}
	return noModel(r.PathValue("id"))
}

// inOpenAI reports whether a request speaks OpenAI's protocol, so that errors
// of it do too: also one whose client was given a base URL without /v1.
func inOpenAI(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/chat/completions" || r.URL.Path == "/models"
}
