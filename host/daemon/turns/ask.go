package turns

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// Ask runs one turn and stores it. A question that names no conversation continues the
// one whose messages equal those that the client sent before the question, and begins a
// new one where there is none, or where it is answering somebody else. history are the
// messages of a client of /v1, for a conversation that is not stored yet.
//
// emit receives the events, one at a time. A problem before the turn begins is returned
// before the first event. A panic becomes an error, so that the stream has an end, and a
// turn that runs outside of a request does not end the daemon.
func (s *Service) Ask(ctx context.Context, principal string, ask Question, history []agent.Message, emit func(name string, data any)) (end api.ChatEnd, err error) {
	defer s.recovered(&end, &err)
	ask = ask.composed()
	ask.brought = ask.Options != nil && ask.Conversation == ""
	done, err := s.Begin(ctx, principal, ask.Message)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer done()
	if ask.Conversation == "" {
		ask.Mark = MarkOf(ask.Spoken)
		for _, id := range s.matching(ctx, principal, ask.Mark) {
			ask.Conversation = id
			end, err := s.answer(ctx, principal, ask, history, emit)
			var p *api.Problem
			if !errors.As(err, &p) || p.Code != api.CodeBusy {
				return end, err
			}
		}
		ask.Conversation, ask.Mark = "", ""
	}
	end, err = s.answer(ctx, principal, ask, history, emit)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == api.CodeBusy && s.freed(ctx, ask.Conversation) {
		return s.answer(ctx, principal, ask, history, emit)
	}
	return end, err
}

// answer runs one turn and stores it. emit is called from one goroutine at a
// time. A problem before the turn begins is returned before the first event.
func (s *Service) answer(ctx context.Context, principal string, ask Question, history []agent.Message, emit func(string, any)) (api.ChatEnd, error) {
	if strings.TrimSpace(ask.Message) == "" && len(ask.Answers) == 0 {
		return api.ChatEnd{}, api.Problemf(http.StatusBadRequest, "empty", `send {"message": "…"}`, "there is no question")
	}
	ctx = agent.OnePatience(ctx)
	t, err := s.newTurn(ctx, principal, ask, history, emit)
	if err != nil {
		return api.ChatEnd{}, err
	}
	leave, err := s.Admission.Enter(t.scope)
	if err != nil {
		return api.ChatEnd{}, err
	}
	defer leave()
	if t.run, err = t.lasts(); err != nil {
		return api.ChatEnd{}, err
	}
	if ask.Message == "" {
		return t.resume(ctx, history)
	}
	return t.answer(ctx, history)
}

// maxWithout bounds the tools that a question does without.
const maxWithout = 1000

func (s *Service) newTurn(ctx context.Context, principal string, ask Question, history []agent.Message, emit func(string, any)) (*turn, error) {
	began := s.Now()
	err := s.CheckConversation(principal, ask.Conversation)
	if err != nil {
		return nil, err
	}
	if err = CheckThread(ask.Thread); err != nil {
		return nil, err
	}
	set := s.Setup.View(principal)
	if ask.Profile == "" {
		if ask.Profile, err = s.profileOf(ctx, principal, ask.Conversation, set); err != nil {
			return nil, err
		}
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
		p := api.Problemf(http.StatusBadRequest, "unknown_model", "", "there is no model named %q", api.Clip(ask.Model, 80))
		p.Hint = tool.Textf("use one of: %s; a new one in tools.toml needs `weir reload`", strings.Join(slices.Sorted(maps.Keys(set.Models)), ", "))
		return nil, p
	}
	own := prof.Agent
	prof.Agent.Window, prof.Agent.Estimator, prof.Agent.Tools = m.Info.Window, m.Estimator, &s.tools
	prof.Agent.SystemExtra = strings.TrimSpace(prof.Agent.SystemExtra + "\n\n" + ask.System)
	if ask.Options != nil {
		ask.Options.apply(&prof.Agent)
	}
	if ask.brought {
		prof.Agent.MemoryLimit = -1 // the history is the client's: the window alone decides
	}
	prof.Agent.Typed = ask.typed
	prof.Agent.Explain, prof.Agent.Raw = ask.Explain, s.Logger.IsTrace()
	if len(ask.Without) > maxWithout {
		return nil, api.Problemf(http.StatusBadRequest, api.CodeBadBody, "make a profile with the tools of these questions", "without names %d tools, at most %d are possible", len(ask.Without), maxWithout)
	}
	prof.Deny = slices.Concat(prof.Deny, ask.Without)
	t := &turn{s: s, ask: ask, began: began, quota: set.User.OwnQuota(), model: m, prof: prof}
	t.emit, t.format = oneAtATime(emit), map[string]string{}
	t.choose(set, own)
	t.title = Title(history, ask.Message)
	if err = t.checkTools(); err != nil {
		return nil, err
	}
	t.scope = archive.Scope{Principal: principal, Conversation: ask.Conversation}
	if t.scope.Conversation == "" {
		t.scope.Conversation = uuid.Must(uuid.NewV7()).String() // ordered by time, so that the store's indexes grow at one end
	}
	t.calls = &Calls{Scope: t.scope, Model: ask.Model, Turn: func() int { return lastRow(t.stored).Turn }, Now: s.Now}
	if err = t.preload(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// profileOf returns the profile of a question that names none: that of its
// conversation, or the principal's first if the conversation is new, or if its profile
// is not configured any more.
func (s *Service) profileOf(ctx context.Context, principal, conversation string, set setup.View) (string, error) {
	if conversation == "" {
		return set.First, nil
	}
	c, err := s.Store.Conversation(ctx, archive.Scope{Principal: principal, Conversation: conversation})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	if _, ok := set.Profiles[c.Profile]; ok {
		return c.Profile, nil
	}
	return set.First, nil
}
