package openai

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/ownloop"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// DefaultModel is the protocol's name for the default profile.
const DefaultModel = "weir"

// A Backend answers questions.
type Backend interface {
	// Ask runs one turn. history are the messages before the question; a conversation
	// with the same messages continues if the question names none. emit receives the
	// events of /api/chat, one at a time.
	Ask(ctx context.Context, principal string, q turns.Question, history []agent.Message, emit func(name string, data any)) (api.ChatEnd, error)
	// Pass passes a request on to a configured model, for a client with a loop of its own. It
	// calls emit for each chunk of the answer. An error before the first chunk is a refusal.
	Pass(ctx context.Context, a ownloop.Ask, emit func(passthrough.Chunk) bool) error
	// Names returns the profiles and models that a principal may use.
	Names(principal string) Names
	// Windows returns the context windows of these models, in tokens; 0: unknown.
	Windows(ctx context.Context, principal string) map[string]int
}

// Names are the profiles and models that a principal may use.
type Names struct {
	// Default is the profile of requests that name none.
	Default string
	// Profiles are the models of the profiles, by the profiles' names.
	Profiles map[string]string
	// Models says of each model whether it only simulates an AI.
	Models map[string]bool
	// Passed are the models to which requests can be passed through.
	Passed map[string]bool
}

// A Config is what a Server needs. All fields are required.
type Config struct {
	Backend Backend
	// Created is the date of all models.
	Created time.Time
	Now     func() time.Time
	// Heartbeat is the longest silence of a stream.
	Heartbeat func() time.Duration
	// WeirTools reports whether the model gets weir's tools beside the client's, where the
	// request does not say so. client is the program for which its token was made; empty: none.
	WeirTools func(client string) bool
}

// A Server handles the routes of the protocol. It is safe for concurrent use.
type Server struct{ cfg Config }

// New returns a Server.
func New(cfg Config) *Server { return &Server{cfg} }

// Completions answers POST /v1/chat/completions. The header X-Weir-Conversation or
// metadata.conversation_id names a stored conversation. client is the program for which the
// token of the request was made, if it was for one; l is the language of errors in a stream.
func (s *Server) Completions(principal, client string, l tool.Locale, w http.ResponseWriter, r *http.Request) error {
	raw, err := httpjson.ReadWhole(w, r, maxPassed)
	if err != nil {
		return err
	}
	b, err := readBody(raw)
	if model, ok := s.cfg.Backend.Names(principal).configured(word(b.Get("model"))); ok {
		if err != nil {
			return passedProblem(err)
		}
		return s.pass(w, r, b, ownloop.Ask{Principal: principal, Model: model, Locale: l, From: setup.Sender{Token: client}})
	}
	if len(raw) > httpjson.MaxBody {
		return httpjson.Problem(&http.MaxBytesError{Limit: httpjson.MaxBody})
	}
	var body CompletionBody
	if err := httpjson.DecodeLoose(raw, &body); err != nil {
		return err
	}
	if body.WeirTools == nil && len(body.Tools) > 0 && s.cfg.WeirTools(client) {
		body.WeirTools = new(true)
	}
	q, history, err := s.question(principal, r, body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	c := &completion{
		id: "chatcmpl-" + uuid.NewString(), created: s.cfg.Now().Unix(), model: body.Model, stream: body.Stream, usage: body.Options.Usage,
		w: w, gone: cancel, locale: l, json: q.Options.Format != nil,
	}
	for _, t := range q.Options.Tools {
		c.own = append(c.own, t.Name)
	}
	c.model, c.asked = cmp.Or(c.model, q.Model), q.Model
	defer c.keepAlive(s.cfg.Heartbeat())()
	return c.finish(s.cfg.Backend.Ask(ctx, principal, q, history, c.observe))
}

// question splits a request into the question and the history before it.
func (s *Server) question(principal string, r *http.Request, body CompletionBody) (turns.Question, []agent.Message, error) {
	q := turns.Question{Ask: api.Ask{Conversation: r.Header.Get("X-Weir-Conversation")}}
	q.Conversation = cmp.Or(q.Conversation, body.Metadata["conversation_id"])
	if err := s.cfg.Backend.Names(principal).resolve(&q, body.Model); err != nil {
		return q, nil, err
	}
	var err error
	if q.Options, err = body.options(); err != nil {
		return q, nil, err
	}
	m, err := readMessages(body.Messages, s.cfg.Now)
	if err != nil {
		return q, nil, err
	}
	q.System, q.Spoken, q.Answers, q.Before, q.Message = m.system, m.spoken, m.answers, m.before, m.question
	return q, m.history, nil
}

// resolve sets the profile and model of a question. name is a profile or DefaultModel.
func (n Names) resolve(q *turns.Question, name string) error {
	if _, ok := n.Profiles[name]; ok {
		q.Profile = name
	} else if name != "" && name != DefaultModel {
		return unknownModel(name)
	}
	q.Profile = cmp.Or(q.Profile, n.Default)
	q.Model = n.Profiles[q.Profile]
	return nil
}

// passedPrefix is in front of the names of models that a profile hides.
const passedPrefix = "model:"

// configured returns the configured model to which requests with a name are passed through;
// false: the name is a profile's, or nobody's. A profile wins over a model of the same name.
func (n Names) configured(name string) (string, bool) {
	if _, ok := n.Profiles[name]; ok || name == DefaultModel {
		return "", false
	}
	model := name
	if rest, ok := strings.CutPrefix(name, passedPrefix); ok {
		model = rest
	}
	return model, n.Passed[model]
}

func unknownModel(name string) *api.Problem {
	p := api.Problemf(http.StatusNotFound, "model_not_found", "GET /v1/models lists them", "there is no model named %q", api.Clip(name, 80))
	p.Param = "model"
	return p
}

// A ModelRow is one value of a request's model.
type ModelRow struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // seconds since 1970
	OwnedBy string `json:"owned_by"`
	// Profile says that the ID is a profile's, with weir's loop; else requests are passed
	// through. Model says which configured model answers, Simulated that it is not an AI.
	Profile   bool   `json:"profile"`
	Model     string `json:"model"`
	Simulated bool   `json:"simulated"`
	// Window is the model's context window, in tokens; 0, which is left out: unknown.
	Window int `json:"context_length,omitempty"`
}

// A ModelList is the answer of GET /v1/models.
type ModelList struct {
	Object string     `json:"object"`
	Data   []ModelRow `json:"data"`
}

// rows lists the profiles, the default one first, and then the models. The name of a model
// that a profile hides has passedPrefix.
func (s *Server) rows(ctx context.Context, principal string) []ModelRow {
	names, windows := s.cfg.Backend.Names(principal), s.cfg.Backend.Windows(ctx, principal)
	row := func(id, model string, profile bool) ModelRow {
		return ModelRow{id, "model", s.cfg.Created.Unix(), "weir", profile, model, names.Models[model], windows[model]}
	}
	rows := []ModelRow{}
	if model, ok := names.Profiles[names.Default]; ok {
		rows = append(rows, row(DefaultModel, model, true))
	}
	for _, name := range slices.Sorted(maps.Keys(names.Profiles)) {
		if name != "default" && name != DefaultModel {
			rows = append(rows, row(name, names.Profiles[name], true))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names.Passed)) {
		id := name
		if _, ok := names.configured(name); !ok {
			id = passedPrefix + name
		}
		rows = append(rows, row(id, name, false))
	}
	return rows
}

// Models answers GET /v1/models.
func (s *Server) Models(principal string, w http.ResponseWriter, r *http.Request) error {
	return httpjson.Answer(w, ModelList{"list", s.rows(r.Context(), principal)})
}

// Model answers GET /v1/models/{id}.
func (s *Server) Model(principal, id string, w http.ResponseWriter, r *http.Request) error {
	for _, row := range s.rows(r.Context(), principal) {
		if row.ID == id {
			return httpjson.Answer(w, row)
		}
	}
	return unknownModel(id)
}

// Speaks reports whether a request speaks OpenAI's protocol and expects errors in its
// form. A client with a base URL without /v1 does too.
func Speaks(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/chat/completions" || r.URL.Path == "/models"
}
