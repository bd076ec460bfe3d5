package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// A turn is one question on its way through the agent.
type turn struct {
	d     *Daemon
	ask   turns.Question
	scope archive.Scope
	quota usage.Quota
	model Model
	prof  Profile
	emit  func(name string, data any)
	title string          // of a new conversation
	spans *telemetry.Turn // nil: no spans

	stored []store.Message // what the store holds, the question included
	// unsaved says that the disk was full when the question came. What of the
	// turn is in the store then is what stored says.
	unsaved bool
	told    map[string]bool   // uuids that the client has received
	format  map[string]string // call id → format
	end     api.ChatEnd
	side    usage.SideUsage
	pace    pacer

	stream    *turns.Stream
	trace     *turns.Trace
	calls     *turns.Calls
	observers turns.Observers
}

// chat is answer, as one request of the principal's.
func (d *Daemon) chat(ctx context.Context, principal string, ask turns.Question, history []agent.Message, emit func(string, any)) (api.ChatEnd, error) {
	end, err := d.begun(ctx, principal, ask.Message)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer end()
	return d.answer(ctx, principal, ask, history, emit)
}

// begun counts a request of a principal's that is over when end is called, or
// refuses it by their quota.
func (d *Daemon) begun(ctx context.Context, principal, question string) (end func(), err error) {
	request, err := d.meter.Begin(ctx, d.account(principal, d.localeFor(principal, question)))
	if err != nil {
		return nil, err
	}
	return request.End, nil
}

// locale is the language of the turn's refusals.
func (t *turn) locale() tool.Locale { return t.d.localeFor(t.scope.Principal, t.ask.Message) }

// answer runs one turn and stores it. emit is called from one goroutine at a
// time. A problem before the turn begins is returned before the first event.
func (d *Daemon) answer(ctx context.Context, principal string, ask turns.Question, history []agent.Message, emit func(string, any)) (api.ChatEnd, error) {
	t, err := d.newTurn(ctx, principal, ask, history, emit)
	if err != nil {
		return api.ChatEnd{}, err
	}
	leave, err := d.enter(t.scope)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer leave()
	ctx, release := d.until(ctx)
	defer release()
	if err := t.unmoved(ctx); err != nil {
		return api.ChatEnd{}, err
	}
	session := d.cfg.Host.Session(host.Principal(principal), t.scope.Conversation)
	if t.ask.Approvals {
		session = session.Asking(asker{t})
	}
	session = session.Reporting(t.progress)
	given, err := t.open(ctx, session, &history)
	if err != nil {
		return api.ChatEnd{}, err
	}
	if len(t.ask.Spoken) == 0 {
		t.ask.Spoken = turns.Visible(history)
	}
	ctx, t.spans = d.set().Tracing.StartTurn(usage.WithSideUsage(ctx, &t.side), telemetry.TurnInfo{
		Peer: peerOf(t.model, t.ask.Model, t.scope.Conversation), Profile: t.ask.Profile, Question: t.ask.Message, Known: d.knows,
	})
	t.observers = t.newObservers()
	loop, err := agent.New(t.prof.Agent, watched{t.metered(), t}, t.tools(toolbox{session, t.prof.Allow, t.prof.Deny}), agent.ObserverFunc(t.observe))
	if err != nil {
		t.spans.End(t.end, err)
		return api.ChatEnd{}, err
	}
	var out agent.Turn
	var runErr error
	if ask.Message == "" {
		out, runErr = loop.Resume(ctx, history, given)
	} else {
		out, runErr = loop.Run(ctx, history, ask.Message)
	}
	runErr = cutOff(ctx, runErr)
	if me, ok := errors.AsType[*agent.ModelError](runErr); ok {
		d.metrics.ModelFailed(t.ask.Model, "model_"+string(me.Code), "failed")
	}
	t.end.Answer, t.end.Reasoning = out.Answer, out.Reasoning
	for _, c := range out.Pending {
		t.end.Pending = append(t.end.Pending, api.ToolCallStart{ID: c.ID, Tool: c.Tool, Args: c.Args, Format: t.format[c.ID]})
	}
	// What happened is stored even when the client has gone.
	if err := t.store(context.WithoutCancel(ctx), out, len(history)); err != nil {
		d.log.Error("the turn could not be stored", "conversation", t.scope.Conversation, "error", err)
		t.end.Unsaved = true
		if !errors.Is(err, archive.ErrFull) {
			runErr = errors.Join(runErr, archive.ErrFull)
		}
	}
	t.spans.End(t.end, runErr)
	return t.end, runErr
}

func (d *Daemon) newTurn(ctx context.Context, principal string, ask turns.Question, history []agent.Message, emit func(string, any)) (*turn, error) {
	if strings.TrimSpace(ask.Message) == "" && len(ask.Answers) == 0 {
		return nil, api.Problemf(http.StatusBadRequest, "empty", `send {"message": "…"}`, "there is no question")
	}
	if err := checkConversation(ask.Conversation); err != nil {
		return nil, err
	}
	if err := d.ownID(principal, ask.Conversation); err != nil {
		return nil, err
	}
	set := d.view(principal)
	if ask.Profile == "" {
		ask.Profile = set.first
	}
	prof, ok := set.Profiles[ask.Profile]
	if !ok {
		return nil, api.Problemf(http.StatusBadRequest, "unknown_profile", "`weir config show` lists them", "there is no profile named %q", api.Clip(ask.Profile, 80))
	}
	if ask.Model == "" {
		ask.Model = prof.Model
	}
	m, ok := set.Models[ask.Model]
	if !ok {
		return nil, api.Problemf(http.StatusBadRequest, "unknown_model", "`weir model list` lists them", "there is no model named %q", api.Clip(ask.Model, 80))
	}
	prof.Agent.Window, prof.Agent.Estimator, prof.Agent.Tools = m.Info.Window, m.Estimator, &d.tools
	prof.Agent.Mode = d.mode(ctx, ask.Model, m, prof.Agent)
	prof.Agent.SystemExtra = strings.TrimSpace(prof.Agent.SystemExtra + "\n\n" + ask.System)
	ask.Options.Apply(&prof.Agent)
	prof.Agent.Explain = ask.Explain
	t := &turn{d: d, ask: ask, quota: set.User.quota(), model: m, prof: prof, emit: oneAtATime(emit), told: map[string]bool{}, format: map[string]string{}}
	t.title = turns.Title(history, ask.Message)
	if err := t.checkTools(); err != nil {
		return nil, err
	}
	t.scope = archive.Scope{Principal: principal, Conversation: ask.Conversation}
	if t.scope.Conversation == "" {
		t.scope.Conversation = uuid.Must(uuid.NewV7()).String() // ordered by time, so that the store's indexes grow at one end
	}
	t.calls = &turns.Calls{Scope: t.scope, Model: ask.Model, Turn: func() int { return lastStoredTurn(t.stored) }, Now: d.now}
	if err := t.preload(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// open reads the stored conversation and saves the question before the model
// is asked, if it can be. A history given by the client (of /v1) is stored first,
// once. It returns the results that the client brings, if that is all it brings.
func (t *turn) open(ctx context.Context, session *host.Session, history *[]agent.Message) ([]tool.Result, error) {
	stored, err := t.messages(ctx)
	if err != nil {
		return nil, err
	}
	var add []agent.Message
	if len(stored) == 0 {
		add = *history
	} else if *history, err = messagesOf(stored); err != nil {
		return nil, err
	}
	given, err := t.given(ctx, session, *history)
	if err != nil {
		return nil, err
	}
	if t.ask.Message != "" {
		if len(given) > 0 {
			results := t.tell(given, lastTurn(*history))
			add, *history = append(add, results), append(*history, results)
			given = nil
		}
		add = append(add, agent.Message{Role: agent.RoleUser, Text: t.ask.Message, Turn: lastTurn(*history) + 1, At: t.d.now()})
	}
	t.stored = stored
	return given, t.save(ctx, add)
}

// messages reads the stored conversation. Of one that is not there, or is another
// principal's, there are none; save tells the two apart.
func (t *turn) messages(ctx context.Context) ([]store.Message, error) {
	if t.ask.Conversation == "" {
		return nil, nil
	}
	stored, err := t.d.store.Messages(ctx, t.scope)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return stored, err
}

// save appends what the turn begins with.
func (t *turn) save(ctx context.Context, add []agent.Message) error {
	if len(add) == 0 {
		return nil
	}
	rows := t.rows(add)
	err := t.d.store.Begin(ctx, t.conversation(), rows)
	if errors.Is(err, archive.ErrFull) { // to answer without a memory of it is better than not to answer
		t.d.log.Error("the question could not be saved", "conversation", t.scope.Conversation, "error", err)
		t.unsaved = true
		return nil
	}
	t.stored = append(t.stored, rows...)
	return err
}

func (t *turn) conversation() store.Conversation {
	return store.Conversation{ID: t.scope.Conversation, Principal: t.scope.Principal, Profile: t.ask.Profile, Title: t.title}
}

// store writes the outcome of the turn in one commit: the new and changed messages, the
// call log, and the fingerprints of the conversation. It deletes archived results without
// a reference: the conversation itself contains their full text.
func (t *turn) store(ctx context.Context, out agent.Turn, had int) error {
	from := min(out.From, had, len(t.stored))
	if from == had && len(t.stored) > had && out.Messages[had].Role == agent.RoleUser {
		from++ // the store has the question already
	}
	unnamed := t.unrefer(out.Messages) // which changes messages and uses
	change := store.Turn{Trace: t.traced(), Messages: t.rows(out.Messages[from:]), Orphans: unnamed, Calls: t.calls.Rows, Fingerprints: t.marks(out), Usage: t.sums(out)}
	if from < len(t.stored) {
		change.From = t.stored[from].Seq
	}
	if t.unsaved { // there may be room again
		if err := t.d.store.Begin(ctx, t.conversation(), nil); err != nil {
			return err
		}
	}
	return t.d.store.Finish(ctx, t.scope, change)
}

// sums are what the turn took.
func (t *turn) sums(out agent.Turn) *store.TurnUsage {
	u := t.end.Usage
	s := &store.TurnUsage{
		Turn: lastTurn(out.Messages), Model: t.ask.Model, Reason: string(t.end.Reason), Duration: time.Duration(t.end.ElapsedMS) * time.Millisecond,
		Prompt: u.Prompt, Completion: u.Completion, CachedPrompt: u.CachedPrompt, CacheWrite: u.CacheWrite,
	}
	if c := t.end.Cost; c != nil {
		s.Cost, s.Currency = &c.Amount, c.Currency
	}
	return s
}

// rows gives messages their stored form.
func (t *turn) rows(ms []agent.Message) []store.Message {
	out := make([]store.Message, len(ms))
	for i, m := range ms {
		body, err := json.Marshal(m)
		if err != nil { // plain data: only broken raw arguments can do this
			t.d.log.Error("a message could not be written", "role", m.Role, "error", err)
		}
		out[i] = store.Message{Turn: m.Turn, Role: string(m.Role), Content: content(m), Thinking: m.Reasoning, Model: m.Model, Body: body, Created: m.At}
	}
	return out
}

func content(m agent.Message) string {
	if m.Role != agent.RoleResults {
		return m.Text
	}
	var b strings.Builder
	for _, e := range m.Results {
		b.WriteString(e.Tool + ":\n" + e.Text + "\n")
	}
	return b.String()
}

func messagesOf(rows []store.Message) ([]agent.Message, error) {
	out := make([]agent.Message, len(rows))
	for i, r := range rows {
		if err := json.Unmarshal(r.Body, &out[i]); err != nil {
			return nil, api.Problemf(http.StatusInternalServerError, "storage", "begin a new conversation", "message %d of this conversation cannot be read", i+1)
		}
	}
	return out, nil
}

func lastTurn(ms []agent.Message) int {
	if len(ms) == 0 {
		return 0
	}
	return ms[len(ms)-1].Turn
}

func lastStoredTurn(rows []store.Message) int {
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].Turn
}
