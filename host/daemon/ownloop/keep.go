package ownloop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A Keeper stores requests. *store.Store is one.
type Keeper interface {
	// KeepPassed stores a request and its answer, synced to disk, and returns the branch.
	KeepPassed(ctx context.Context, p store.Passed) (store.Branch, error)
}

// keepTime is how long a client waits at most until its request is stored.
const keepTime = 10 * time.Second

// A record is what is known of one request while it is passed on.
type record struct {
	ask     Ask    // its Model is the one that answers
	asked   string // the model that the client has named
	client  setup.Client
	window  int // tokens; 0: unknown
	began   time.Time
	first   time.Duration // until the first chunk
	bytes   int           // of the body
	changed []tool.Text
	answer  passthrough.Answer
	finish  agent.Finish
	// usage and cost are of all requests to the model together.
	usage    agent.Usage
	cost     *agent.Cost
	requests int
	// conversation is where it belongs, if that is known before it is stored.
	conversation string
	switched     []api.ModelSwitched
	inner        []api.TraceCall // of weir's tools, which the client does not see
	gone         bool            // the client has disconnected
}

func (s *Service) record(a Ask, asked string, m setup.Model) *record {
	return &record{ask: a, asked: asked, client: s.Setup.State().Clients.Of(a.From), window: m.Info.Window, began: s.Now()}
}

// spent adds what one request to the model took.
func (r *record) spent(u agent.Usage, c *agent.Cost) {
	r.usage = r.usage.Add(u)
	switch {
	case c == nil:
	case r.cost == nil:
		r.cost = c
	default:
		r.cost = &agent.Cost{Amount: r.cost.Amount + c.Amount, Currency: c.Currency}
	}
}

// keeps reports whether the text of the request may be stored.
func (r *record) keeps() bool { return r.client.Keep && string(r.ask.Body.Get("store")) != "false" }

// read calls emit for each chunk, until it returns false.
func (r *record) read(chunks iter.Seq2[passthrough.Chunk, error], now func() time.Time, emit func(passthrough.Chunk) bool) error {
	for c, err := range chunks {
		if err != nil {
			return err
		}
		if r.first == 0 {
			r.first = now().Sub(r.began)
		}
		if c.Finish != "" {
			r.finish = c.Finish
		}
		if c.Data != nil && !emit(c) {
			r.gone = true
			return nil
		}
	}
	return nil
}

// keep stores the request, if it may be, and returns its conversation; empty: it is not stored.
// What fails here is logged and nothing else: the client has its history and sends it again with
// the next request, which stores what is missing.
func (s *Service) keep(ctx context.Context, r *record, failed error) (conversation string) {
	if !r.keeps() {
		return ""
	}
	h, ok := r.ask.Body.History()
	if !ok || len(h.Messages) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime) // what was said stays said
	defer cancel()
	elapsed := s.Now().Sub(r.began)
	b, err := s.Keeper.KeepPassed(ctx, r.passed(h, elapsed, failed))
	if err != nil {
		s.Logger.Error("a request that was passed through could not be stored", "model", r.ask.Model, "user", r.ask.Principal, "error", err)
		return ""
	}
	return b.ID
}

// passed returns what is stored.
func (r *record) passed(h passthrough.History, elapsed time.Duration, failed error) store.Passed {
	id, _ := uuid.NewV7() // fails only without random numbers, which ends the program
	toolOf := toolsOf(h.Messages)
	p := store.Passed{
		Principal: r.ask.Principal, ID: cmp.Or(r.conversation, id.String()), Client: r.client.Name, Label: r.ask.Label, Model: r.asked, Setting: h.Setting,
		Text: func(i int) store.PassedText { return textOf(h.Messages[i].Stored(toolOf)) },
	}
	if h.SystemDigest != "" {
		p.System = &store.PassedText{Digest: h.SystemDigest, Content: h.System}
	}
	if h.ToolsDigest != "" {
		p.Tools = &store.PassedText{Digest: h.ToolsDigest, Body: h.Tools}
	}
	question, turn := passthrough.Message{}, 0
	for _, m := range h.Messages {
		role := m.StoredRole()
		if role == agent.RoleUser {
			turn++
			question = m
			if p.Title == "" {
				p.Title = turns.Title(nil, typed(m))
			}
		}
		p.Messages = append(p.Messages, store.PassedMessage{Digest: m.Digest, Chain: m.Chain, Role: string(role), Turn: max(turn, 1)})
	}
	turn = max(turn, 1)
	if answer := r.answer.Sent(); failed == nil && !r.gone || r.answer.Text()+r.answer.Reasoning() != "" || len(answer.Calls) > 0 {
		p.AnswerText = textOf(answer.Stored(toolOf))
		p.Answer = &store.PassedMessage{Digest: answer.Digest, Chain: h.Then(answer), Role: string(agent.RoleAssistant), Turn: turn, Model: r.ask.Model, Body: r.mark(failed)}
	}
	reason := r.reason(failed)
	p.Usage = &store.TurnUsage{Turn: turn, Model: r.ask.Model, Reason: string(reason), Duration: elapsed, Prompt: r.usage.Prompt, Completion: r.usage.Completion,
		CachedPrompt: r.usage.CachedPrompt, CacheWrite: r.usage.CacheWrite}
	if r.cost != nil {
		p.Usage.Cost, p.Usage.Currency = &r.cost.Amount, r.cost.Currency
	}
	p.Trace = func(conversation string) *store.Trace {
		t := r.trace(elapsed, failed)
		t.Conversation, t.Turn, t.Question, t.Reason = conversation, turn, api.Clip(turns.FirstLine(typed(question)), 200), reason
		sent := tool.Textf("messages sent: %d, in a request of %d bytes; nothing was left out", len(h.Messages), r.bytes)
		if len(r.changed) > 0 {
			sent = tool.Textf("messages sent: %d, in a request of %d bytes; what was changed:", len(h.Messages), r.bytes)
		}
		t.Notes = append([]tool.Text{sent}, t.Notes...)
		body, err := json.Marshal(t)
		if err != nil {
			return nil
		}
		return &store.Trace{Turn: turn, Created: t.Started, Body: body}
	}
	return p
}

// reason returns why the answer ended.
func (r *record) reason(failed error) agent.Reason {
	switch {
	case r.gone || errors.Is(failed, context.Canceled):
		return agent.ReasonCancelled
	case failed != nil:
		return agent.ReasonModel
	case len(r.answer.Calls()) > 0:
		return agent.ReasonToolCalls
	case r.finish == agent.FinishLength:
		return agent.ReasonLength
	}
	return agent.ReasonAnswer
}

// mark says at an answer that it broke off; nil: it did not.
func (r *record) mark(failed error) json.RawMessage {
	text, hint := tool.Text{}, tool.Text{}
	switch {
	case r.gone || errors.Is(failed, context.Canceled):
		text = tool.Textf("the client disconnected before the answer was complete")
	case failed != nil:
		p := api.AsProblem(failed)
		text, hint = p.Msg, p.Hint
	default:
		return nil
	}
	said := map[tool.Locale]agent.Failure{}
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		said[l] = agent.Failure{Message: msg.In(l, text), Hint: msg.In(l, hint)}
	}
	out, _ := json.Marshal(map[string]any{"remarks": []agent.Remark{{Failed: said}}}) // texts always marshal
	return out
}

// trace returns how the request went.
func (r *record) trace(elapsed time.Duration, failed error) api.Trace {
	round := api.TraceRound{Round: 1, Model: r.ask.Model, Usage: r.usage, FirstMS: r.first.Milliseconds(), ElapsedMS: elapsed.Milliseconds()}
	if failed != nil {
		round.Error = api.AsProblem(failed).Code
	}
	round.Calls = append(round.Calls, r.inner...)
	for _, c := range r.answer.Calls() { // their results are the client's, and not known yet
		round.Calls = append(round.Calls, api.TraceCall{ToolCallStart: api.ToolCallStart{ID: c.ID, Tool: c.Function.Name, Args: json.RawMessage("{}")}, OK: true})
	}
	return api.Trace{
		TraceHead: api.TraceHead{Model: r.ask.Model, Mode: agent.ModeNative, Started: r.began.UTC(), ElapsedMS: elapsed.Milliseconds(), PassedThrough: true, Client: r.client.Name,
			Requests: r.requests, Calls: len(round.Calls), Usage: r.usage, Cost: r.cost},
		Window: r.window, Rounds: []api.TraceRound{round}, Notes: r.changed, Switched: r.switched,
	}
}

// textOf returns what a message says, apart from the rest of it.
func textOf(m agent.Message) store.PassedText {
	out := store.PassedText{Content: m.Text, Thinking: m.Reasoning}
	if len(m.Results) > 0 {
		out.Content = m.Results[0].Text
		m.Results[0].Text = ""
	}
	m.Text, m.Reasoning = "", ""
	out.Body, _ = json.Marshal(m) // arguments are checked
	return out
}

// toolsOf returns a function that names the tool of a call.
func toolsOf(ms []passthrough.Message) func(id string) string {
	var names map[string]string
	return func(id string) string {
		if names == nil {
			names = map[string]string{}
			for _, m := range ms {
				for _, c := range m.Calls {
					names[c.ID] = c.Function.Name
				}
			}
		}
		return names[id]
	}
}

// typed returns what a person says in a message: some clients put reminders in front of it, each a
// part of its own.
func typed(m passthrough.Message) string {
	parts := passthrough.Texts(m.Raw)
	for i := len(parts) - 1; i >= 0; i-- {
		if text := strings.TrimSpace(parts[i]); text != "" && !strings.HasPrefix(text, "<system-reminder>") {
			return text
		}
	}
	return passthrough.Text(m.Raw)
}
