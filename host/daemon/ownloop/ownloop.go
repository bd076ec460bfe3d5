// Package ownloop answers clients that run the loop themselves: each request is passed on to
// one model, and its answer back. What comes in is the request's body, what goes out are the
// chunks of the answer; the protocol around them is the caller's. The package owns what
// weir does beside: quotas, the count of tokens, the metrics, the log, and what is stored of a
// request (keep.go). Begin with Service.Answer.
package ownloop

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/adapter"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/agent/passthrough/textcalls"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// A Config is what a Service needs. All fields are required.
type Config struct {
	Setup     *setup.Current
	Admission *turns.Admission
	Meter     *usage.Meter
	Metrics   *telemetry.Metrics
	Keeper    Keeper
	Fold      Fold
	// Host has weir's tools; Calls logs their calls.
	Host   *host.Host
	Calls  *usage.CallLog
	Logger hclog.Logger
	Now    func() time.Time
}

// A Service answers requests. It is safe for concurrent use.
type Service struct {
	Config
	tools textcalls.Cache // of the clients
}

// New returns a Service.
func New(c Config) *Service { return &Service{Config: c} }

// An Ask is one request.
type Ask struct {
	Principal string
	// Model is the name of a configured model.
	Model string
	// Body is the request without weir's own members.
	Body   passthrough.Body
	Locale tool.Locale
	// From says what is known of the program that asks; it decides what is stored.
	From setup.Sender
	// WeirTools says that the model gets weir's tools beside the client's.
	WeirTools bool
	// Label is what the client calls the conversation; empty: unknown. It decides nothing.
	Label string
}

// Answer passes a request on and calls emit for each chunk of the answer, until emit returns
// false. An error before the first chunk is a refusal; one after it means that the answer
// broke off.
func (s *Service) Answer(ctx context.Context, a Ask, emit func(passthrough.Chunk) bool) error {
	view := s.Setup.View(a.Principal)
	if !view.Passes(a.Model) {
		return api.Problemf(http.StatusNotFound, "model_not_found", "GET /v1/models lists them", "there is no model named %q", api.Clip(a.Model, 80))
	}
	account := s.Setup.Account(a.Principal, a.Locale)
	request, err := s.Meter.Begin(ctx, account)
	if err != nil {
		return err
	}
	defer request.End()
	return s.Admission.RunOne(ctx, func(ctx context.Context) error { return s.passToOne(ctx, a, view, account, emit) })
}

// passToOne passes the request on to the model that it names, and to those of its fallback, in
// order, as long as nothing of an answer has come. It stores the request before it returns.
func (s *Service) passToOne(ctx context.Context, a Ask, view setup.View, account usage.Account, emit func(passthrough.Chunk) bool) (err error) {
	begun := false
	var rec *record
	x := s.exchange(ctx, s.record(a, a.Model, view.Models[a.Model]), view, account)
	asked, switched := a.Model, []api.ModelSwitched(nil)
	for _, name := range append([]string{a.Model}, view.PassedFallback(a.Model)...) {
		if err != nil {
			p := api.AsProblem(err)
			s.Metrics.ModelFailed(a.Model, p.Code, "switched")
			switched = append(switched, api.ModelSwitched{From: a.Model, To: name, Code: p.Code, Message: p.Msg, Mode: agent.ModeNative, Window: view.Models[name].Info.Window})
		}
		a.Model = name
		rec = s.record(a, asked, view.Models[name])
		rec.switched = switched
		err = s.pass(ctx, rec, x, view.Models[name], account, func(c passthrough.Chunk) bool {
			begun = true
			return emit(c)
		})
		if begun || !agent.Yields(err) {
			break
		}
	}
	if x != nil {
		s.count(ctx, rec, x)
	}
	kept := s.keep(ctx, rec, err)
	if x != nil {
		x.own.log(kept)
	}
	return err
}

// pass passes the request on and counts it. With an exchange it goes on from what an earlier
// model has called.
func (s *Service) pass(ctx context.Context, rec *record, x *exchange, m setup.Model, account usage.Account, emit func(passthrough.Chunk) bool) error {
	a := rec.ask
	if x != nil {
		a.Body, rec.conversation = x.request(), x.scope.Conversation
	}
	log := s.Logger.With("model", a.Model, "user", a.Principal, "client", rec.client.Name)
	ask := s.asking(ctx, rec, m, usage.Passing{Model: s.modelFor(ctx, m, a.Body), Meter: s.Meter, Account: account, Price: m.Price, Estimator: m.Estimator}, log)
	var err error
	if x == nil {
		err = rec.read(ask(a.Body, &rec.answer), s.Now, emit)
	} else {
		err = rec.read(x.run(ctx, ask), s.Now, func(c passthrough.Chunk) bool {
			rec.answer.Add(c.Data)
			return emit(c)
		})
	}
	if err != nil {
		s.Metrics.ModelFailed(a.Model, api.AsProblem(err).Code, "failed")
		log.Warn("a request that was passed through failed", "error", err)
	}
	return err
}

// An asking sends a request to the model's server, and counts it. What the chunks say is added
// to the answer.
type asking func(b passthrough.Body, answer *passthrough.Answer) iter.Seq2[passthrough.Chunk, error]

// asking returns how the requests of one record are sent: each of them by p.
func (s *Service) asking(ctx context.Context, rec *record, m setup.Model, p usage.Passing, log hclog.Logger) asking {
	p.Used = func(u agent.Usage, c *agent.Cost) {
		rec.spent(u, c)
		s.Metrics.ModelAsked(rec.ask.Model, s.Now().Sub(rec.began))
		s.Metrics.TokensUsed(rec.ask.Model, u, c)
		log.Info("request passed through", "body_bytes", rec.bytes, "prompt_tokens", u.Prompt, "cached_tokens", u.CachedPrompt,
			"completion_tokens", u.Completion, "first_ms", rec.first.Milliseconds(), "elapsed_ms", s.Now().Sub(rec.began).Milliseconds())
	}
	r := passthrough.Request{Window: m.Info.Window, Locale: rec.ask.Locale, Changed: func(t tool.Text) {
		if rec.requests == 1 { // the others begin like it
			rec.changed = append(rec.changed, t)
		}
		log.Info("a request could not be passed on as it was sent", "changed", t.String())
	}}
	return func(b passthrough.Body, answer *passthrough.Answer) iter.Seq2[passthrough.Chunk, error] {
		r, p := r, p
		r.Body, p.Answer = b.Bytes(), answer
		rec.bytes, rec.requests = len(r.Body), rec.requests+1
		return p.Pass(ctx, r)
	}
}

// modelFor returns what passes a request on to a model. One without tool calling of its own
// is told of the client's tools in text.
func (s *Service) modelFor(ctx context.Context, m setup.Model, b passthrough.Body) passthrough.Model {
	p := adapter.Of(m.Model, m.Info.Name)
	if !b.Has("tools") && !bytes.Contains(b.Get("messages"), []byte(`tool_call`)) || callsTools(ctx, m) {
		return p
	}
	return textcalls.New(p, textcalls.Options{
		Name: m.Info.Name, Window: m.Info.Window, StartInThought: m.Info.StartInThought, Estimator: m.Estimator, Cache: &s.tools,
	})
}

// callsTools reports whether a model's own tool calling is to be used: by the operator's word,
// by what was found out, by what the model says of itself; where none of them is known, it is.
func callsTools(ctx context.Context, m setup.Model) bool {
	if m.NativeTools != nil {
		return *m.NativeTools
	}
	if m.Native != nil {
		if works, known := m.Native(ctx); known {
			return works
		}
	}
	return m.Info.NativeTools == nil || *m.Info.NativeTools
}
