package host

import (
	"context"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Session runs tools for one conversation of one principal. It is safe for
// concurrent use. It needs no closing.
type Session struct {
	h            *Host
	principal    Principal
	conversation string
	locale       tool.Locale
	repeats      *history.Repeats
	approver     approval.Approver // nil: no one can be asked
	person       bool              // a person makes the calls
	across       bool              // reads the results of all of the principal's conversations
	report       func(Progress)
	thread       string                                 // what the session archives belongs to it; empty: to none
	keepAll      bool                                   // archives short results too
	short        func() []ShortResult                   // that the caller keeps itself; nil: none
	begin        func(context.Context, tool.Call) error // nil: calls begin at once
}

// Session binds calls to a principal and a conversation: what they archive can be
// read there and nowhere else. Two sessions of the same pair share everything but the
// count of repeated loads.
func (h *Host) Session(p Principal, conversation string) *Session {
	return &Session{h: h, principal: p, conversation: conversation, locale: tool.En, repeats: &history.Repeats{}, approver: h.cfg.Approve}
}

// with returns a copy of s that f has changed.
func (s *Session) with(f func(out *Session)) *Session {
	out := *s
	f(&out)
	return &out
}

// In returns the same session in another language: every Locale but Zh is English.
func (s *Session) In(l tool.Locale) *Session {
	if l != tool.Zh {
		l = tool.En
	}
	return s.with(func(out *Session) { out.locale = l })
}

// AcrossConversations returns the same session for a caller that has no conversations:
// it reads what any conversation of the principal has archived. What it archives
// belongs to its own conversation.
func (s *Session) AcrossConversations() *Session {
	return s.with(func(out *Session) { out.across = true })
}

// InThread returns the same session, whose archived results belong to a thread of the
// caller's own: archive.Filter finds them by it.
func (s *Session) InThread(thread string) *Session {
	return s.with(func(out *Session) { out.thread = thread })
}

// KeepingAll returns the same session, which archives short results too.
func (s *Session) KeepingAll() *Session {
	return s.with(func(out *Session) { out.keepAll = true })
}

// A ShortResult is a result that a caller keeps in its own messages, because it is too
// short for the archive.
type ShortResult = history.Short

// Remembering returns the same session, whose search_tool_history also looks through the
// results that f returns, oldest first. f is called by each search, also concurrently.
func (s *Session) Remembering(f func() []ShortResult) *Session {
	return s.with(func(out *Session) { out.short = f })
}

// Beginning returns the same session; f precedes each call that runs, or keeps it from it.
func (s *Session) Beginning(f func(context.Context, tool.Call) error) *Session {
	return s.with(func(out *Session) { out.begin = f })
}

// A Progress is a tool's report on a call that runs.
type Progress struct {
	Call tool.Call
	// Done of Total, in the tool's own unit; a Total of 0 is unknown.
	Done, Total int
	Msg         string // one line; may be empty
}

// Reporting returns the same session with a function that receives the progress of its
// calls. f runs while the call runs, never concurrently for the same call; the tool
// blocks until it returns. If nil, progress is dropped.
func (s *Session) Reporting(f func(Progress)) *Session {
	return s.with(func(out *Session) { out.report = f })
}

func (s *Session) scope() archive.Scope {
	return archive.Scope{Principal: string(s.principal), Conversation: s.conversation, Everywhere: s.across}
}

// Tools returns what can be called now: the plugins' tools by name, then the host's
// own. The slice is the caller's.
func (s *Session) Tools() []tool.Spec {
	usable, own := s.h.current.Load().Usable(), history.Specs(s.locale, s.sharesArchive())
	out := make([]tool.Spec, 0, len(usable)+len(own))
	for _, b := range usable {
		out = append(out, b.Info.Spec)
	}
	return append(out, own...)
}

// Limits returns the session's tools, grouped by the limit that decides for an agent
// with a limit of chars, the lowest first.
func (s *Session) Limits(chars int) []plugin.LimitGroup {
	return s.h.current.Load().LimitGroups(chars)
}
