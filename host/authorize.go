package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/internal/tooluse"
	"github.com/weirhost/weir/sdk/tool"
)

// ByPerson returns the same session for calls that a person makes. The person has
// decided already: only a rule that denies stops a call. The calls of every other
// session are a model's or another program's.
func (s *Session) ByPerson() *Session {
	return s.with(func(out *Session) { out.person = true })
}

// Asking returns the same session with another Approver than Config.Approve. If
// nil, no person is available.
func (s *Session) Asking(a approval.Approver) *Session {
	return s.with(func(out *Session) { out.approver = a })
}

// Names is Host.Names.
func (s *Session) Names(name string) toolname.Names { return s.h.Names(name) }

// MayAsk reports whether calls of a tool could need a person's approval. It
// returns false for an unknown tool.
func (s *Session) MayAsk(name string) bool {
	t := s.h.current.Load().Tools[name]
	return t != nil && !s.person && s.h.settings.Load().rules.MayAsk(t.Subject())
}

// authorize decides whether a call runs. The error is what the model reads if it
// does not. The approval is nil when there was nothing to decide.
func (s *Session) authorize(ctx context.Context, t *snapshot.Tool, c tool.Call, args map[string]any, input json.RawMessage) (*tool.Approval, *tool.Error) {
	gate := approval.Gate{
		Rules: s.h.settings.Load().rules, Memory: &s.h.memory, Approver: s.approver, Exposure: exposure{s}, Person: s.person, Across: s.sharesArchive(),
		Principal: string(s.principal), Conversation: s.conversation, Locale: s.locale, Now: s.h.cfg.Now, Log: s.h.log,
	}
	a, fail := gate.Authorize(ctx, t.Subject(), approval.Call{ID: c.ID, Turn: c.Turn, Args: args, Input: input})
	return a, msg.ToolError(s.locale, fail)
}

// SetQuota sets what refuses calls of principals that have used up a quota: of turns, of
// clients, and those that scripts make. It must be called before the first Session.
func (h *Host) SetQuota(f func(context.Context, Principal) *tool.Error) { h.quota = f }

// mayBegin returns what keeps an authorized call from running.
func (s *Session) mayBegin(ctx context.Context, c tool.Call) (fail *tool.Error) {
	if s.h.quota != nil {
		fail = s.h.quota(ctx, s.principal)
	}
	if fail == nil && s.begin != nil && s.begin(ctx, c) != nil {
		fail = tool.Errorf(tool.Cancelled, "", "the call was not begun")
	}
	return fail
}

// Forget deletes the remembered approvals of a conversation that was deleted.
func (h *Host) Forget(p Principal, conversation string) { h.memory.Forget(string(p), conversation) }

// ShareAnswers stores remembered approvals for several processes. It must be called before
// the first Session.
func (h *Host) ShareAnswers(s approval.Answers) { h.memory.Share(s) }

// ForgetAll deletes all remembered approvals of a principal whose conversations were deleted.
func (h *Host) ForgetAll(p Principal) { h.memory.ForgetPrincipal(string(p)) }

// scopeKey names the scope in which archived text can be read back: the
// conversation, or all conversations of a user who shares one archive.
func (s *Session) scopeKey() string {
	if s.sharesArchive() {
		return string(s.principal)
	}
	return approval.ScopeKey(string(s.principal), s.conversation)
}

func (s *Session) sharesArchive() bool { return s.h.settings.Load().Archive.UserScope || s.across }

// markPrivate marks the conversation as private, and the user's conversations as a
// whole: it holds text of a granted folder, or of another program.
func (s *Session) markPrivate() {
	s.h.memory.MarkPrivate(s.scopeKey(), true)
	s.h.memory.MarkPrivate(string(s.principal), true)
}

// MarkPrivate has the conversation count as one that holds text of a granted folder, because
// another program brings text into it of which weir knows nothing.
func (s *Session) MarkPrivate() { s.markPrivate() }

// A CallLog knows the calls of earlier processes.
type CallLog interface {
	// RanTools returns the names of the tools that ran in the conversation of a Scope,
	// or in all of the principal's if the Scope has no conversation.
	RanTools(ctx context.Context, sc archive.Scope) ([]string, error)
	tooluse.Log
}

// SetCallLog sets the log of the calls of earlier processes. It must be called before
// the first Session. Without a log, only calls of this process make a conversation
// private, and order what FindTools returns.
func (h *Host) SetCallLog(l CallLog) {
	h.callLog = l
	h.finder.Uses.Begin(l, h.cfg.Now())
}

// An exposure is a session in its role as approval.Exposure.
type exposure struct{ *Session }

// HoldsPrivate implements approval.Exposure. The call log knows the calls of earlier
// processes. If it cannot be read, the conversation counts as private.
func (e exposure) HoldsPrivate(ctx context.Context) bool {
	s := e.Session
	if private, known := s.h.memory.IsPrivate(s.scopeKey()); known {
		return private
	}
	var ran []string
	if s.h.callLog != nil {
		scope := s.scope()
		if s.sharesArchive() {
			scope.Conversation = ""
		}
		var err error
		if ran, err = s.h.callLog.RanTools(ctx, scope); err != nil {
			return true
		}
	}
	private := slices.ContainsFunc(ran, s.h.current.Load().MayRead)
	s.h.memory.MarkPrivate(s.scopeKey(), private)
	return private
}
